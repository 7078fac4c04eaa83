// The publisher against Google's own emulator, where one is installed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readSettings } from '#shared/cloud/config.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import { noCredentials } from '#shared/cloud/token.ts';
import { isRequired } from '#test/required.ts';

const CAPABILITY = 'pubsub-emulator';
const jar = findEmulator();
const missing = jar === null && !isRequired(CAPABILITY);
const suffix = missing ? ' (skipped: no Pub/Sub emulator with Java on this machine)' : '';

let emulator: ChildProcess | null = null;
let port = 0;

function findOnPath(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
  return found === undefined ? null : realpathSync(found);
}

/** The emulator's jar beside `gcloud`, when Java is there to run it. */
function findEmulator(): string | null {
  const gcloud = findOnPath('gcloud');
  if (gcloud === null || findOnPath('java') === null) return null;
  const library = join(dirname(dirname(gcloud)), 'platform/pubsub-emulator/lib');
  return globSync(join(library, 'cloud-pubsub-emulator-*-all.jar'))[0] ?? null;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function isReady(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    ({ ok }) => ok,
    () => false,
  );
}

beforeAll(async () => {
  if (missing) return;
  if (jar === null) throw new Error(`MAYFLY_TEST_REQUIRE names ${CAPABILITY}, and there is none`);
  port = await freePort();
  const options = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar', jar];
  emulator = spawn('java', [...options, '--host=127.0.0.1', `--port=${port}`], { stdio: 'ignore' });
  const ready = async () => expect(await isReady()).toBe(true);
  await vi.waitFor(ready, { timeout: 50_000, interval: 100 });
});

afterAll(async () => {
  if (emulator === null || emulator.exitCode !== null) return;
  emulator.kill('SIGKILL');
  await once(emulator, 'exit');
});

test.skipIf(missing)(
  `P119: a message goes through Google’s emulator and back${suffix}`,
  async () => {
    const { endpoints } = readSettings({
      MAYFLY_PROJECT: 'p-emulated',
      MAYFLY_BUCKET: 'bucket-1',
      MAYFLY_REGIONS: 'us-central1',
      MAYFLY_WORKER_SERVICE_ACCOUNTS: 'w@p-emulated.iam.gserviceaccount.com',
      MAYFLY_PUSH_MODE: 'internal-token',
      MAYFLY_PUSH_TOKEN: 'a-shared-token-of-this-test',
      PUBSUB_EMULATOR_HOST: `127.0.0.1:${port}`,
    });
    const base = `http://127.0.0.1:${port}/v1/projects/p-emulated`;
    const send = async (method: string, path: string, body: unknown) => {
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch(`${base}/${path}`, { method, headers, body: JSON.stringify(body) });
      expect(reply.status, path).toBe(200);
      return (await reply.json()) as { receivedMessages?: { message: unknown }[] };
    };
    await send('PUT', 'topics/mayfly-run-requests', {});
    await send('PUT', 'subscriptions/mayfly-submit', {
      topic: 'projects/p-emulated/topics/mayfly-run-requests',
    });
    const publisher = createPublisher({
      project: 'p-emulated',
      endpoint: endpoints.pubsub,
      credentials: noCredentials('p-emulated'),
    });
    const id = await publisher.publish('mayfly-run-requests', '{"runId":"ä"}', { a: 'b' });
    const pulled = await send('POST', 'subscriptions/mayfly-submit:pull', { maxMessages: 1 });
    expect(pulled.receivedMessages?.[0]?.message).toMatchObject({
      messageId: id,
      data: Buffer.from('{"runId":"ä"}').toString('base64'),
      attributes: { a: 'b' },
    });
    await expect(publisher.publish('no-such-topic', 'x')).rejects.toMatchObject({
      code: 'not-found',
    });
  },
);
