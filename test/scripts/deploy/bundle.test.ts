// The archive that functions are deployed from: its size, what a cold start reads of it, and that it
// starts the way Google's buildpack starts it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { unzipSync } from 'fflate';
import { beforeAll, expect, test } from 'vitest';
import { type Bundle, bundleFunctions } from '#scripts/deploy/bundle.ts';
import {
  LOCAL_AUDIENCE,
  localAccount,
  localEnvironment,
} from '#scripts/local-cloud/deployment/environment.ts';
import { bearer, claims, unsigned } from '#test/push/tokens.ts';

const START_BYTES_MAX = 500_000;
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

/** Sources that Node reads with a file of the archive, before any line of it runs. */
function sourcesReadWith(paths: readonly string[]): ReadonlyMap<string, number> {
  const { outputs } = bundle.metafile;
  const files = new Set(paths);
  for (const path of files) {
    for (const { kind, path: imported } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && imported in outputs) files.add(imported);
    }
  }
  const inputs = [...files].flatMap((path) => Object.entries(outputs[path]?.inputs ?? {}));
  return new Map(inputs.map(([source, { bytesInOutput }]) => [source, bytesInOutput]));
}

/** The port that the function listens on, from its first line. */
async function portOf(child: ChildProcess): Promise<string | undefined> {
  if (child.stdout === null) throw new Error('no output to read');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { event, message } = JSON.parse(String((await lines.next()).value));
  expect(event).toBe('server-started');
  return /port (\d+)$/.exec(message)?.[1];
}

async function ask(port: string | undefined, path: string, headers: Record<string, string>) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers });
  return `${response.status} ${response.headers.get('content-type')}`;
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** As Cloud Run hands it on after it has let the caller in. */
function platformToken(): Record<string, string> {
  const iat = Math.floor(Date.now() / 1000);
  const email = localAccount('push');
  const payload = claims({ aud: LOCAL_AUDIENCE, email, iat, exp: iat + 3600 });
  const header = { alg: 'RS256', kid: 'one', typ: 'JWT' };
  return bearer(unsigned(header, payload, 'SIGNATURE_REMOVED_BY_GOOGLE'));
}

function environmentOf(target: string): Record<string, string> {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  const own = { MAYFLY_PUSH_MODE: 'platform', FUNCTION_TARGET: target, PORT: '0' };
  return { PATH, ...localEnvironment(), ...own };
}

test('the archive and what every cold start reads of it stay within their budgets', () => {
  const sizes = [...sourcesReadWith(['server.js']).values()];
  const start = sizes.reduce((sum, bytes) => sum + bytes, 0);
  expect(start).toBeGreaterThan(100_000);
  expect(start).toBeLessThan(START_BYTES_MAX);
  expect(bundle.zip.byteLength).toBeLessThan(ZIP_BYTES_MAX);
});

test('no file of the archive imports a module of Node’s, which would read all that it could give', () => {
  for (const [path, text] of bundle.files) {
    if (!path.endsWith('.js') || path === 'framework/start.js') continue;
    expect(text.match(/import[^"';]*"node:[^"]*"/)?.[0], path).toBeUndefined();
  }
});

test.each([
  ['notify', /^shared\/(lifecycle|plan\/(machines|candidates)|cloud\/(compute|run)-client)/],
  ['finalize', /^(shared\/cloud\/(compute|run)-client|functions\/(submit|sweep|signals))/],
])('%s’s first message reads nothing that others alone need', (name, others) => {
  const own = Object.entries(bundle.metafile.outputs)
    .filter(([, { entryPoint }]) => entryPoint?.startsWith(`functions/${name}/`))
    .map(([path]) => path);
  const sources = [...sourcesReadWith(['server.js', ...own]).keys()];
  expect(sources).toContain(`functions/${name}/handler.ts`);
  expect(sources.filter((source) => others.test(source))).toEqual([]);
});

test('what the framework needs for other texts and types is there when it is asked for', async () => {
  await using place = await unpack();
  const load = createRequire(join(place.folder, 'server.js'));
  // Of the WHATWG's encoding standard: 0x80 in windows-1252, 0x88 0x9f in Shift_JIS.
  expect(load('#iconv-lite').decode(Buffer.from([0x80]), 'windows-1252')).toBe('\u20ac');
  expect(load('#iconv-lite').decode(Buffer.from([0x88, 0x9f]), 'shift_jis')).toBe('\u4e9c');
  expect(load('#mime-types').contentType('html')).toBe('text/html; charset=utf-8');
  expect(load('#qs').parse('a[b]=1')).toEqual({ a: { b: '1' } });
});

test('the same sources give the same bytes', async () => {
  expect((await bundleFunctions()).sha256).toBe(bundle.sha256);
});

test.each(['submit', 'finalize', 'signals', 'notify', 'sweep'])(
  '%s starts, authenticates and answers with the files of the Google clients taken away',
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
    const port = await portOf(child);
    expect(await ask(port, '/', {})).toBe('401 text/plain; charset=utf-8');
    // A path that the framework answers by itself.
    expect(await ask(port, '/favicon.ico', platformToken())).toBe('404 null');
    // The function itself misses its client, and says so through the framework.
    expect(await ask(port, '/', platformToken())).toBe('500 text/plain; charset=utf-8');
    await end(child);
  },
);

test('npm links the archive without a download, and the command of the buildpack starts it', async () => {
  await using place = await unpack();
  const options = { cwd: place.folder, env: environmentOf('submit'), stdio: 'ignore' } as const;
  execFileSync('npm', ['ci', '--offline', '--omit=dev', '--no-audit', '--cache=.npm'], options);
  execFileSync('npm', ['run', 'gcp-build'], options);
  const command = ['-c', 'node_modules/.bin/functions-framework'];
  const child = spawn('/bin/bash', command, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  expect(await ask(await portOf(child), '/favicon.ico', platformToken())).toBe('404 null');
  await end(child);
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
