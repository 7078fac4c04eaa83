// What arrives under runs/results/ and runs/rejected/ is announced once; what is no result is said, and
// not delivered for ever.
import { expect, test } from 'vitest';
import { handleNotify } from '#functions/notify/handler.ts';
import { localEnvironment } from '#scripts/local-cloud/deployment/environment.ts';
import { readSettings } from '#shared/cloud/config.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

const settings = readSettings(localEnvironment());

async function announce(text: string) {
  const published: Record<string, string>[] = [];
  const logged: string[] = [];
  const bytes = new TextEncoder().encode(text);
  const deps = {
    settings,
    store: { read: async () => ({ kind: 'found', bytes, generation: '1' }) },
    publisher: {
      publish: async (_topic: string, _data: string, attributes: Record<string, string>) =>
        void published.push(attributes),
    },
    log: (severity: string, event: string) => void logged.push(`${severity} ${event}`),
  } as unknown as RunDeps;
  const attributes = {
    bucketId: settings.plan.bucket,
    objectId: 'runs/results/r.json',
    eventType: 'OBJECT_FINALIZE',
  };
  const message = {
    messageId: '1',
    data: new Uint8Array(),
    attributes,
    publishTimeMs: null,
    orderingKey: null,
    subscription: null,
    deliveryAttempt: null,
  };
  const outcome = await handleNotify(message, deps);
  return { outcome, published, logged };
}

test.each([
  ['half a text', '{"half'],
  ['null', 'null'],
  ['a list', '[]'],
  ['no run', '{"status":"SUCCEEDED"}'],
  ['a status that is none', '{"runId":"r","status":7}'],
])('%s is no result: said as an error, and acknowledged', async (_name, text) => {
  expect(await announce(text)).toEqual({
    outcome: { kind: 'done' },
    published: [],
    logged: ['ERROR result-ignored'],
  });
});

test('a result of a later version is announced as far as it is known', async () => {
  const later = { schema: 2, runId: 'r', status: 'SUCCEEDED', runtime: 'new', more: {} };
  const { published } = await announce(JSON.stringify(later));
  expect(published).toEqual([
    expect.objectContaining({ 'ce-id': 'r/ended', status: 'SUCCEEDED', runtime: 'new' }),
  ]);
});
