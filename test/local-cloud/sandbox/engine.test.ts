// With a real engine, what is not about the examples goes to it word for word, and a machine's
// containers there carry the machine's label. The engine's client here is a script that records calls.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findEngine } from '#scripts/local-cloud/sandbox/engine.ts';
import { EngineContainers } from '#scripts/local-cloud/sandbox/engine-containers.ts';
import { example, Sandbox } from '#test/local-cloud/sandbox/sandbox-fixture.ts';

const ECHO = example('echo-args');

/** A client that writes its words down, one call a line, and answers as the first matching line says. */
class RecordingClient {
  readonly path: string;
  readonly #calls: string;

  constructor(folder: string, answers = '') {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    this.path = join(folder, 'bin', 'docker');
    this.#calls = join(folder, 'calls');
    const record = `printf '[%s]' "$@" >>'${this.#calls}'; echo " $DOCKER_HOST" >>'${this.#calls}'`;
    writeFileSync(this.path, `#!/bin/sh\n${record}\n${answers}\n`);
    chmodSync(this.path, 0o755);
  }

  calls(): string[] {
    if (!existsSync(this.#calls)) return [];
    return readFileSync(this.#calls, 'utf8').trimEnd().split('\n');
  }
}

const withEngine = (client: RecordingClient) => ({
  MAYFLY_SANDBOX_ENGINE: client.path,
  MAYFLY_SANDBOX_LABEL: 'mayfly.local-machine=m1',
  DOCKER_HOST: 'unix:///engine',
});

test('a call for the engine is its own, with its exit code, its words and the label', async () => {
  await using sandbox = new Sandbox();
  const client = new RecordingClient(sandbox.folder, 'cat; exit 42');
  const env = withEngine(client);
  const run = await sandbox.docker(['run', '-d', 'nginx', 'a b', ECHO], { env, stdin: 'in' });
  expect(run).toMatchObject({ code: 42, stdout: 'in' });
  await sandbox.docker(['pull', 'nginx'], { env });
  await sandbox.docker(['wait', 'other'], { env });
  await sandbox.docker(['login', '--password-stdin', 'host'], { env });
  expect(client.calls()).toEqual([
    `[run][--label][mayfly.local-machine=m1][-d][nginx][a b][${ECHO}] unix:///engine`,
    '[pull][nginx] unix:///engine',
    '[wait][other] unix:///engine',
    '[login][--password-stdin][host] unix:///engine',
  ]);
});

test('the examples and their containers stay in the sandbox', async () => {
  await using sandbox = new Sandbox();
  const client = new RecordingClient(sandbox.folder, 'exit 42');
  const env = withEngine(client);
  expect((await sandbox.docker(['pull', ECHO], { env })).code).toBe(0);
  expect((await sandbox.docker(['run', '--name', 'job', ECHO], { env })).code).toBe(0);
  expect((await sandbox.docker(['wait', 'job'], { env })).stdout).toBe('0\n');
  expect((await sandbox.docker(['rm', 'job'], { env })).code).toBe(0);
  expect(client.calls()).toEqual([]);
  expect((await sandbox.docker(['wait', 'job'], { env })).code).toBe(42);
});

test('an engine is found by a client on the path that reaches one, and by no other', async () => {
  await using sandbox = new Sandbox();
  const answers = '[ "$1" = info ] || echo unix:///from-context';
  const client = new RecordingClient(sandbox.folder, answers);
  const PATH = `/nonexistent:${join(sandbox.folder, 'bin')}:/usr/bin:/bin`;
  expect(findEngine({ PATH })).toEqual({ client: client.path, host: 'unix:///from-context' });
  expect(findEngine({ PATH, DOCKER_HOST: 'tcp://engine:1' })).toEqual({
    client: client.path,
    host: 'tcp://engine:1',
  });
  writeFileSync(client.path, '#!/bin/sh\nexit 1\n');
  expect(findEngine({ PATH: join(sandbox.folder, 'bin') })).toBeNull();
});

test("only containers with the machine's label are stopped, killed and removed", async () => {
  await using sandbox = new Sandbox();
  const client = new RecordingClient(sandbox.folder, '[ "$1" != ps ] || printf "c1\\nc2\\n"');
  const engine = { client: client.path, host: 'unix:///e' };
  const containers = new EngineContainers(engine, 'mayfly.local-machine=m1');
  await containers.stop(10);
  await containers.kill();
  await containers.remove();
  const filter = '[--no-trunc][--filter][label=mayfly.local-machine=m1]';
  expect(client.calls().map((line) => line.replace(' unix:///e', ''))).toEqual([
    `[ps][--quiet]${filter}`,
    '[stop][--time][10][c1][c2]',
    `[ps][--quiet]${filter}`,
    '[kill][c1][c2]',
    `[ps][--quiet][--all]${filter}`,
    '[rm][--force][--volumes][c1][c2]',
  ]);
});

test('without a container nothing is stopped, and a label without a value is a programming error', async () => {
  await using sandbox = new Sandbox();
  const client = new RecordingClient(sandbox.folder);
  const engine = { client: client.path, host: 'unix:///e' };
  await new EngineContainers(engine, 'a=b').remove();
  expect(client.calls()).toHaveLength(1);
  expect(() => new EngineContainers(engine, 'mayfly.local-machine=')).toThrow(/name and a value/);
});
