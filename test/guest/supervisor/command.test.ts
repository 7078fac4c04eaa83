// The command of a task: its arguments and variables byte for byte, and what happens when it cannot run.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type EndedTask,
  NONCE,
  type TaskChoices,
  TaskMachine,
} from '#test/guest/supervisor/task-machine.ts';

const SHOW_ARGS = 'process.stdout.write(JSON.stringify(process.argv.slice(1)) + "\\n")';
const SHOW_ENV = 'process.stdout.write(JSON.stringify(process.env) + "\\n")';

async function shown(choices: TaskChoices): Promise<unknown> {
  await using machine = await TaskMachine.start();
  const end = await machine.run(choices);
  expect(end.code).toBe(0);
  const line = end.stdout.split('\n').find((one) => !one.includes('mayfly_event')) ?? '';
  return JSON.parse(line);
}

test('P08: arguments that begin with a dash or carry quotes and commas arrive byte for byte', async () => {
  const args = ['-m', 'job.main', '--x=-1', 'a,b', '--', '"quoted"', '', "it's"];
  const command = [process.execPath, '-e', SHOW_ARGS, '--'];
  expect(await shown({ bootstrap: { command, args } })).toEqual(args);
});

test('P08: and so does any other text', async () => {
  const args = [
    'αβ "x" $y',
    '`id`',
    '*',
    '\\',
    ' ',
    'two\nlines',
    '\u{1F600}',
    '$(id)',
    'x'.repeat(100_000),
  ];
  const command = [process.execPath, '-e', SHOW_ARGS, '--'];
  expect(await shown({ bootstrap: { command, args } })).toEqual(args);
});

test('P09: variables that are empty or contain spaces, colons and equals signs arrive byte for byte', async () => {
  const env = {
    EMPTY: '',
    T: 'a b  c',
    URL: 'http://h:80/?a=b&c=d==',
    P: 'C:\\x',
    OMP_NUM_THREADS: '1',
  };
  const command = [process.execPath, '-e', SHOW_ENV];
  const seen = await shown({ bootstrap: { command, args: [], env } });
  expect(seen).toMatchObject(env);
});

test('the command sees what the contract names, and nothing of the supervisor’s own', async () => {
  const command = [process.execPath, '-e', SHOW_ENV];
  const deadline = '2099-01-01T00:00:00.000Z';
  const variables = { IMAGE_OWN: 'kept', CLOUD_RUN_TASK_INDEX: '3' };
  const bootstrap = { command, args: [], deadline, taskCount: 4, attempt: 2 };
  const seen = (await shown({ bootstrap, variables })) as Record<string, string>;
  const threads = String(availableParallelism());
  expect(seen).toMatchObject({
    IMAGE_OWN: 'kept',
    MAYFLY_RUN_ID: 'fit-9',
    MAYFLY_ATTEMPT: '2',
    MAYFLY_RUNTIME: 'cloudrun-jobs',
    MAYFLY_TASK_INDEX: '3',
    MAYFLY_TASK_COUNT: '4',
    MAYFLY_DEADLINE: deadline,
    MAYFLY_PACKAGE_DIR: expect.stringMatching(/\/mayfly\/package$/),
    MAYFLY_SCRATCH_DIR: expect.stringMatching(/\/mayfly\/scratch$/),
    MAYFLY_EVENTS_FD: '3',
    OMP_NUM_THREADS: threads,
    MKL_NUM_THREADS: threads,
    NUMEXPR_NUM_THREADS: threads,
    OPENBLAS_NUM_THREADS: threads,
    VECLIB_MAXIMUM_THREADS: threads,
  });
  for (const name of [
    'MAYFLY_NONCE',
    'MAYFLY_BOOTSTRAP_URL',
    'GCE_METADATA_HOST',
    'MAYFLY_CLASS',
  ]) {
    expect(seen).not.toHaveProperty(name);
  }
  expect(JSON.stringify(seen)).not.toContain(NONCE);
});

function notStarted(machine: TaskMachine, end: EndedTask, detail: RegExp): void {
  expect(end.code).toBe(1);
  expect(machine.marker()).toMatchObject({
    status: 'FAILED',
    step: 'start',
    cause: 'step-failed',
    permanent: true,
    exit_code: null,
    detail: expect.stringMatching(detail),
  });
  expect(end.events.map(({ kind }) => kind)).toEqual(['claimed', 'ended']);
}

test('P55: a program for another CPU is told as such, and not handed to a shell', async () => {
  await using machine = await TaskMachine.start();
  const program = join(machine.root, 'fit');
  const own = readFileSync(process.execPath).subarray(0, 64);
  // The header of this machine's own programs, with the number of the other architecture (elf.h).
  own.writeUInt16LE(process.arch === 'x64' ? 183 : 62, 18);
  writeFileSync(program, own);
  chmodSync(program, 0o755);
  const end = await machine.run({ bootstrap: { command: [program], args: [] } });
  notStarted(machine, end, /exec format error/);
});

test.each<
  [string, (machine: TaskMachine) => Partial<NonNullable<TaskChoices['bootstrap']>>, RegExp]
>([
  ['is nowhere on the path', () => ({ command: ['no-such-program'] }), /no such file or directory/],
  ['is not there', () => ({ command: ['/no/such/program'] }), /no such file or directory/],
  [
    'is neither program nor script',
    (machine) => {
      writeFileSync(join(machine.root, 'text'), 'exit 0\n', { mode: 0o755 });
      return { command: [join(machine.root, 'text')] };
    },
    /exec format error/,
  ],
  [
    'may not be executed',
    (machine) => {
      writeFileSync(join(machine.root, 'plain'), '#!/bin/sh\n', { mode: 0o644 });
      return { command: [join(machine.root, 'plain')] };
    },
    /permission denied/,
  ],
  [
    'names an interpreter that is not there',
    (machine) => {
      writeFileSync(join(machine.root, 'script'), '#!/no/such/sh\n', { mode: 0o755 });
      return { command: [join(machine.root, 'script')] };
    },
    /ENOENT/,
  ],
  ['is no command at all', () => ({ command: [] }), /no command/],
])('a command that %s fails in step start, for good', async (_name, make, detail) => {
  await using machine = await TaskMachine.start();
  const end = await machine.run({ bootstrap: { args: [], ...make(machine) } });
  notStarted(machine, end, detail);
});

test('a program is found on the path of the request, and begins in the folder of the request', async () => {
  await using machine = await TaskMachine.start();
  const folder = join(machine.root, 'bin');
  mkdirSync(folder);
  writeFileSync(join(folder, 'where'), '#!/bin/sh\npwd\n', { mode: 0o755 });
  const bootstrap = {
    command: ['where'],
    args: [],
    env: { PATH: folder },
    workingDir: '/new/folder',
  };
  const end = await machine.run({ bootstrap });
  expect(end.stdout).toContain(`${machine.root}/new/folder\n`);
});

test('what the command leaves running ends with it', async () => {
  await using machine = await TaskMachine.start();
  const args = ['sleep 300 & echo $!'];
  const end = await machine.run({ bootstrap: { args } });
  expect(end.code).toBe(0);
  const [pid = ''] = end.stdout.split('\n').filter((line) => /^\d+$/.test(line));
  expect(readState(pid)).toMatch(/^(gone|Z)$/);
});

/** The kernel's letter for a process; a zombie has ended. */
function readState(pid: string): string {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '';
  } catch {
    return 'gone';
  }
}

test('progress on file descriptor 3 becomes signed events; what is no JSON object is passed over', async () => {
  await using machine = await TaskMachine.start();
  const args = [`echo '{"done":1}' >&3; echo 'text' >&3; echo '[1]' >&3; printf '{"done":2}' >&3`];
  const end = await machine.run({ bootstrap: { args } });
  const told = end.events.filter(({ kind }) => kind === 'progress').map(({ data }) => data);
  expect(told).toEqual([{ done: 1 }, { done: 2 }]);
});

test('a line of the command that looks like an event carries no right signature', async () => {
  await using machine = await TaskMachine.start();
  const forged = '{"mayfly_event":{"payload":"{}","hmac":"00"}}';
  const launched = machine.launch({ bootstrap: { args: [`echo '${forged}'`] } });
  await expect(launched.ended).rejects.toThrow('not signed');
});

test('output goes through whole, and its last 64 KiB into the report', async () => {
  await using machine = await TaskMachine.start();
  const program =
    'for (let n = 0; n < 20000; n++) console.log(String(n).padStart(9)); process.stdout.write("end")';
  const end = await machine.run({
    bootstrap: { command: [process.execPath, '-e', program], args: [] },
  });
  const lines = end.stdout.split('\n').filter((line) => !line.includes('mayfly_event'));
  expect(lines.slice(0, 20_000)).toEqual(
    Array.from({ length: 20_000 }, (_, n) => String(n).padStart(9)),
  );
  const detail = String(machine.marker().detail);
  expect(detail).toHaveLength(64 * 1024);
  expect(detail.endsWith('    19998\n    19999\nend')).toBe(true);
});

test('the kernel’s count of memory and its kills come into the report', async () => {
  await using machine = await TaskMachine.start();
  const cgroup = join(machine.root, 'cgroup');
  mkdirSync(cgroup);
  writeFileSync(join(cgroup, 'memory.peak'), '123456789\n');
  writeFileSync(join(cgroup, 'memory.events'), 'low 0\noom 0\noom_kill 0\n');
  // What the kernel does for a process that takes too much: its count, and KILL.
  const args = [`printf 'low 0\\noom 1\\noom_kill 1\\n' >${cgroup}/memory.events; kill -KILL $$`];
  const end = await machine.run({ bootstrap: { args } });
  expect(end.code).toBe(137);
  expect(machine.marker()).toMatchObject({
    cause: 'out-of-memory',
    exit_code: 137,
    peak_memory_bytes: 123456789,
  });
});

test.each([
  [0, 'exit'],
  [null, 'out-of-memory'],
] as const)('KILL from elsewhere, with %s kills counted: %s', async (count, cause) => {
  await using machine = await TaskMachine.start();
  const cgroup = join(machine.root, 'cgroup');
  mkdirSync(cgroup);
  if (count !== null) writeFileSync(join(cgroup, 'memory.events'), `oom_kill ${count}\n`);
  await machine.run({ bootstrap: { args: ['kill -KILL $$'] } });
  expect(machine.marker()).toMatchObject({ cause, exit_code: 137, peak_memory_bytes: null });
});
