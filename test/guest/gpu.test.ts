// What docker is told for a container on a machine with GPUs.
import { expect, test } from 'vitest';
import { makeGpuMachine } from '#test/guest/gpu-machine.ts';
import type { ToolsMachine } from '#test/guest/tools-machine.ts';

const PRINT_FLAGS = `gpu_flags; printf '%s\\n' "\${GPU_FLAGS[@]}"`;
const valuesOf = (words: readonly string[], flag: string) =>
  words.flatMap((word, index) => (words[index - 1] === flag ? [word] : []));

async function flagsOf(machine: ToolsMachine): Promise<string[]> {
  const { code, output } = await machine.run(PRINT_FLAGS);
  expect(code).toBe(0);
  return output.trim().split('\n');
}

test('D15: on Container-Optimized OS every card is passed, with the nodes that go with them', async () => {
  const cards = Array.from({ length: 8 }, (_, index) => `nvidia${index}`);
  const others = ['nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset'];
  const caps = ['nvidia-caps/nvidia-cap1', 'nvidia-caps/nvidia-cap2'];
  using machine = makeGpuMachine({
    nodes: [...cards, ...others, ...caps, 'nvidia-caps-imex', 'null'],
  });
  expect(valuesOf(await flagsOf(machine), '--device')).toEqual(
    [...cards, ...others, ...caps].map((node) => `${machine.folder}/dev/${node}:/dev/${node}`),
  );
});

test('D15: nodes that the machine does not have are not asked for: docker would refuse', async () => {
  using machine = makeGpuMachine({ nodes: ['nvidia0', 'nvidiactl'] });
  expect(valuesOf(await flagsOf(machine), '--device').map((pair) => pair.split(':')[1])).toEqual([
    ...['/dev/nvidia0', '/dev/nvidiactl'],
  ]);
});

test("B4: on Container-Optimized OS the driver's folders are mounted, and nothing can write to them", async () => {
  using machine = makeGpuMachine({ nodes: ['nvidia0'] });
  expect(valuesOf(await flagsOf(machine), '--volume')).toEqual([
    '/var/lib/nvidia/lib64:/usr/local/nvidia/lib64:ro',
    '/var/lib/nvidia/bin:/usr/local/nvidia/bin:ro',
  ]);
});

for (const { image, environment, expected } of [
  {
    image: 'with a path of its own',
    environment: 'HOME=/app\nPATH=/opt/conda/bin:/usr/bin\nOLD_PATH=/x\n',
    expected: [
      'LD_LIBRARY_PATH=/usr/local/nvidia/lib64',
      'PATH=/usr/local/nvidia/bin:/opt/conda/bin:/usr/bin',
    ],
  },
  {
    image: 'with libraries of its own',
    environment: 'LD_LIBRARY_PATH=/opt/lib=1:/opt/lib\nPATH=/bin\n',
    expected: [
      'LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/opt/lib=1:/opt/lib',
      'PATH=/usr/local/nvidia/bin:/bin',
    ],
  },
  {
    // What docker gives where the image says nothing.
    image: 'without any variable',
    environment: '\n',
    expected: [
      'LD_LIBRARY_PATH=/usr/local/nvidia/lib64',
      'PATH=/usr/local/nvidia/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ],
  },
]) {
  test(`B4: an image ${image} keeps it, with the driver in front`, async () => {
    using machine = makeGpuMachine({ nodes: ['nvidia0'] });
    machine.plan('image-env', environment);
    expect(valuesOf(await flagsOf(machine), '--env')).toEqual(expected);
    expect(machine.calls('docker')[0]?.slice(1, 3)).toEqual(['image', 'inspect']);
    expect(machine.calls('docker')[0]?.at(-1)).toBe('host/app:1');
  });
}

test('an image whose environment cannot be read fails the step: its path would be lost', async () => {
  using machine = makeGpuMachine({ nodes: ['nvidia0'] });
  machine.plan('docker.sh', 'exit 1');
  const { code, output } = await machine.run(PRINT_FLAGS);
  expect(code).toBe(1);
  expect(output).toContain('the environment of host/app:1 could not be read');
});

test('where the toolkit is, docker is asked for all cards, and the image is left as it is', async () => {
  using machine = makeGpuMachine({ image: 'apt', nodes: ['nvidia0', 'nvidia1'] });
  expect(await flagsOf(machine)).toEqual(['--shm-size', '8185076k', '--gpus', 'all']);
  expect(machine.calls('docker')).toEqual([]);
});

for (const { memory, text, expected } of [
  { memory: '16 GiB', text: 'MemTotal:       16370152 kB\n', expected: '8185076k' },
  { memory: '100 MiB', text: 'MemTotal: 102400 kB\n', expected: '65536k' },
  { memory: 'unknown', text: 'MemFree: 102400000 kB\n', expected: '65536k' },
]) {
  test(`/dev/shm has half of the memory, 64 MiB at least: ${memory}`, async () => {
    using machine = makeGpuMachine({ image: 'apt' });
    machine.plan('meminfo', text);
    expect(valuesOf(await flagsOf(machine), '--shm-size')).toEqual([expected]);
  });
}

test('B4: the variables of the request come after those that the driver needs, and so win', async () => {
  using machine = makeGpuMachine({
    nodes: ['nvidia0'],
    variables: { INSTANCE: 'vm-1', CONTAINER_LOG_SIZE: '16m' },
  });
  await machine.run(
    `gpu_flags; MOUNTS=(--mount x) LIMITS=() CONTAINER_ARGS=() SECRET_EXPORTS=''
    ENVIRONMENT=(--env PATH=/own/bin); run_container`,
  );
  const run = machine.calls('docker').find((call) => call.includes('run')) ?? [];
  expect(valuesOf(run, '--env').filter((pair) => pair.startsWith('PATH='))).toEqual([
    ...['PATH=/usr/local/nvidia/bin:/opt/conda/bin:/usr/bin', 'PATH=/own/bin'],
  ]);
});
