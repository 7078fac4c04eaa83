// `npm run bench -- cold [--rounds N]`: each function from the bundle, unpacked and prepared as the
// platform does it, beside a bare node:http server on the same Node, taking turns. First from process
// start to the first answer (a refusal: it needs no credentials), then to the first message handled
// against the local cloud, beside a second one, which finds the clients loaded.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { type Measurement, median, ratio } from '#scripts/bench/measure.ts';
import { bundleFunctions } from '#scripts/deploy/bundle.ts';
import { localAccount, localEnvironment } from '#scripts/local-cloud/deployment/environment.ts';
import { FUNCTION_NAMES } from '#scripts/local-cloud/deployment/function-processes.ts';
import { openInstallation } from '#scripts/local-cloud/deployment/installation.ts';
import type { FunctionName } from '#scripts/local-cloud/deployment/layout.ts';

const ROUNDS = 9;
const RATIO_AIM = 1.5;
const BARE = `import { createServer } from 'node:http';
const server = createServer((_, response) => response.writeHead(401).end());
server.listen(0, () => console.log(JSON.stringify({ message: \`port \${server.address().port}\` })));
`;
const TOKEN = 'the-token-of-this-benchmark-alone-0123456789';
const AUTHORIZED = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

/** What a function is told first. None of them makes a machine. */
const MESSAGES: Readonly<Record<FunctionName, object>> = {
  submit: push('{}', {}),
  finalize: push('{}', { eventType: 'OBJECT_FINALIZE', objectId: 'runs/bench/attempts/1/done' }),
  signals: push('{}', {}),
  notify: push('{}', { eventType: 'OBJECT_FINALIZE', objectId: 'runs/bench/result.json' }),
  sweep: { dryRun: true },
};

type Environment = Readonly<Record<string, string>>;

export async function benchCold(options: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...options], options: { rounds: { type: 'string' } } });
  const rounds = Number(values.rounds ?? ROUNDS);
  await using folder = await prepareBundle();
  await compareStarts(folder.path, rounds);
  await using installation = await openInstallation({
    port: 0,
    environment: process.env,
    objects: [],
    onLog: () => {},
  });
  const { baseUrl } = installation.deployment;
  print('\nfirst message handled      total ms  = listens + first message   (a second message)');
  for (const name of FUNCTION_NAMES) {
    await using metadata = await installation.cloud.openMetadata({
      kind: 'account',
      email: localAccount(name),
    });
    const own = { GCE_METADATA_HOST: metadata.host, METADATA_SERVER_DETECTION: 'assume-present' };
    const environment = {
      ...environmentOf(name, baseUrl),
      ...own,
      CLOUDSDK_CONFIG: '/nonexistent',
    };
    const parts: Awaited<ReturnType<typeof handleFirst>>[] = [];
    for (let round = 0; round < Math.ceil(rounds / 3); round += 1) {
      parts.push(await handleFirst(folder.path, environment, MESSAGES[name]));
    }
    const [total, listens, first, second] = (
      ['totalMs', 'listensMs', 'firstMs', 'secondMs'] as const
    ).map((key) =>
      median(parts.map((part) => part[key]))
        .toFixed(0)
        .padStart(6),
    );
    print(
      `  ${name.padEnd(22)}${total}    ${listens}   ${first}             (${second})  ${parts[0]?.status}`,
    );
  }
}

/** As on the platform: unpacked, then the buildpack's own hook fills the compile cache. */
async function prepareBundle() {
  const path = await mkdtemp(join(tmpdir(), 'mayfly-cold-'));
  const { files, zip } = await bundleFunctions();
  for (const [name, text] of files) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  await chmod(join(path, 'framework/start.js'), 0o755);
  await writeFile(join(path, 'bare.mjs'), BARE);
  const fill = ['framework/start.js', '--fill-cache'];
  const { status } = spawnSync(process.execPath, fill, { cwd: path, stdio: 'inherit' });
  if (status !== 0) throw new Error(`the compile cache was not filled: ${status}`);
  const serverBytes = Buffer.byteLength(files.get('server.js') ?? '');
  print(`zip ${zip.byteLength} bytes; server.js ${serverBytes} bytes`);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function compareStarts(folder: string, rounds: number): Promise<void> {
  const bare: Measurement = { name: 'bare node:http', microseconds: [] };
  const own = FUNCTION_NAMES.map((name) => ({ name, microseconds: [] as number[] }));
  const plain = FUNCTION_NAMES.map((name) => ({ name, microseconds: [] as number[] }));
  for (let round = -1; round < rounds; round += 1) {
    const figures: [readonly number[], number][] = [];
    figures.push([bare.microseconds, await firstAnswer(folder, 'bare.mjs', {})]);
    for (const [index, name] of FUNCTION_NAMES.entries()) {
      const environment = environmentOf(name, 'http://127.0.0.1:9');
      const cached = await firstAnswer(folder, 'framework/start.js', environment);
      const uncached = await firstAnswer(folder, 'framework/start.js', {
        ...environment,
        NODE_DISABLE_COMPILE_CACHE: '1',
      });
      figures.push([own[index]?.microseconds ?? [], cached]);
      figures.push([plain[index]?.microseconds ?? [], uncached]);
    }
    if (round < 0) continue; // files are read from disk for the first time
    for (const [kept, ms] of figures) (kept as number[]).push(ms * 1000);
  }
  print(`first answer, ${rounds} rounds      median ms   × bare   without compile cache × bare`);
  print(`  ${bare.name.padEnd(24)}${milliseconds(bare)}`);
  for (const [index, measured] of own.entries()) {
    const without = plain[index] ?? measured;
    const times = ratio(measured, bare);
    const mark = times <= RATIO_AIM ? '' : `  above ${RATIO_AIM}`;
    print(
      `  ${measured.name.padEnd(24)}${milliseconds(measured)}     ${times.toFixed(2)}     ${milliseconds(without)}  ${ratio(without, bare).toFixed(2)}${mark}`,
    );
  }
}

async function firstAnswer(folder: string, program: string, environment: Environment) {
  await using started = await start(folder, program, environment);
  const { status } = await fetch(started.url, { method: 'POST' });
  if (status !== 401) throw new Error(`${program} answered ${status}, not 401`);
  return performance.now() - started.atMs;
}

async function handleFirst(folder: string, environment: Environment, message: object) {
  await using started = await start(folder, 'framework/start.js', environment);
  const listensMs = performance.now() - started.atMs;
  const request = { method: 'POST', headers: AUTHORIZED, body: JSON.stringify(message) };
  const { status } = await fetch(started.url, request);
  const totalMs = performance.now() - started.atMs;
  if (status >= 300) {
    throw new Error(`the first message was answered with ${status}:\n${started.lines.join('\n')}`);
  }
  await fetch(started.url, request);
  const secondMs = performance.now() - started.atMs - totalMs;
  return { status, totalMs, listensMs, firstMs: totalMs - listensMs, secondMs };
}

async function start(folder: string, program: string, environment: Environment) {
  const atMs = performance.now();
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    env: { NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    const port = /port (\d+)/.exec(line)?.[1];
    if (port !== undefined) resolve(port);
  });
  const exited = once(child, 'exit');
  exited.then(([code]) => reject(new Error(`${program} ended with ${code}`)), reject);
  return {
    atMs,
    lines,
    url: `http://127.0.0.1:${await promise}/`,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function environmentOf(name: FunctionName, baseUrl: string): Environment {
  const token = { MAYFLY_PUSH_MODE: 'internal-token', MAYFLY_PUSH_TOKEN: TOKEN };
  return { ...localEnvironment(baseUrl), ...token, FUNCTION_TARGET: name, PORT: '0' };
}

function push(text: string, attributes: Readonly<Record<string, string>>): object {
  const data = Buffer.from(text).toString('base64');
  const message = { data, attributes, messageId: '1', publishTime: '2026-01-01T00:00:00Z' };
  return { message, subscription: 'projects/local-project/subscriptions/bench' };
}

const milliseconds = ({ microseconds }: Measurement) =>
  (median(microseconds) / 1000).toFixed(0).padStart(6);
const print = (line: string) => process.stdout.write(`${line}\n`);
