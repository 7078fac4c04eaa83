// Each card that is paid for has to be seen in a container before the run's own starts.
import { expect, test } from 'vitest';
import { makeGpuMachine } from '#test/guest/gpu-machine.ts';
import type { ToolsMachine } from '#test/guest/tools-machine.ts';

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
  using machine = makeGpuMachine({ nodes: ['nvidia0', 'nvidia1'], variables: { GPU_COUNT: '2' } });
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
    using machine = makeGpuMachine({
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
