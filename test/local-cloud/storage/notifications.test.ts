// Bucket notifications: what is told, to whom, and how it may go wrong.
import { expect, test } from 'vitest';
import { TestWorld } from '#test/local-cloud/fixtures.ts';

const TOPIC = 'projects/local-project/topics/run-status';
const BUCKET = 'local-bucket';

function notified(config: Record<string, unknown>, storage = {}): TestWorld {
  const world = new TestWorld({ storage: { objectWriteGapMs: 0, ...storage } });
  world.call('pubsub.topics.create', { topic: TOPIC }, {});
  const subscription = 'projects/local-project/subscriptions/sub';
  const pushConfig = { pushEndpoint: 'http://127.0.0.1:9/' };
  world.call('pubsub.subscriptions.create', { subscription }, { topic: TOPIC, pushConfig });
  const topic = `//pubsub.googleapis.com/${TOPIC}`;
  const made = world.call('storage.notifications.insert', { bucket: BUCKET }, { topic, ...config });
  expect(made).toMatchObject({ status: 200, body: { id: '1', topic } });
  return world;
}

function write(world: TestWorld, name: string): string {
  const body = { bytes: Buffer.from('x'), metadata: {} };
  const { body: written } = world.call('storage.objects.insert', { bucket: BUCKET, name }, body);
  return String(written?.generation);
}

interface Told {
  readonly data?: string;
  readonly attributes: Record<string, string>;
}

const told = (world: TestWorld): Told[] =>
  world.pushes().map(({ body }) => (body as unknown as { message: Told }).message);

test('an overwrite tells of the new object and of the old one, each naming the other', () => {
  const world = notified({ payload_format: 'NONE', object_name_prefix: 'runs/' });
  const first = write(world, 'runs/a');
  const second = write(world, 'runs/a');
  write(world, 'other');
  expect(told(world).map(({ attributes }) => attributes)).toMatchObject([
    {
      eventType: 'OBJECT_FINALIZE',
      bucketId: BUCKET,
      objectId: 'runs/a',
      objectGeneration: first,
      payloadFormat: 'NONE',
      eventTime: '2026-12-01T12:00:00.000Z',
      notificationConfig: `projects/_/buckets/${BUCKET}/notificationConfigs/1`,
    },
    { eventType: 'OBJECT_FINALIZE', objectGeneration: second, overwroteGeneration: first },
    { eventType: 'OBJECT_DELETE', objectGeneration: first, overwrittenByGeneration: second },
  ]);
  expect(told(world)[0]).not.toHaveProperty('data');
});

test('only the event types asked for; JSON_API_V1 carries the resource', () => {
  const event_types = ['OBJECT_FINALIZE'];
  const world = notified({ payload_format: 'JSON_API_V1', event_types });
  const generation = write(world, 'a');
  world.call('storage.objects.delete', { bucket: BUCKET, object: 'a' });
  expect(told(world)).toHaveLength(1);
  const data = Buffer.from(told(world)[0]?.data ?? '', 'base64').toString();
  expect(JSON.parse(data)).toMatchObject({ kind: 'storage#object', name: 'a', generation });
});

test('a write that fails tells nothing', () => {
  const world = notified({});
  const params = { bucket: BUCKET, name: 'a', ifGenerationMatch: '5' };
  expect(world.call('storage.objects.insert', params, { bytes: Buffer.from('x') }).status).toBe(
    412,
  );
  expect(told(world)).toEqual([]);
});

test.each([
  { name: 'late', storage: { notificationDelayMs: 5000 }, counts: [0, 1] },
  { name: 'twice', storage: { notificationDuplication: 1 }, counts: [2, 2] },
  { name: 'never', storage: { notificationLoss: 1 }, counts: [0, 0] },
])('it may come $name', ({ storage, counts }) => {
  const world = notified({}, storage);
  write(world, 'a');
  const atOnce = told(world).length;
  world.pass(5000);
  expect([atOnce, told(world).length]).toEqual(counts);
});

test('with a spread they may overtake each other', () => {
  const world = notified({}, { notificationSpreadMs: 10_000 });
  for (let index = 0; index < 20; index += 1) write(world, `n${String(index).padStart(2, '0')}`);
  world.pass(10_000);
  const names = told(world).map(({ attributes }) => attributes.objectId);
  expect(names).not.toEqual([...names].sort());
  expect([...names].sort()).toEqual([...new Set(names)].sort());
  expect(names).toHaveLength(20);
});
