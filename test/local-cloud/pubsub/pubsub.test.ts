// Pub/Sub push in the step: envelope, acknowledging codes, deadlines, back-off, dead letters, retention,
// filters, and storage notifications, by the documented rules.
import { describe, expect, test } from 'vitest';
import { asArray } from '#scripts/local-cloud/json.ts';
import { compileAttributeFilter } from '#scripts/local-cloud/pubsub/filter.ts';
import { TestWorld } from '#test/local-cloud/fixtures.ts';

const SECOND = 1000;
const TOPIC = 'projects/local-project/topics/top';
const DEAD = 'projects/local-project/topics/dead';
const SUBSCRIPTION = 'projects/local-project/subscriptions/sub';
const PUSH = { pushEndpoint: 'http://127.0.0.1:9/push' };

function subscribed(fields: Record<string, unknown> = {}, choices = {}): TestWorld {
  const world = new TestWorld(choices);
  for (const topic of [TOPIC, DEAD]) world.call('pubsub.topics.create', { topic }, {});
  const body = { topic: TOPIC, pushConfig: PUSH, ...fields };
  const made = world.call('pubsub.subscriptions.create', { subscription: SUBSCRIPTION }, body);
  expect(made.status).toBe(200);
  return world;
}

function publish(world: TestWorld, message: Record<string, unknown>): string {
  const { body } = world.call('pubsub.topics.publish', { topic: TOPIC }, { messages: [message] });
  return String(asArray(body?.messageIds)[0]);
}

/** Answers the newest push. */
function answer(world: TestWorld, status: number): void {
  const deliveryId = world.pushes().at(-1)?.deliveryId ?? '';
  world.call('local.push.result', {}, { deliveryId, status });
}

const seconds = (world: TestWorld) => {
  const start = world.pushes()[0]?.sentMs ?? 0;
  return world.pushes().map(({ sentMs }) => (sentMs - start) / SECOND);
};

/** Refuses every push for that long, at once. */
function refuseFor(world: TestWorld, milliseconds: number, status = 500): void {
  const endMs = world.nowMs + milliseconds;
  let answered = world.pushes().length - 1;
  for (;;) {
    while (answered < world.pushes().length) {
      const push = world.pushes()[answered];
      if (push !== undefined) {
        world.call('local.push.result', {}, { deliveryId: push.deliveryId, status });
      }
      answered += 1;
    }
    const next = world.nextDueMs();
    if (next === null || next > endMs) return;
    world.pass(next - world.nowMs);
  }
}

function passUntilNextPush(world: TestWorld): void {
  const count = world.pushes().length;
  while (world.pushes().length === count) {
    const dueMs = world.nextDueMs();
    if (dueMs === null) throw new Error('no push is planned');
    world.pass(dueMs - world.nowMs);
  }
}

describe('the envelope', () => {
  test('P96: has messageId and message_id, publishTime and publish_time', () => {
    const world = subscribed();
    const id = publish(world, {
      data: Buffer.from('hi').toString('base64'),
      attributes: { a: 'b' },
    });
    expect(world.pushes()).toMatchObject([
      {
        method: 'POST',
        url: PUSH.pushEndpoint,
        headers: { 'content-type': 'application/json' },
        token: null,
        timeoutMs: 10_000,
      },
    ]);
    expect(world.pushes()[0]?.body).toEqual({
      subscription: SUBSCRIPTION,
      message: {
        data: 'aGk=',
        attributes: { a: 'b' },
        messageId: id,
        message_id: id,
        publishTime: '2026-12-01T12:00:00.000Z',
        publish_time: '2026-12-01T12:00:00.000Z',
      },
    });
  });

  test('has no data, attributes, orderingKey or deliveryAttempt where there is none', () => {
    const world = subscribed();
    publish(world, { attributes: { a: 'b' } });
    publish(world, { data: 'aGk=' });
    const messages = world.pushes().map(({ body }) => (body as { message: object }).message);
    expect(messages[0]).not.toHaveProperty('data');
    expect(messages[1]).not.toHaveProperty('attributes');
    expect(messages[1]).not.toHaveProperty('orderingKey');
    expect(world.pushes()[0]?.body).not.toHaveProperty('deliveryAttempt');
  });

  test('unwrapped, the data is the body and the rest travels in headers', () => {
    const pushConfig = { ...PUSH, noWrapper: { writeMetadata: true } };
    const world = subscribed({ pushConfig });
    const id = publish(world, { data: 'aGk=', attributes: { 'ce-id': '7' } });
    const [push] = world.pushes();
    expect(Buffer.from(push?.body as Uint8Array).toString()).toBe('hi');
    expect(push?.headers).toMatchObject({
      'x-goog-pubsub-message-id': id,
      'x-goog-pubsub-subscription-name': SUBSCRIPTION,
      'ce-id': '7',
    });
  });

  test('the token order names account and audience; the audience is the endpoint unless given', () => {
    const serviceAccountEmail = 'push@p.iam.gserviceaccount.com';
    const world = subscribed({ pushConfig: { ...PUSH, oidcToken: { serviceAccountEmail } } });
    publish(world, { data: 'aGk=' });
    expect(world.pushes()[0]?.token).toEqual({
      email: serviceAccountEmail,
      audience: PUSH.pushEndpoint,
    });
  });
});

describe('acknowledgement', () => {
  test.each([102, 200, 201, 202, 204])('P96: %d acknowledges', (status) => {
    const world = subscribed();
    publish(world, { data: 'aGk=' });
    answer(world, status);
    world.pass(3600 * SECOND);
    expect(world.pushes()).toHaveLength(1);
  });

  test.each([0, 100, 203, 205, 206, 299, 302, 304, 400, 403, 404, 429, 500, 503])(
    'P96: %d is delivered again',
    (status) => {
      const world = subscribed();
      publish(world, { data: 'aGk=' });
      answer(world, status);
      world.pass(SECOND);
      expect(world.pushes()).toHaveLength(2);
    },
  );

  test('no answer until the deadline: a second copy, and the late answer to the first is nothing', () => {
    const world = subscribed({ ackDeadlineSeconds: 20 });
    publish(world, { data: 'aGk=' });
    const [first] = world.pushes();
    world.pass(19_999);
    expect(world.pushes()).toHaveLength(1);
    world.pass(200);
    expect(world.pushes()).toHaveLength(2);
    world.call('local.push.result', {}, { deliveryId: first?.deliveryId, status: 200 });
    world.pass(60 * SECOND);
    expect(world.pushes().length).toBeGreaterThan(2);
  });

  test('an acknowledged message may come again, when the world is told so', () => {
    const world = subscribed({}, { pubsub: { duplication: 1 } });
    publish(world, { data: 'aGk=' });
    answer(world, 200);
    expect(world.pushes()).toHaveLength(2);
  });
});

describe('back-off', () => {
  test('with a retry policy it doubles for each message between its bounds', () => {
    const retryPolicy = { minimumBackoff: '10s', maximumBackoff: '600s' };
    const world = subscribed({ retryPolicy });
    publish(world, { data: 'aGk=' });
    refuseFor(world, 3600 * SECOND);
    expect(seconds(world).slice(0, 9)).toEqual([0, 10, 30, 70, 150, 310, 630, 1230, 1830]);
  });

  test('a retry policy of 0 s repeats at once first, and never waits longer than its maximum', () => {
    const world = subscribed({ retryPolicy: { minimumBackoff: '0s', maximumBackoff: '1s' } });
    publish(world, { data: 'aGk=' });
    refuseFor(world, 3 * SECOND);
    expect(seconds(world).slice(0, 6)).toEqual([0, 0, 0.2, 0.6, 1.4, 2.4]);
  });

  test('without one the subscription slows down, from 100 ms to 60 s, until something is acknowledged', () => {
    const world = subscribed();
    publish(world, { data: 'aGk=' });
    refuseFor(world, 200 * SECOND);
    expect(seconds(world).slice(0, 4)).toEqual([0, 0.1, 0.3, 0.7]);
    const [before, last] = world.pushes().slice(-2);
    expect(Number(last?.sentMs) - Number(before?.sentMs)).toBe(60 * SECOND);
    passUntilNextPush(world);
    answer(world, 200);
    publish(world, { data: 'aGk=' });
    answer(world, 500);
    world.pass(100);
    expect(world.pushes().at(-1)?.sentMs).toBe(world.nowMs);
  });

  test.each([
    { name: 'a back-off above 600 s', fields: { retryPolicy: { maximumBackoff: '601s' } } },
    { name: 'a deadline of 601 s', fields: { ackDeadlineSeconds: 601 } },
    { name: 'a deadline of 9 s', fields: { ackDeadlineSeconds: 9 } },
    {
      name: '4 attempts',
      fields: { deadLetterPolicy: { deadLetterTopic: DEAD, maxDeliveryAttempts: 4 } },
    },
    {
      name: '101 attempts',
      fields: { deadLetterPolicy: { deadLetterTopic: DEAD, maxDeliveryAttempts: 101 } },
    },
    {
      name: 'a dead topic that is not there',
      fields: { deadLetterPolicy: { deadLetterTopic: `${DEAD}-2` } },
    },
    { name: 'retention of 32 days', fields: { messageRetentionDuration: '2764800s' } },
  ])('refused: $name', ({ fields }) => {
    const world = new TestWorld();
    for (const topic of [TOPIC, DEAD]) world.call('pubsub.topics.create', { topic }, {});
    const body = { topic: TOPIC, pushConfig: PUSH, ...fields };
    expect(
      world.call('pubsub.subscriptions.create', { subscription: SUBSCRIPTION }, body).status,
    ).toBe(400);
  });
});

test('C123: after the last attempt the message is on the dead topic with its source, and counted until then', () => {
  const deadLetterPolicy = { deadLetterTopic: DEAD, maxDeliveryAttempts: 5 };
  const retryPolicy = { minimumBackoff: '0s', maximumBackoff: '0s' };
  const world = subscribed({ deadLetterPolicy, retryPolicy });
  world.call(
    'pubsub.subscriptions.create',
    { subscription: `${SUBSCRIPTION}-dead` },
    { topic: DEAD },
  );
  publish(world, { data: 'aGk=', attributes: { a: 'b' } });
  refuseFor(world, 60 * SECOND);
  const attempts = world
    .pushes()
    .map(({ body }) => (body as { deliveryAttempt: number }).deliveryAttempt);
  expect(attempts).toEqual([1, 2, 3, 4, 5]);
  const pulled = world.call(
    'pubsub.subscriptions.pull',
    { subscription: `${SUBSCRIPTION}-dead` },
    {},
  );
  expect(pulled.body).toMatchObject({
    receivedMessages: [
      {
        message: {
          data: 'aGk=',
          attributes: {
            a: 'b',
            CloudPubSubDeadLetterSourceDeliveryCount: '5',
            CloudPubSubDeadLetterSourceSubscription: 'sub',
            CloudPubSubDeadLetterSourceSubscriptionProject: 'local-project',
            CloudPubSubDeadLetterSourceTopicPublishTime: '2026-12-01T12:00:00.000Z',
          },
        },
      },
    ],
  });
});

test('a message older than the retention is delivered no more', () => {
  const retryPolicy = { minimumBackoff: '600s', maximumBackoff: '600s' };
  const world = subscribed({ messageRetentionDuration: '1800s', retryPolicy });
  publish(world, { data: 'aGk=' });
  refuseFor(world, 36_000 * SECOND);
  expect(seconds(world)).toEqual([0, 600, 1200]);
});

test.each([
  ['', true],
  ['attributes.status = "FAILED"', true],
  ['attributes.status != "FAILED"', false],
  ['attributes:status', true],
  ['attributes:none', false],
  ['hasPrefix(attributes.label-team, "re")', true],
  ['attributes.status = "FAILED" AND NOT attributes:none', true],
  ['(attributes:none OR attributes:status) AND attributes.status = "DONE"', false],
  ['attributes.status', 'fault'],
  ['labels.a = "b"', 'fault'],
])('the filter %s', (filter, expected) => {
  const matches = compileAttributeFilter(filter);
  const attributes = { status: 'FAILED', 'label-team': 'red' };
  expect(typeof matches === 'string' ? 'fault' : matches(attributes)).toBe(expected);
});

test('a subscription made later sees nothing of what was published before', () => {
  const world = new TestWorld();
  world.call('pubsub.topics.create', { topic: TOPIC }, {});
  publish(world, { data: 'aGk=' });
  world.call('pubsub.subscriptions.create', { subscription: SUBSCRIPTION }, { topic: TOPIC });
  expect(world.call('pubsub.subscriptions.pull', { subscription: SUBSCRIPTION }, {}).body).toEqual(
    {},
  );
});

test.each([
  { name: 'an empty message', message: {} },
  { name: 'too many bytes', message: { data: Buffer.alloc(10_000_001).toString('base64') } },
  {
    name: '101 attributes',
    message: {
      attributes: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, 'v'])),
    },
  },
  { name: 'an attribute of 1,025 bytes', message: { attributes: { k: 'x'.repeat(1025) } } },
])('publish refuses $name', ({ message }) => {
  const world = subscribed();
  expect(
    world.call('pubsub.topics.publish', { topic: TOPIC }, { messages: [message] }).status,
  ).toBe(400);
});
