// Package, inputs and outputs: exactly the right bytes, or a failed step that says which object it was.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GuestMachine, type MachineChoices } from '#test/guest/guest-machine.ts';

const OUTPUT_UPLOAD = '/upload/storage/v1/b/results/o';

/** A `.tar.gz` with one file, by the real tar. */
function makeArchive(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-archive-'));
  mkdirSync(join(folder, 'app'));
  writeFileSync(join(folder, 'app', 'main.py'), 'print(1)\n');
  const { stdout } = spawnSync('tar', ['-C', folder, '-czf', '-', 'app']);
  rmSync(folder, { recursive: true });
  return stdout;
}

const ARCHIVE = makeArchive();
const ARCHIVE_SHA256 = createHash('sha256').update(ARCHIVE).digest('hex');
const packageOf = (sha256: string): MachineChoices => ({
  request: { package: { uri: `gs://code/runs/code/app-${sha256}.tar.gz`, sha256 } },
  container: 'cat "$WORK/package/app/main.py" >"$STUB/seen"',
  guest: { tries: 3 },
});

test('A7: a package is downloaded, checked and unpacked; the container gets its own words alone', async () => {
  const choices = packageOf(ARCHIVE_SHA256);
  const words = { command: ['python', 'main.py'], args: ['--n', '1'] };
  await using machine = await GuestMachine.create({
    ...choices,
    request: { ...choices.request, ...words },
  });
  machine.google.put(`code/runs/code/app-${ARCHIVE_SHA256}.tar.gz`, ARCHIVE);
  machine.google.plant({ at: 'app-', kind: 503 });
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.read('seen')).toBe('print(1)');
  const [call = []] = machine.dockerCalls('run');
  expect(call.slice(-4)).toEqual(['europe-docker.pkg.dev/p/r/app:v1', 'main.py', '--n', '1']);
  expect(call[call.indexOf('--entrypoint') + 1]).toBe('python');
  expect(call).toContain('MAYFLY_PACKAGE_DIR=/mayfly/package');
  expect(call).toContain(
    `type=bind,source=${machine.work}/package,target=/mayfly/package,readonly`,
  );
});

test('a package with another sha256 is a failed step, and no container starts', async () => {
  const wrong = 'ab'.repeat(32);
  await using machine = await GuestMachine.create(packageOf(wrong));
  machine.google.put(`code/runs/code/app-${wrong}.tar.gz`, ARCHIVE);
  await machine.run();
  const marker = machine.lastMarker();
  expect(marker).toMatchObject({ status: 'FAILED', cause: 'step-failed', step: 'package' });
  expect(marker.detail).toContain(ARCHIVE_SHA256);
  expect(machine.dockerCalls('run')).toEqual([]);
});

test('a package that is not there fails at once and names its address', async () => {
  await using machine = await GuestMachine.create(packageOf(ARCHIVE_SHA256));
  await machine.run();
  expect(machine.lastMarker().detail).toContain(`gs://code/runs/code/app-${ARCHIVE_SHA256}.tar.gz`);
  expect(machine.google.requestsAt('/b/code/')).toHaveLength(1);
});

const input = (path: string, object: string, generation: number, bytes: number) => ({
  path,
  bucket: 'data',
  object,
  generation: String(generation),
  bytes,
});

test('inputs come in their pinned generation: single objects and the objects of a prefix', async () => {
  const names = ['in.csv', 'set/a b.csv', 'set/deep/[x]#?é.csv'];
  await using machine = await GuestMachine.create({
    request: { inputs: { '/data/in.csv': 'gs://data/in.csv', '/data/set': 'gs://data/set/' } },
    inputs: [
      input('/data/in.csv', 'in.csv', 1002, 5),
      input('/data/set/a b.csv', 'set/a b.csv', 1003, 11),
      input('/data/set/deep/[x]#?é.csv', 'set/deep/[x]#?é.csv', 1004, 20),
    ],
    container: 'cd "$WORK/inputs" && cat 0 "1/a b.csv" "1/deep/[x]#?é.csv" >"$STUB/seen"',
  });
  const contents = ['five\n', 'a b content', '[x] of the generation'.slice(0, 20)];
  for (const [index, name] of names.entries())
    machine.google.put(`data/${name}`, contents[index] ?? '');
  machine.google.plant({ at: '/o/in.csv', kind: 'cut' });
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.read('seen')).toBe(contents.join(''));
  const mounts = machine
    .dockerCalls('run')
    .flat()
    .filter((word) => word.startsWith('type=bind'));
  expect(mounts.slice(2)).toEqual([
    `type=bind,source=${machine.work}/inputs/0,target=/data/in.csv,readonly`,
    `type=bind,source=${machine.work}/inputs/1,target=/data/set,readonly`,
  ]);
});

for (const [name, changed, detail] of [
  ['was overwritten since it was listed', { generation: '999' }, 'gs://data/in.csv'],
  ['is not as long as it was', { bytes: 4 }, '5 bytes came'],
  ['would leave its folder', { path: '/data/../../etc/x' }, "'..'"],
] as const) {
  test(`an input that ${name} is a failed step`, async () => {
    const path = '/data/';
    await using machine = await GuestMachine.create({
      request: { inputs: { [path]: 'gs://data/' } },
      inputs: [{ ...input('/data/in.csv', 'in.csv', 1002, 5), ...changed }],
      guest: { tries: 2 },
    });
    machine.google.put('data/in.csv', 'five\n');
    await machine.run();
    const marker = machine.lastMarker();
    expect(marker).toMatchObject({ status: 'FAILED', cause: 'step-failed', step: 'inputs' });
    expect(marker.detail).toContain(detail);
    expect(machine.dockerCalls('run')).toEqual([]);
  });
}

const OUTPUT: MachineChoices = {
  request: { outputs: { '/out': 'gs://results/run 1/' } },
  container:
    'cd "$WORK/outputs/0" && mkdir d && echo one >"d/a+b é.txt" && : >empty && ln -s /etc/passwd link',
};

test('outputs go up after exit 0 and before the report, which lists them; links are not followed', async () => {
  await using machine = await GuestMachine.create(OUTPUT);
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    status: 'SUCCEEDED',
    outputs: [
      {
        path: '/out/d/a+b é.txt',
        uri: 'gs://results/run 1/d/a+b é.txt',
        generation: expect.stringMatching(/^\d+$/),
        crc32c: 'AAAAAA==',
        bytes: 4,
      },
      { path: '/out/empty', uri: 'gs://results/run 1/empty', bytes: 0 },
    ],
  });
  expect(machine.google.objects.get('results/run 1/d/a+b é.txt')?.bytes.toString()).toBe('one\n');
  expect(machine.google.requestsAt('name=run%201%2Fd%2Fa%2Bb%20%C3%A9.txt')).toHaveLength(1);
  expect(
    [...machine.google.objects.keys()].filter((name) => name.startsWith('results/')),
  ).toHaveLength(2);
  const order = machine.google.requests.map(({ target }) => target);
  const last = order.findLastIndex((target) => target.includes('/b/results/'));
  expect(order.findLastIndex((target) => target.includes('gce-status'))).toBeGreaterThan(last);
});

test('output folders are writable for every user of the container', async () => {
  await using machine = await GuestMachine.create({
    ...OUTPUT,
    container: 'stat -c %a "$WORK/outputs/0" "$WORK/scratch" >"$STUB/modes"',
  });
  await machine.run();
  expect(machine.read('modes')).toBe('1777\n1777');
});

test('nothing is uploaded after an exit that is not 0', async () => {
  await using machine = await GuestMachine.create({
    ...OUTPUT,
    container: `${OUTPUT.container}; exit 4`,
  });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ exit_code: 4, cause: 'exit', outputs: [] });
  expect(machine.google.requestsAt('/b/results/')).toEqual([]);
});

test('P53: an upload that is refused for a while is repeated with a fresh token until it is taken', async () => {
  await using machine = await GuestMachine.create(OUTPUT);
  machine.google.plant(
    { at: OUTPUT_UPLOAD, kind: 401, times: 4 },
    { at: OUTPUT_UPLOAD, kind: 503, times: 6 },
  );
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 });
  expect(machine.google.tokens).toBeGreaterThan(2);
  expect(machine.dockerCalls('run')).toHaveLength(1);
});

test('P53: outputs that are never taken are a failed step that keeps exit code 0', async () => {
  await using machine = await GuestMachine.create({
    ...OUTPUT,
    guest: { uptimeFile: 'uptime' },
    // The machine's clock jumps to its last second once the script's own limits are asleep.
    container: `${OUTPUT.container}
      until grep -q '^7070$' "$STUB/sleeps" && grep -q '^6900$' "$STUB/sleeps"; do /bin/sleep 0.02; done
      echo '7199.00 1' >"$WORK/../uptime"`,
  });
  machine.installText('sleep', 'echo "$1" >>"$STUB/sleeps"; exec /bin/sleep "$1"');
  machine.setUptime('10.00 1');
  machine.google.plant({ at: OUTPUT_UPLOAD, kind: 503, times: 100_000 });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    status: 'FAILED',
    cause: 'step-failed',
    step: 'outputs',
    exit_code: 0,
  });
  expect(machine.dockerCalls('run')).toHaveLength(1);
});

test('an upload whose md5 differs on the server is sent again', async () => {
  await using machine = await GuestMachine.create({
    ...OUTPUT,
    container: 'echo one >"$WORK/outputs/0/a"',
  });
  machine.google.plant({ at: OUTPUT_UPLOAD, kind: 'wrong-md5' });
  await machine.run();
  expect(machine.google.requestsAt(OUTPUT_UPLOAD)).toHaveLength(2);
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
});

test('a path with a comma or a quote is one mount', async () => {
  await using machine = await GuestMachine.create({
    request: { outputs: { '/o,"x"': 'gs://results/x/' } },
  });
  await machine.run();
  expect(machine.dockerCalls('run').flat()).toContain(
    `type=bind,source=${machine.work}/outputs/0,"target=/o,""x"""`,
  );
  expect(statSync(join(machine.work, 'outputs/0')).isDirectory()).toBe(true);
  expect(machine.steps()).toContain('step outputs');
});

test('an input whose bytes are not those of the server’s MD5 is fetched again', async () => {
  await using machine = await GuestMachine.create({
    request: { inputs: { '/in/a': 'gs://data/a' } },
    inputs: [{ path: '/in/a', bucket: 'data', object: 'a', generation: '1002', bytes: 4 }],
    container: 'cat "$WORK/inputs/0"',
  });
  machine.google.put('data/a', 'good');
  machine.google.plant({ at: 'GET /storage/v1/b/data/o/a', kind: 'wrong-bytes' });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', detail: 'good' });
  expect(machine.google.requestsAt('GET /storage/v1/b/data/o/a')).toHaveLength(2);
});

const FORMAT = 'mkfs.ext4 -q -F -m 0 -E nodiscard';
const MOUNT = 'mount -o noatime,discard';
const STRIPE = 'mdadm --create /dev/md0 --run --force --level=0';
for (const [count, commands] of [
  [1, [`${FORMAT} ssd-0`, `${MOUNT} ssd-0`]],
  [2, [`${STRIPE} --raid-devices=2 ssd-0 ssd-1`, `${FORMAT} /dev/md0`, `${MOUNT} /dev/md0`]],
] as const) {
  test(`${count} local SSDs are one file system at the scratch folder`, async () => {
    await using machine = await GuestMachine.create({
      localSsdCount: count,
      guest: { localSsds: 'ssd-' },
    });
    for (let disk = 0; disk < count; disk += 1) {
      writeFileSync(join(machine.folder, `ssd-${disk}`), '');
    }
    for (const program of ['mdadm', 'mkfs.ext4', 'mount']) {
      machine.installText(program, `echo "${program} $*" >>"$STUB/disks"`);
    }
    await machine.run();
    expect(machine.lastMarker().status).toBe('SUCCEEDED');
    const done = machine.read('disks').replace(` ${machine.work}/scratch`, '');
    expect(done.split('\n')).toEqual(commands);
  });
}

test('local SSDs that are not there end the run in step tools', async () => {
  await using machine = await GuestMachine.create({
    localSsdCount: 1,
    guest: { localSsds: 'ssd-' },
  });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ cause: 'step-failed', step: 'tools' });
  expect(machine.lastMarker().detail).toContain('no local SSD');
});
