// A run with GPUs from its first line to its marker, on both kinds of boot image, with stand-ins for the
// driver's programs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GuestMachine, type MachineChoices } from '#test/guest/guest-machine.ts';
import { REQUEST } from '#test/guest/intent.ts';

const CARDS = 'printf "GPU 0: NVIDIA L4 (UUID: GPU-1)\\nGPU 1: NVIDIA L4 (UUID: GPU-2)\\n"';

async function gpuMachine(
  bootImage: 'cos' | 'deep-learning',
  choices: MachineChoices = {},
): Promise<GuestMachine> {
  const machine = await GuestMachine.create({
    ...choices,
    gpuCount: 2,
    request: { resources: { ...REQUEST.resources, bootImage }, ...choices.request },
    guest: { memoryFile: 'meminfo', ...choices.guest },
    env: { DEV_DIR: 'dev', DRIVER_DIR: 'driver', GPU_PERIOD_SECONDS: '0.1' },
  });
  mkdirSync(join(machine.folder, 'dev'));
  for (const name of ['nvidia0', 'nvidia1', 'nvidiactl', 'nvidia-uvm']) {
    writeFileSync(join(machine.folder, 'dev', name), '');
  }
  writeFileSync(join(machine.folder, 'meminfo'), 'MemTotal: 16384000 kB\n');
  machine.installText('cos-extensions', 'echo "$*" >"$STUB/installer"');
  machine.installText('mount', 'echo "$*" >>"$STUB/mounts"');
  machine.installText(
    'nvidia-smi',
    `if [[ $1 == --list-gpus ]]; then ${CARDS}; else cat "$STUB/use"; fi`,
  );
  machine.plan('use', '0\n0\n');
  // A container that is only asked for its cards.
  machine.plan('run.sh', `if [[ $* == *--rm* ]]; then ${CARDS}; exit; fi`);
  return machine;
}

/** The arguments of the run's own start. */
const startOf = (machine: GuestMachine) =>
  machine.dockerCalls('run').find((call) => call.includes('--detach')) ?? [];

test('D15: on COS the driver is installed, both cards reach the container, and the marker counts them', async () => {
  await using machine = await gpuMachine('cos');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', gpu_count: 2 });
  expect(machine.read('installer')).toBe('install gpu');
  const devices = startOf(machine).filter((_, at, all) => all[at - 1] === '--device');
  expect(devices.map((device) => device.replace(/^.*:/, ''))).toEqual([
    '/dev/nvidia0',
    '/dev/nvidia1',
    '/dev/nvidiactl',
    '/dev/nvidia-uvm',
  ]);
  expect(startOf(machine)).toContain(`${16_384_000 / 2}k`);
});

test('A34: on a machine without GPU no driver is installed and no card is passed', async () => {
  await using machine = await GuestMachine.create();
  machine.installText('cos-extensions', ': >"$STUB/installer"');
  await machine.run();
  expect(() => machine.read('installer')).toThrow('ENOENT');
  expect(startOf(machine).join(' ')).not.toMatch(/nvidia|--gpus|--shm-size/);
});

test('A35: on an image with the toolkit docker is asked for all cards', async () => {
  await using machine = await gpuMachine('deep-learning');
  // Docker and the toolkit are there and ready.
  mkdirSync(machine.work, { recursive: true });
  writeFileSync(join(machine.work, 'tools-ready'), '');
  machine.plan('info.sh', `echo '{"nvidia":{},"runc":{}}'; exit`);
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', gpu_count: 2 });
  expect(startOf(machine).join(' ')).toContain('--gpus all');
  expect(() => machine.read('installer')).toThrow('ENOENT');
});

test('D15: a container that sees one card of two never starts its work', async () => {
  await using machine = await gpuMachine('cos');
  machine.plan('run.sh', 'if [[ $* == *--rm* ]]; then echo "GPU 0: NVIDIA L4"; exit; fi');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ cause: 'step-failed', step: 'start' });
  expect(machine.lastMarker().detail).toContain('sees 1 cards of 2');
  expect(startOf(machine)).toEqual([]);
});

test('D20: an installer that fails ends the run in step tools, in its own words', async () => {
  await using machine = await gpuMachine('cos');
  machine.installText('cos-extensions', 'echo "401 Unauthorized: no driver for you" >&2; exit 1');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ cause: 'step-failed', step: 'tools' });
  expect(machine.lastMarker().detail).toContain('no driver for you');
});

test('gpuIdleSeconds: no GPU did any work for so long, so the run ends as gpu-idle', async () => {
  await using machine = await gpuMachine('cos', {
    container: 'sleep 60',
    request: { resources: { ...REQUEST.resources, bootImage: 'cos' }, gpuIdleSeconds: 1 },
  });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    status: 'FAILED',
    cause: 'gpu-idle',
    step: 'run',
    exit_code: null,
  });
  expect(machine.dockerCalls('stop')).toHaveLength(1);
});
