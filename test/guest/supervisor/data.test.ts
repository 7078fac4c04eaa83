// What a task brings and takes: package, inputs, outputs, checkpoints, every byte checked on both ways.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Bootstrap, CheckpointFile, CheckpointManifest } from '#shared/plan/bootstrap.ts';
import { type TaskChoices, TaskMachine } from '#test/guest/supervisor/task-machine.ts';

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

/** A package as `tar` makes it, of a folder that `fill` fills. */
function pack(
  machine: TaskMachine,
  fill: (folder: string) => void,
  flags: readonly string[] = [],
): Buffer {
  const folder = join(machine.root, 'made');
  mkdirSync(folder);
  fill(folder);
  return execFileSync('tar', ['-czf', '-', ...flags, '-C', folder, '.'], { maxBuffer: 1 << 26 });
}

function packaged(machine: TaskMachine, bytes: Buffer, sum = sha256(bytes)): Partial<Bootstrap> {
  machine.server.put('code/app.tar.gz', bytes);
  return { package: { get: machine.server.signed('code/app.tar.gz'), sha256: sum } };
}

const LONG = `${'deep/'.repeat(30)}${'name'.repeat(30)}.txt`;

test.each([
  ['gnu', ['--format=gnu']],
  ['pax', ['--format=pax']],
  ['ustar', ['--format=ustar']],
])('a package as tar makes it (%s) is unpacked with its modes and links', async (format, flags) => {
  await using machine = await TaskMachine.start();
  const long = format === 'ustar' ? 'a/b.txt' : LONG;
  const bytes = pack(
    machine,
    (folder) => {
      writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\ncat "$MAYFLY_PACKAGE_DIR/link"\npwd\n');
      chmodSync(join(folder, 'run.sh'), 0o755);
      mkdirSync(join(folder, long, '..'), { recursive: true });
      writeFileSync(join(folder, long), 'αβ\n');
      symlinkSync(long, join(folder, 'link'));
      writeFileSync(join(folder, 'empty'), '');
      writeFileSync(join(folder, 'large'), 'x'.repeat(300_000));
    },
    flags,
  );
  const bootstrap = { ...packaged(machine, bytes), command: ['./run.sh'], args: [] };
  const end = await machine.run({ bootstrap });
  expect(end.code).toBe(0);
  const home = join(machine.root, 'mayfly/package');
  expect(end.stdout).toContain(`αβ\n${home}\n`);
  expect(statSync(join(home, 'run.sh')).mode & 0o777).toBe(0o755);
  expect(statSync(join(home, 'large')).size).toBe(300_000);
  expect(statSync(join(home, 'empty')).size).toBe(0);
});

test('a package of another hash is not unpacked: FAILED in step package, for good', async () => {
  await using machine = await TaskMachine.start();
  const bytes = pack(machine, (folder) => writeFileSync(join(folder, 'x'), 'x'));
  const end = await machine.run({ bootstrap: packaged(machine, bytes, '0'.repeat(64)) });
  expect(end.code).toBe(1);
  expect(machine.marker()).toMatchObject({
    step: 'package',
    cause: 'step-failed',
    permanent: true,
  });
  expect(() => statSync(join(machine.root, 'mayfly/package/x'))).toThrow('ENOENT');
});

test.each<[string, (folder: string) => void, readonly string[]]>([
  [
    'a name that leads out',
    (folder) => writeFileSync(join(folder, 'x'), 'x'),
    ['--transform=s,^\\./x,../../x,', '-P'],
  ],
])('nothing is written outside the package: %s', async (_name, fill, flags) => {
  await using machine = await TaskMachine.start();
  const end = await machine.run({ bootstrap: packaged(machine, pack(machine, fill, flags)) });
  expect(end.code).toBe(1);
  expect(machine.marker()).toMatchObject({ step: 'package', permanent: true });
  expect(() => statSync(join(machine.root, 'x'))).toThrow('ENOENT');
});

test('nothing is written outside the package: through a link', async () => {
  await using machine = await TaskMachine.start();
  const outside = join(machine.root, 'outside');
  mkdirSync(outside);
  const archive = join(machine.root, 'a.tar');
  const [first, second] = ['one', 'two'].map((name) => join(machine.root, name));
  mkdirSync(String(first));
  mkdirSync(join(String(second), 'link'), { recursive: true });
  symlinkSync(outside, join(String(first), 'link'));
  writeFileSync(join(String(second), 'link/x'), 'x');
  execFileSync('tar', ['-cf', archive, '-C', String(first), 'link']);
  execFileSync('tar', ['-rf', archive, '-C', String(second), 'link/x']);
  const bytes = execFileSync('gzip', ['-c', archive]);
  const end = await machine.run({ bootstrap: packaged(machine, bytes) });
  expect(end.code).toBe(1);
  expect(machine.marker()).toMatchObject({
    step: 'package',
    detail: expect.stringContaining('behind a link'),
  });
  expect(() => statSync(join(outside, 'x'))).toThrow('ENOENT');
});

test.each([
  ['no gzip', Buffer.from('no archive')],
  ['cut off', 'cut' as const],
])('a package that is %s fails for good', async (_name, made) => {
  await using machine = await TaskMachine.start();
  const whole = pack(machine, (folder) => writeFileSync(join(folder, 'x'), 'x'.repeat(9_000)));
  const bytes = made === 'cut' ? whole.subarray(0, whole.length / 2) : made;
  expect((await machine.run({ bootstrap: packaged(machine, bytes) })).code).toBe(1);
  expect(machine.marker()).toMatchObject({ step: 'package', permanent: true });
});

function withInput(
  machine: TaskMachine,
  text: string,
  bytes = Buffer.byteLength(text),
): Partial<Bootstrap> {
  machine.server.put('data/in.csv', text);
  return { inputs: [{ path: '/data/in.csv', get: machine.server.signed('data/in.csv'), bytes }] };
}

test('inputs are there before the command, whole and read-only', async () => {
  await using machine = await TaskMachine.start();
  const args = [`cat ${machine.root}/data/in.csv`];
  const end = await machine.run({ bootstrap: { ...withInput(machine, 'a,b\n1,2\n'), args } });
  expect(end.stdout).toContain('a,b\n1,2\n');
  expect(statSync(join(machine.root, 'data/in.csv')).mode & 0o777).toBe(0o444);
});

test.each(['short', 'wrong-crc32c', 'cut', 'lose-reply', 503, 429] as const)(
  'a download that goes wrong once (%s) is done again',
  async (kind) => {
    await using machine = await TaskMachine.start();
    machine.server.plant({ at: 'GET /b1/data/', times: 1, kind });
    const args = [`cat ${machine.root}/data/in.csv`];
    const end = await machine.run({ bootstrap: { ...withInput(machine, 'whole\n'), args } });
    expect(end.code).toBe(0);
    expect(end.stdout).toContain('whole\n');
    const asked = machine.server.requests.filter((line) => line.startsWith('GET /b1/data/'));
    expect(asked).toHaveLength(2);
  },
);

test.each([
  ['is gone', { kind: 404, times: 9 } as const, true],
  ['never comes whole', { kind: 'short', times: 9 } as const, false],
])('an input that %s fails in step inputs', async (_name, fault, permanent) => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'GET /b1/data/', ...fault });
  expect((await machine.run({ bootstrap: withInput(machine, 'x\n') })).code).toBe(1);
  expect(machine.marker()).toMatchObject({
    step: 'inputs',
    cause: 'step-failed',
    permanent,
    exit_code: null,
  });
});

test('an input of another length than the run’s list says is not worked on', async () => {
  await using machine = await TaskMachine.start();
  expect((await machine.run({ bootstrap: withInput(machine, 'x\n', 99) })).code).toBe(1);
  expect(machine.marker()).toMatchObject({ step: 'inputs', detail: expect.stringContaining('99') });
});

const OUT = 'models/train-17/';
const outputsOf = (machine: TaskMachine): Bootstrap['outputs'] => [
  { path: '/out', form: machine.server.form(OUT), bucket: 'b1', prefix: OUT },
];

test('outputs are uploaded after exit 0, and told with generation and checksum', async () => {
  await using machine = await TaskMachine.start();
  const args = [
    `cd ${machine.root}/out; mkdir -p a; printf 123456789 >a/x; : >b; ln -s /etc/passwd link`,
  ];
  expect((await machine.run({ bootstrap: { args, outputs: outputsOf(machine) } })).code).toBe(0);
  const there = machine.server.objects.get(`${OUT}a/x`);
  expect(machine.marker().outputs).toEqual([
    {
      path: '/out/a/x',
      uri: `gs://b1/${OUT}a/x`,
      generation: there?.generation,
      // RFC 3720's check value of CRC32C for these nine digits: e3069283.
      crc32c: Buffer.from('e3069283', 'hex').toString('base64'),
      bytes: 9,
    },
    expect.objectContaining({ path: '/out/b', crc32c: 'AAAAAA==', bytes: 0 }),
  ]);
  expect([...machine.server.objects.keys()].filter((name) => name.includes('link'))).toEqual([]);
});

test('an output folder that the command has removed has no files', async () => {
  await using machine = await TaskMachine.start();
  const args = [`rmdir ${machine.root}/out`];
  expect((await machine.run({ bootstrap: { args, outputs: outputsOf(machine) } })).code).toBe(0);
  expect(machine.marker().outputs).toEqual([]);
});

test('C102: outputs of task i of several lie under tasks/i/', async () => {
  await using machine = await TaskMachine.start();
  const args = [`echo x >${machine.root}/out/x`];
  const bootstrap = { args, outputs: outputsOf(machine), taskCount: 3 };
  await machine.run({ bootstrap, variables: { CLOUD_RUN_TASK_INDEX: '2' } });
  expect(machine.server.text(`${OUT}tasks/2/x`)).toBe('x\n');
  expect(machine.marker(2).outputs).toMatchObject([{ uri: `gs://b1/${OUT}tasks/2/x` }]);
});

test.each(['wrong-crc32c', 'wrong-md5'] as const)(
  'C149: a write whose reply has another sum (%s) is repeated, and never taken for good',
  async (kind) => {
    for (const [times, code] of [
      [1, 0],
      [99, 1],
    ] as const) {
      await using machine = await TaskMachine.start();
      const outputs = outputsOf(machine);
      const failing = {
        ...outputs[0],
        form: { ...machine.server.form(OUT), url: `${machine.server.form(OUT).url}?out` },
      };
      machine.server.plant({ at: 'POST /b1?out', times, kind });
      const bootstrap = {
        args: [`echo x >${machine.root}/out/x`],
        outputs: [failing as (typeof outputs)[0]],
      };
      expect((await machine.run({ bootstrap } as TaskChoices)).code).toBe(code);
      const marker = machine.marker();
      if (code === 0) expect(marker).toMatchObject({ status: 'SUCCEEDED' });
      else
        expect(marker).toMatchObject({
          status: 'FAILED',
          step: 'outputs',
          exit_code: null,
          permanent: false,
        });
    }
  },
);

test('an output that an earlier attempt left is replaced', async () => {
  await using machine = await TaskMachine.start();
  machine.server.put(`${OUT}x`, 'old');
  const args = [`echo new >${machine.root}/out/x`];
  expect((await machine.run({ bootstrap: { args, outputs: outputsOf(machine) } })).code).toBe(0);
  expect(machine.server.text(`${OUT}x`)).toBe('new\n');
});

test('a report whose reply was lost stands; a second word is never written over it', async () => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'POST /b1', times: 1, kind: 'lose-reply' });
  const end = await machine.run();
  expect(end.code).toBe(0);
  expect(end.stdout).not.toContain('does not count');
  expect(machine.marker()).toMatchObject({ status: 'SUCCEEDED' });
});

test('a report after the attempt was closed changes nothing', async () => {
  await using machine = await TaskMachine.start();
  const name = machine.bootstrap().marker.prefix;
  machine.server.put(`${name}.json`, '{"sealed":true}');
  const end = await machine.run();
  expect(end.stdout).toContain('does not count');
  expect(machine.marker()).toEqual({ sealed: true });
});

const CKPT = 'ckpt/';
const checkpointsOf = (
  machine: TaskMachine,
  restore: Readonly<Record<string, readonly CheckpointFile[]>> = {},
): Bootstrap['checkpoints'] => [
  { path: '/ckpt', form: machine.server.form(CKPT), bucket: 'b1', prefix: CKPT, restore },
];

test('C160: a checkpoint that could not come back is not saved, and the task says why', async () => {
  await using machine = await TaskMachine.start();
  const work = `i=0; while [ $i -lt 1001 ]; do : >${machine.root}/ckpt/$i; i=$((i + 1)); done; trap "exit 1" TERM; echo ready; while :; do sleep 0.05; done`;
  const task = machine.launch({
    bootstrap: { args: [work], checkpoints: checkpointsOf(machine) },
  });
  await task.prints('ready');
  task.signal('SIGTERM');
  const end = await task.ended;
  expect(end.stdout).toContain('1001 files, at most 1000 come back: pack them into fewer');
  expect([...machine.server.objects.keys()].filter((name) => name.startsWith(CKPT))).toEqual([]);
});

test('C160: a checkpoint is saved on TERM, and the second attempt begins with it', async () => {
  await using machine = await TaskMachine.start();
  const count = `f=${machine.root}/ckpt/n; n=$(cat $f 2>/dev/null || echo 0)`;
  const work = `${count}; echo from $n; n=$((n + 1)); echo $n >$f; trap "exit 1" TERM; echo ready; while :; do sleep 0.05; done`;
  const first = machine.launch({
    bootstrap: { args: [work], checkpoints: checkpointsOf(machine) },
  });
  await first.prints('ready');
  first.signal('SIGTERM');
  const end = await first.ended;
  expect(end.code).toBe(16);
  expect(end.stdout).toContain('from 0\n');
  expect(end.events.find(({ kind }) => kind === 'checkpoint')).toMatchObject({
    data: { files: 1 },
  });
  const manifest = JSON.parse(
    machine.server.text(`${CKPT}checkpoints/1-0000000001.json`) ?? '',
  ) as CheckpointManifest;
  expect(manifest).toEqual({ schema: 1, files: [{ path: 'n', sha256: sha256('1\n'), bytes: 2 }] });
  expect(machine.server.text(`${CKPT}files/${sha256('1\n')}`)).toBe('1\n');

  writeFileSync(join(machine.root, 'ckpt/n'), 'lost with its machine');
  const files = manifest.files.map((file) => ({
    ...file,
    get: machine.server.signed(`${CKPT}files/${file.sha256}`),
  }));
  const again = machine.launch({
    bootstrap: { attempt: 2, args: [work], checkpoints: checkpointsOf(machine, { 0: files }) },
  });
  await again.prints('ready');
  again.signal('SIGTERM');
  const second = await again.ended;
  expect(second.stdout).toContain('from 1\n');
  expect(second.events.find(({ kind }) => kind === 'restored')).toMatchObject({
    data: { files: 1 },
  });
  expect(machine.server.text(`${CKPT}checkpoints/2-0000000001.json`)).toContain(sha256('2\n'));
});

test('checkpoints are saved while the command works; what is there already is not sent again', async () => {
  await using machine = await TaskMachine.start();
  const args = [
    `echo 1 >${machine.root}/ckpt/a; until [ -e ${machine.root}/go ]; do sleep 0.05; done`,
  ];
  const bootstrap = { args, checkpoints: checkpointsOf(machine) };
  const task = machine.launch({ bootstrap, periods: { checkpointMs: 50 } });
  await task.prints('\\"kind\\":\\"checkpoint\\"');
  await task.printsAgain('\\"kind\\":\\"checkpoint\\"');
  writeFileSync(join(machine.root, 'go'), '');
  expect((await task.ended).code).toBe(0);
  const names = [...machine.server.objects.keys()].filter((name) => name.startsWith(CKPT));
  expect(names.filter((name) => name.includes('/files/'))).toEqual([
    `${CKPT}files/${sha256('1\n')}`,
  ]);
  const manifests = names.filter((name) => name.includes('/checkpoints/'));
  expect(manifests.slice(0, 2)).toEqual([
    `${CKPT}checkpoints/1-0000000001.json`,
    `${CKPT}checkpoints/1-0000000002.json`,
  ]);
  const uploads = machine.server.requests.filter((line) => line === 'POST /b1').length;
  expect(uploads).toBe(manifests.length + 1 + 1);
});

test('a checkpoint of several tasks is each task’s own', async () => {
  await using machine = await TaskMachine.start();
  const work = `echo 1 >${machine.root}/ckpt/a; trap "exit 1" TERM; echo ready; while :; do sleep 0.05; done`;
  const bootstrap = { args: [work], checkpoints: checkpointsOf(machine), taskCount: 2 };
  const task = machine.launch({ bootstrap, variables: { CLOUD_RUN_TASK_INDEX: '1' } });
  await task.prints('ready');
  task.signal('SIGTERM');
  await task.ended;
  expect(machine.server.text(`${CKPT}tasks/1/checkpoints/1-0000000001.json`)).toContain(
    '"path":"a"',
  );
});

test('without a file that fails to go up there is no manifest: a torn checkpoint never counts', async () => {
  await using machine = await TaskMachine.start();
  machine.server.plant({ at: 'POST /b1?ckpt', times: 99, kind: 400 });
  const form = { ...machine.server.form(CKPT), url: `${machine.server.form(CKPT).url}?ckpt` };
  const checkpoints = checkpointsOf(machine).map((one) => ({ ...one, form }));
  const work = `echo 1 >${machine.root}/ckpt/a; trap "exit 1" TERM; echo ready; while :; do sleep 0.05; done`;
  const task = machine.launch({ bootstrap: { args: [work], checkpoints } });
  await task.prints('ready');
  task.signal('SIGTERM');
  expect((await task.ended).code).toBe(16);
  expect([...machine.server.objects.keys()].filter((name) => name.startsWith(CKPT))).toEqual([]);
  expect(machine.marker()).toMatchObject({ cause: 'interrupted' });
});

test('a restored file of another hash fails the attempt before its command', async () => {
  await using machine = await TaskMachine.start();
  machine.server.put('ckpt/files/x', 'other');
  const file = {
    path: 'a',
    sha256: sha256('right'),
    bytes: 5,
    get: machine.server.signed('ckpt/files/x'),
  };
  const bootstrap = {
    checkpoints: checkpointsOf(machine, { 0: [file] }),
    args: [`touch ${machine.root}/ran`],
  };
  expect((await machine.run({ bootstrap })).code).toBe(1);
  expect(machine.marker()).toMatchObject({ step: 'inputs', cause: 'step-failed' });
  expect(() => readFileSync(join(machine.root, 'ran'))).toThrow('ENOENT');
});
