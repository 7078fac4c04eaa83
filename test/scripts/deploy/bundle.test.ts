// The archive that functions are deployed from: its size, what a cold start reads of it, and that it
// starts the way Google's buildpack starts it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { unzipSync } from 'fflate';
import { beforeAll, expect, test } from 'vitest';
import { type Bundle, bundleFunctions } from '#scripts/deploy/bundle.ts';
import { localEnvironment } from '#scripts/local-cloud/deployment/environment.ts';

const SERVER_BYTES_MAX = 800_000;
const ZIP_BYTES_MAX = 1_500_000;
const CLIENT =
  /node_modules\/(@google-cloud\/(storage|pubsub|scheduler)|google-gax|google-auth-library|@grpc)\//;

let bundle: Bundle;
beforeAll(async () => {
  bundle = await bundleFunctions();
}, 60_000);

/** Unpacked into a folder of its own; `leaveOut` is not written. */
async function unpack(leaveOut: ReadonlySet<string> = new Set()) {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-bundle-'));
  for (const [path, bytes] of Object.entries(unzipSync(bundle.zip))) {
    if (leaveOut.has(path)) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
  await chmod(join(folder, 'framework/start.js'), 0o755);
  const gone = () => rm(folder, { recursive: true });
  return { folder, [Symbol.asyncDispose]: gone };
}

async function statusOf(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('no output to read');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { event, message } = JSON.parse(String((await lines.next()).value));
  expect(event).toBe('server-started');
  const port = /port (\d+)$/.exec(message)?.[1];
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST' });
  child.kill('SIGTERM');
  await once(child, 'exit');
  return status;
}

function environmentOf(target: string): Record<string, string> {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  return { PATH, ...localEnvironment(), FUNCTION_TARGET: target, PORT: '0' };
}

test('the archive and what every cold start reads of it stay within their budgets', () => {
  const server = Buffer.byteLength(bundle.files.get('server.js') ?? '');
  expect(server).toBeGreaterThan(100_000);
  expect(server).toBeLessThan(SERVER_BYTES_MAX);
  expect(bundle.zip.byteLength).toBeLessThan(ZIP_BYTES_MAX);
});

test('the same sources give the same bytes', async () => {
  expect((await bundleFunctions()).sha256).toBe(bundle.sha256);
});

test.each(['submit', 'finalize', 'signals', 'notify', 'sweep'])(
  '%s starts and answers with the files of the Google clients taken away',
  async (target) => {
    const clients = Object.entries(bundle.metafile.outputs).flatMap(([path, { inputs }]) =>
      Object.keys(inputs).some((input) => CLIENT.test(input)) ? [path] : [],
    );
    expect(clients.length).toBeGreaterThan(3);
    await using place = await unpack(new Set(clients));
    const child = spawn(process.execPath, ['framework/start.js'], {
      cwd: place.folder,
      env: environmentOf(target),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await statusOf(child)).toBe(401);
  },
);

test('npm links the archive without a download, and the command of the buildpack starts it', async () => {
  await using place = await unpack();
  const options = { cwd: place.folder, env: environmentOf('submit'), stdio: 'ignore' } as const;
  execFileSync('npm', ['ci', '--offline', '--omit=dev', '--no-audit', '--cache=.npm'], options);
  execFileSync('npm', ['run', 'gcp-build'], options);
  const command = ['-c', 'node_modules/.bin/functions-framework'];
  const child = spawn('/bin/bash', command, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  expect(await statusOf(child)).toBe(401);
});

test('a client that is loaded from its own file has the names that the code asks for', async () => {
  await using place = await unpack();
  const chunks = Object.entries(bundle.metafile.outputs).flatMap(
    ([path, { entryPoint, exports }]) =>
      entryPoint?.startsWith('named-exports:')
        ? [[entryPoint.slice(14), path, exports] as const]
        : [],
  );
  const used = { '@google-cloud/storage': 'Storage', '@google-cloud/pubsub': 'v1' };
  const more = { '@google-cloud/scheduler': 'v1', 'google-auth-library': 'GoogleAuth' };
  const names = Object.entries({ ...used, ...more });
  for (const [client, name] of names) {
    const [, path] = chunks.find(([found]) => found === client) ?? [];
    const chunk = await import(join(place.folder, String(path)));
    expect(chunk[name], `${client} ${name}`).toBeDefined();
  }
});
