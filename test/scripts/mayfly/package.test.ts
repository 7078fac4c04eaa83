// Packages: of the examples, of a folder of any kind, and by `submit --code`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { asArray, asObject } from '#scripts/local-cloud/json.ts';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { packFolder } from '#scripts/mayfly/package.ts';
import { unpackTar } from '#shared/guest/supervisor/tar.ts';
import { packageSha256 } from '#shared/plan/package-name.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { BUCKET, environmentOf, PROJECT } from '#test/scripts/mayfly/stored-run.ts';

const EXAMPLES = new URL('../../../scripts/examples/', import.meta.url);
const isProgram = (path: string) => path.endsWith('.mjs');
const PROGRAM = fileURLToPath(new URL('images/backtest/', EXAMPLES));

test('the example request names the package of its program as it is', async () => {
  const request = JSON.parse(readFileSync(new URL('forecast-jobs.json', EXAMPLES), 'utf8'));
  const { sha256 } = await packFolder(PROGRAM, isProgram);
  // A changed program has another name: put it into forecast-jobs.json.
  expect(packageSha256(request.package.uri)).toBe(sha256);
});

test('a package is named by its bytes, and tar finds the files in it as they are', async () => {
  const { sha256, bytes } = await packFolder(PROGRAM, isProgram);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  const names = execFileSync('tar', ['-tzf', '-'], { input: bytes, encoding: 'utf8' });
  expect(names.split('\n').filter(Boolean)).toEqual(['main.mjs', 'methods.mjs', 'series.mjs']);
  const main = execFileSync('tar', ['-xzOf', '-', 'main.mjs'], { input: bytes });
  expect(main.equals(readFileSync(`${PROGRAM}/main.mjs`))).toBe(true);
});

const LONG = `${'deep/'.repeat(30)}${'ä'.repeat(60)}.txt`;

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-package-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** All that a folder of code may hold. */
async function makeCode(): Promise<string> {
  const folder = await temporary();
  for (const inner of ['lib', '.git', 'lib/__pycache__', 'deep/'.repeat(30)]) {
    await mkdir(join(folder, inner), { recursive: true });
  }
  await writeFile(join(folder, 'fit.py'), 'print(1)\n');
  await writeFile(join(folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(join(folder, 'lib', 'empty'), '');
  await writeFile(join(folder, 'lib', 'block'), Buffer.alloc(1024, 7));
  await writeFile(join(folder, '.git', 'HEAD'), 'no code');
  await writeFile(join(folder, 'lib', '__pycache__', 'x.pyc'), 'no code');
  await writeFile(join(folder, LONG), 'far down');
  await symlink('lib/block', join(folder, 'link'));
  await symlink(`./${'x'.repeat(120)}`, join(folder, 'lost'));
  return folder;
}

const unpackers = [
  {
    name: 'tar',
    unpack: async (bytes: Buffer, folder: string) => {
      execFileSync('tar', ['-xzf', '-', '--no-same-owner', '-C', folder], { input: bytes });
    },
  },
  {
    name: 'the supervisor of Cloud Run Jobs',
    unpack: (bytes: Buffer, folder: string) =>
      unpackTar(Readable.from([gunzipSync(bytes)]) as AsyncIterable<Uint8Array>, folder),
  },
];

test.each(unpackers)(
  'A6: a folder comes out of its package as it was, by $name',
  async ({ unpack }) => {
    const folder = await makeCode();
    const { bytes, files } = await packFolder(folder);
    const out = await temporary();
    await unpack(bytes, out);
    for (const name of ['fit.py', 'run.sh', 'lib/empty', 'lib/block', LONG, 'link']) {
      expect(await readFile(join(out, name)), name).toEqual(await readFile(join(folder, name)));
    }
    expect(await readlink(join(out, 'link'))).toBe('lib/block');
    expect(await readlink(join(out, 'lost'))).toBe(`./${'x'.repeat(120)}`);
    expect(((await stat(join(out, 'run.sh'))).mode & 0o111) !== 0).toBe(true);
    expect((await stat(join(out, 'fit.py'))).mode & 0o111).toBe(0);
    expect(files).toBe(7);
    for (const name of ['.git', 'lib/__pycache__']) {
      expect(await stat(join(out, name)).catch(() => null), name).toBe(null);
    }
  },
);

test('A6: the name follows from the files, not from when and by whom they were written', async () => {
  const [one, two] = await Promise.all([makeCode(), makeCode()]);
  const { sha256 } = await packFolder(one);
  expect((await packFolder(two)).sha256).toBe(sha256);
  await writeFile(join(two, 'fit.py'), 'print(2)\n');
  expect((await packFolder(two)).sha256).not.toBe(sha256);
});

const IMAGE = ['--image', 'alpine:3.20', '--cpus', '2', '--memory', '4'];

test('submit --code stores the folder once, and the request names it', async () => {
  await using cloud = await startLocalCloud();
  const subscription = { project: PROJECT, subscription: 'requests' };
  cloud.call('pubsub.topics.create', { project: PROJECT, topic: 'mayfly-run-requests' });
  const topic = `projects/${PROJECT}/topics/mayfly-run-requests`;
  cloud.call('pubsub.subscriptions.create', subscription, { topic });
  const folder = await makeCode();
  const submit = (...words: string[]) =>
    callMayfly(['submit', ...IMAGE, ...words], { folder, environment: environmentOf(cloud) });
  const first = await submit('--code', '.');
  expect(first, first.stderr).toMatchObject({ code: 0 });
  expect(first.stderr).toMatch(/7 files, \d+ bytes stored/);
  const second = await submit('--code', folder);
  expect(second.stderr).toContain('7 files, stored already');
  const reply = cloud.call('pubsub.subscriptions.pull', subscription, { maxMessages: 10 });
  const requests = asArray(reply.body?.receivedMessages).map((one) =>
    JSON.parse(Buffer.from(String(asObject(asObject(one).message).data), 'base64').toString()),
  );
  const { bytes, sha256 } = await packFolder(folder);
  const { uri } = requests[0].package;
  expect(packageSha256(uri)).toBe(sha256);
  expect(requests.map((request) => request.package)).toEqual([
    { uri, sha256 },
    { uri, sha256 },
  ]);
  const object = uri.slice(`gs://${BUCKET}/`.length);
  expect(object).toMatch(/^runs\/code\/mayfly-package-\w+-[0-9a-f]{64}\.tar\.gz$/);
  const stored = cloud.call('storage.objects.get', { bucket: BUCKET, object, alt: 'media' });
  expect(Buffer.from(stored.bytes ?? []).equals(bytes)).toBe(true);
});

test('submit --code: what is refused stores nothing, and a folder that is none is named', async () => {
  await using cloud = await startLocalCloud();
  const folder = await makeCode();
  const submit = (...words: string[]) =>
    callMayfly(['submit', ...IMAGE, ...words], { folder, environment: environmentOf(cloud) });
  expect(await submit('--code', '.', '--ttl', '1s')).toMatchObject({ code: 2 });
  expect((await submit('--code', 'gone')).stderr).toContain(`there is no folder ${folder}/gone`);
  expect((await submit('--code', 'fit.py')).stderr).toContain('there is no folder');
  await mkdir(join(folder, 'hollow'));
  expect((await submit('--code', 'hollow')).stderr).toContain('there is no file in');
  await writeFile(join(folder, 'large'), Buffer.alloc((16 << 20) + 1));
  const large = await submit('--code', '.');
  expect(large).toMatchObject({ code: 2 });
  expect(large.stderr).toMatch(/more than 16777216 bytes \(at large\): put what is large/);
  expect(cloud.world.calls.count({ method: 'storage.objects.insert' })).toBe(0);
});
