// Containers on machines with GPUs: their flags, the count of the cards, the watch over idle ones.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ToolsMachine } from '#test/guest/tools-machine.ts';

interface GpuChoices {
  readonly image?: 'cos' | 'apt';
  readonly nodes?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

/** A machine with device nodes, after its tools step. */
function makeMachine({ image = 'cos', nodes = [], variables = {} }: GpuChoices = {}) {
  const machine = new ToolsMachine({
    programs: ['docker', 'nvidia-smi'],
    pieces: ['gpu', 'tools-cos-gpu', 'tools-apt'],
    variables: { BOOT_KIND: image, ...variables },
    folders: { DEV_DIR: 'dev' },
  });
  for (const node of nodes) {
    const file = join(machine.folder, 'dev', node);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, '');
  }
  machine.plan('meminfo', 'MemTotal:       16370152 kB\nMemFree:        12345678 kB\n');
  machine.plan('image-env', 'HOME=/app\nPATH=/opt/conda/bin:/usr/bin\n\n');
  return machine;
}

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
  using machine = makeMachine({
    nodes: [...cards, ...others, ...caps, 'nvidia-caps-imex', 'null'],
  });
  expect(valuesOf(await flagsOf(machine), '--device')).toEqual(
    [...cards, ...others, ...caps].map((node) => `${machine.folder}/dev/${node}:/dev/${node}`),
  );
});

test('D15: nodes that the machine does not have are not asked for: docker would refuse', async () => {
  using machine = makeMachine({ nodes: ['nvidia0', 'nvidiactl'] });
  expect(valuesOf(await flagsOf(machine), '--device').map((pair) => pair.split(':')[1])).toEqual([
    ...['/dev/nvidia0', '/dev/nvidiactl'],
  ]);
});

test("B4: on Container-Optimized OS the driver's folders are mounted, and nothing can write to them", async () => {
  using machine = makeMachine({ nodes: ['nvidia0'] });
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
    using machine = makeMachine({ nodes: ['nvidia0'] });
    machine.plan('image-env', environment);
    expect(valuesOf(await flagsOf(machine), '--env')).toEqual(expected);
    expect(machine.calls('docker')[0]?.slice(1, 3)).toEqual(['image', 'inspect']);
    expect(machine.calls('docker')[0]?.at(-1)).toBe('host/app:1');
  });
}

test('an image whose environment cannot be read fails the step: its path would be lost', async () => {
  using machine = makeMachine({ nodes: ['nvidia0'] });
  machine.plan('docker.sh', 'exit 1');
  const { code, output } = await machine.run(PRINT_FLAGS);
  expect(code).toBe(1);
  expect(output).toContain('the environment of host/app:1 could not be read');
});

test('where the toolkit is, docker is asked for all cards, and the image is left as it is', async () => {
  using machine = makeMachine({ image: 'apt', nodes: ['nvidia0', 'nvidia1'] });
  expect(await flagsOf(machine)).toEqual(['--shm-size', '8185076k', '--gpus', 'all']);
  expect(machine.calls('docker')).toEqual([]);
});

for (const { memory, text, expected } of [
  { memory: '16 GiB', text: 'MemTotal:       16370152 kB\n', expected: '8185076k' },
  { memory: '100 MiB', text: 'MemTotal: 102400 kB\n', expected: '65536k' },
  { memory: 'unknown', text: 'MemFree: 102400000 kB\n', expected: '65536k' },
]) {
  test(`/dev/shm has half of the memory, 64 MiB at least: ${memory}`, async () => {
    using machine = makeMachine({ image: 'apt' });
    machine.plan('meminfo', text);
    expect(valuesOf(await flagsOf(machine), '--shm-size')).toEqual([expected]);
  });
}

const CHECK = 'gpu_flags; check_gpus';
const listed = (count: number) =>
  Array.from(
    { length: count },
    (_, index) =>
      `GPU ${index}: NVIDIA L4 (UUID: GPU-0${index})\n  MIG 1g.5gb Device 0: (UUID: MIG-0${index})`,
  ).join('\n');
/** What docker 20.10 and 28 answered for an image without the program, of another libc, without a shell. */
const NOT_FOUND = 'executable file not found in $PATH';
const OTHER_LIBC = 'exec /usr/local/nvidia/bin/nvidia-smi: no such file or directory';

interface Answer {
  readonly code?: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

/** Plans what the container of each probe prints, and the code that docker ends with. */
function answer(machine: ToolsMachine, answers: Readonly<Record<string, Answer>>): void {
  for (const [program, { code = 0, stdout = '', stderr = '' }] of Object.entries(answers)) {
    machine.plan(`${program}-stdout`, stdout === '' ? '' : `${stdout}\n`);
    machine.plan(`${program}-stderr`, stderr === '' ? '' : `${stderr}\n`);
    machine.plan(`${program}-code`, String(code));
  }
  machine.plan(
    'docker-run.sh',
    `for word in "$@"; do [[ $last != --entrypoint ]] || asked=$word; last=$word; done
    cat "$STUB/$asked-stdout"; cat "$STUB/$asked-stderr" >&2; exit "$(<"$STUB/$asked-code")"`,
  );
}

test('D15: the cards are counted in a container with the flags of the run, which reaches nothing', async () => {
  using machine = makeMachine({ nodes: ['nvidia0', 'nvidia1'], variables: { GPU_COUNT: '2' } });
  answer(machine, { 'nvidia-smi': { stdout: listed(2) } });
  const { code, output } = await machine.run(`${CHECK}; printf '%s\\n' "\${GPU_FLAGS[@]}"`);
  expect(code).toBe(0);
  const flags = output.trim().split('\n').slice(4);
  expect(machine.calls('docker').slice(1)).toEqual([
    [
      ...['docker', 'run', '--rm', '--network', 'none', ...flags, '--cap-drop', 'ALL'],
      ...['--entrypoint', 'nvidia-smi', 'host/app:1', '--list-gpus'],
    ],
  ]);
});

for (const { what, count, nodes, answers, code, says, probes } of [
  {
    what: 'the driver lists fewer cards than are paid for',
    count: 4,
    answers: { 'nvidia-smi': { stdout: listed(1) } },
    code: 1,
    says: 'the container sees 1 cards of 4',
    probes: 1,
  },
  {
    what: 'the driver lists more cards than were asked for',
    count: 1,
    answers: { 'nvidia-smi': { stdout: listed(2) } },
    code: 1,
    says: 'the container sees 2 cards of 1',
    probes: 1,
  },
  {
    what: "the driver's program runs and cannot work",
    count: 1,
    answers: {
      'nvidia-smi': {
        code: 18,
        stdout: 'Failed to initialize NVML: Driver/library version mismatch',
      },
      sh: { stdout: 'GPU /dev/nvidia0' },
    },
    code: 1,
    says: 'Failed to initialize NVML: Driver/library version mismatch',
    probes: 1,
  },
  {
    what: "the driver's program lists its cards and then fails",
    count: 1,
    answers: { 'nvidia-smi': { code: 14, stdout: listed(1) } },
    code: 1,
    says: '(exit code 14)',
    probes: 1,
  },
  {
    what: "the driver's program never ends",
    count: 1,
    answers: { 'nvidia-smi': { code: 137 }, sh: { stdout: 'GPU /dev/nvidia0' } },
    code: 1,
    says: '(exit code 137)',
    probes: 1,
  },
  {
    what: "the driver's program is not in the container: its nodes are counted",
    count: 2,
    answers: {
      'nvidia-smi': { code: 127, stderr: NOT_FOUND },
      sh: { stdout: 'GPU /dev/nvidia0\nGPU /dev/nvidia1' },
    },
    code: 0,
    probes: 2,
  },
  {
    what: 'the image has another libc: its nodes are counted',
    count: 2,
    answers: {
      'nvidia-smi': { code: 1, stderr: OTHER_LIBC },
      sh: { stdout: 'GPU /dev/nvidia0' },
    },
    code: 1,
    says: 'the container sees 1 cards of 2',
    probes: 2,
  },
  {
    what: 'a container without any node',
    count: 1,
    answers: {
      'nvidia-smi': { code: 127, stderr: NOT_FOUND },
      // A shell leaves a pattern that matches nothing as it is.
      sh: { stdout: 'GPU /dev/nvidia[0-9]*' },
    },
    code: 1,
    says: 'the container sees 0 cards of 1',
    probes: 2,
  },
  {
    what: "an image without a shell gets all of the machine's nodes",
    count: 2,
    nodes: ['nvidia0', 'nvidia1', 'nvidiactl'],
    answers: {
      'nvidia-smi': { code: 127, stderr: NOT_FOUND },
      sh: { code: 127, stderr: NOT_FOUND },
    },
    code: 0,
    probes: 2,
  },
  {
    what: 'an image without a shell, on a machine that lacks a card',
    count: 2,
    nodes: ['nvidia0', 'nvidiactl'],
    answers: {
      'nvidia-smi': { code: 127, stderr: NOT_FOUND },
      sh: { code: 126, stderr: 'permission denied' },
    },
    code: 1,
    says: 'the container sees 1 cards of 2',
    probes: 2,
  },
  {
    what: 'docker itself refuses',
    count: 1,
    answers: {
      'nvidia-smi': { code: 125, stderr: 'could not select device driver' },
      sh: { code: 125, stderr: 'could not select device driver' },
    },
    code: 1,
    says: 'could not select device driver',
    probes: 2,
  },
] as const) {
  test(`D15: ${what}: ${code === 0 ? 'as many as are paid for' : 'refused'}`, async () => {
    using machine = makeMachine({
      nodes: nodes ?? ['nvidia0'],
      variables: { GPU_COUNT: String(count) },
    });
    answer(machine, answers);
    const result = await machine.run(CHECK);
    expect(result.code).toBe(code);
    if (says !== undefined) expect(result.output).toContain(says);
    expect(machine.calls('docker').filter((call) => call.includes('run'))).toHaveLength(probes);
  });
}

/** Each look at the cards takes half a minute; the n-th sees the n-th line, the last again and again. */
const WATCH = `
  trap 'read -r now _ <"$UPTIME_FILE"; echo "idle at $now"; exit 3' ALRM
  watch_gpu_idle ALRM &
  sleep 99 &
  wait "$!"`;

async function watch(looks: readonly string[]): Promise<{ code: number | null; output: string }> {
  using machine = makeMachine({
    variables: { GPU_IDLE_SECONDS: '90', GPU_PERIOD_SECONDS: '0.01' },
  });
  machine.plan(
    'nvidia-smi.sh',
    `read -r now _ <"$STUB/uptime"; echo "$((now + 30)) 0" >"$STUB/uptime"
    n=$(((now - 5) / 30 < ${looks.length - 1} ? (now - 5) / 30 : ${looks.length - 1}))
    source "$STUB/look-$n"; exit`,
  );
  looks.forEach((look, index) => {
    machine.plan(`look-${index}`, look);
  });
  const result = await machine.run(WATCH);
  expect(machine.calls('nvidia-smi')[0]?.slice(1)).toEqual([
    ...['--query-gpu=utilization.gpu', '--format=csv,noheader,nounits'],
  ]);
  return result;
}

const IDLE = 'printf "0\\n0\\n"';
// The watch begins at 5 s of uptime and has to see 90 s without work, in looks 30 s apart.
for (const { what, looks, at } of [
  { what: 'no card works', looks: [IDLE], at: 95 },
  { what: 'one of two cards works at first', looks: ['printf "0\\n7\\n"', IDLE], at: 125 },
  { what: 'a card works at 100 percent at first', looks: ['printf "100\\n"', IDLE], at: 125 },
  { what: 'a card works in between', looks: [IDLE, IDLE, 'echo 10', IDLE], at: 185 },
  { what: "the driver's program fails at first", looks: ['echo 0; exit 9', IDLE], at: 125 },
  { what: 'it says nothing at first', looks: [':', IDLE], at: 125 },
  { what: 'a divided card says that it does not know', looks: ['echo "[N/A]"', IDLE], at: 125 },
]) {
  test(`gpuIdleSeconds: ${what}: the signal comes at ${at} s`, async () => {
    const { code, output } = await watch(looks);
    expect(code).toBe(3);
    expect(output).toContain('no GPU did any work for 90 s');
    expect(output).toContain(`idle at ${at}`);
  });
}

test('gpuIdleSeconds: the watch ends with a TERM, and its sleep with it', async () => {
  using machine = makeMachine({ variables: { GPU_IDLE_SECONDS: '90', GPU_PERIOD_SECONDS: '99' } });
  const { code, output } = await machine.run(
    `watch_gpu_idle ALRM &
    watcher=$!
    until [[ -n $(</proc/$watcher/task/$watcher/children) ]]; do :; done
    sleeper=$(</proc/$watcher/task/$watcher/children)
    kill "$watcher" && wait "$watcher"
    while kill -0 $sleeper 2>/dev/null; do :; done
    echo ended`,
  );
  expect({ code, output }).toEqual({ code: 0, output: 'ended\n' });
});
