// The publisher against Google's own emulator, where one is installed.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSettings } from '#shared/cloud/config.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import { noCredentials } from '#shared/cloud/token.ts';
import {
  emulatorMissing,
  emulatorSuffix,
  type PubsubEmulator,
  startEmulator,
} from '#test/pubsub-emulator.ts';

let emulator: PubsubEmulator | null = null;
beforeAll(async () => {
  if (!emulatorMissing) emulator = await startEmulator();
});
afterAll(() => emulator?.[Symbol.asyncDispose]());

test.skipIf(emulatorMissing)(
  `P119: a message goes through Google’s emulator and back${emulatorSuffix}`,
  async () => {
    const host = emulator?.host ?? '';
    const { endpoints } = readSettings({
      MAYFLY_PROJECT: 'p-emulated',
      MAYFLY_BUCKET: 'bucket-1',
      MAYFLY_REGIONS: 'us-central1',
      MAYFLY_WORKER_SERVICE_ACCOUNTS: 'w@p-emulated.iam.gserviceaccount.com',
      MAYFLY_PUSH_MODE: 'internal-token',
      MAYFLY_PUSH_TOKEN: 'a-shared-token-of-this-test',
      PUBSUB_EMULATOR_HOST: host,
    });
    const base = `http://${host}/v1/projects/p-emulated`;
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
