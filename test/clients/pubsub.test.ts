// The official Pub/Sub client: over REST against the local cloud (so without its streaming pull, which is
// gRPC alone), and the same over gRPC, its default, against Google's emulator.
import { PubSub, v1 } from '@google-cloud/pubsub';
import { PassThroughClient } from 'google-auth-library';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emulatorMissing, emulatorSuffix, startEmulator } from '#test/pubsub-emulator.ts';
import { layOut } from '#test/scripts/mayfly/laid-out.ts';

const project = 'local-project';
/** Codes of google.rpc.Code. */
const [INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS] = [3, 5, 6];

interface Clients {
  readonly pubsub: PubSub;
  readonly subscriber: v1.SubscriberClient;
}

const authClient = new PassThroughClient();
/** In REST mode the client asks for credentials, whatever PUBSUB_EMULATOR_HOST says. */
const REST = { fallback: true, protocol: 'http', authClient };

async function openClients(host: string, options: object = {}): Promise<Clients> {
  process.env.PUBSUB_EMULATOR_HOST = host;
  const pubsub = new PubSub({ projectId: project, ...options });
  const subscriber = new v1.SubscriberClient({ ...(await pubsub.getClientConfig()), ...options });
  return { pubsub, subscriber };
}

const laidOut = await layOut(Date.now);
const { PUBSUB_EMULATOR_HOST: localHost = '' } = laidOut.environment;
afterAll(() => laidOut[Symbol.asyncDispose]());

test('the topics and subscriptions of a deployment are there as they were laid out', async () => {
  const { pubsub } = await openClients(localHost, REST);
  const [topics] = await pubsub.getTopics();
  expect(topics.map(({ name }) => name.split('/').at(-1)).sort()).toEqual([
    'mayfly-dead',
    'mayfly-run-events',
    'mayfly-run-requests',
    'mayfly-run-results',
    'mayfly-run-signals',
    'mayfly-run-status',
  ]);
  const [submit] = await pubsub.subscription('mayfly-submit').getMetadata();
  expect(submit).toMatchObject({
    topic: `projects/${project}/topics/mayfly-run-requests`,
    ackDeadlineSeconds: 600,
    messageRetentionDuration: { seconds: String(31 * 86_400) },
    retryPolicy: { minimumBackoff: { seconds: '10' }, maximumBackoff: { seconds: '600' } },
    deadLetterPolicy: { maxDeliveryAttempts: 100 },
    pushConfig: { oidcToken: { serviceAccountEmail: expect.stringMatching(/^mayfly-push@/) } },
  });
  await pubsub.close();
});

describe.each([
  { broker: 'the local cloud', missing: false, emulated: false },
  { broker: `Google’s emulator${emulatorSuffix}`, missing: emulatorMissing, emulated: true },
])('on $broker', ({ missing, emulated }) => {
  describe.skipIf(missing)('the client', () => {
    brokerScenarios(async (stack) =>
      emulated ? openClients(stack.use(await startEmulator()).host) : openClients(localHost, REST),
    );
  });
});

function brokerScenarios(open: (stack: AsyncDisposableStack) => Promise<Clients>): void {
  const stack = new AsyncDisposableStack();
  const subscription = `projects/${project}/subscriptions/pulled`;
  let pubsub: PubSub;
  let subscriber: v1.SubscriberClient;
  beforeAll(async () => {
    ({ pubsub, subscriber } = await open(stack));
    stack.defer(async () => void (await Promise.all([pubsub.close(), subscriber.close()])));
    await pubsub.createTopic('published');
    await pubsub.topic('published').createSubscription('pulled', { ackDeadlineSeconds: 60 });
  });
  afterAll(() => stack.disposeAsync());

  async function pull() {
    const [reply] = await subscriber.pull({
      subscription,
      maxMessages: 10,
      returnImmediately: true,
    });
    return (reply.receivedMessages ?? []).map(({ ackId, message }) => ({
      ackId: ackId ?? '',
      id: message?.messageId,
      text: Buffer.from((message?.data ?? '') as Uint8Array).toString(),
      attributes: message?.attributes,
      orderingKey: message?.orderingKey,
    }));
  }

  /** A pull may come back with fewer than there are. */
  async function pullAll(count: number) {
    const all = await pull();
    while (all.length < count) all.push(...(await pull()));
    return all;
  }

  test('publishes with attributes and with an ordering key, pulls and acknowledges', async () => {
    const alone = { batching: { maxMessages: 1 } };
    const attributes = { 'ce-id': 'r/ended', status: 'SUCCEEDED' };
    const data = Buffer.from('αβ');
    const first = await pubsub.topic('published', alone).publishMessage({ data, attributes });
    const ordered = pubsub.topic('published', { ...alone, messageOrdering: true });
    const second = await ordered.publishMessage({ data: Buffer.from('2'), orderingKey: 'k' });
    const received = await pullAll(2);
    expect(received).toMatchObject([
      { id: first, text: 'αβ', attributes, orderingKey: '' },
      { id: second, text: '2', attributes: {}, orderingKey: 'k' },
    ]);
    expect(await pull()).toEqual([]);
    await subscriber.acknowledge({ subscription, ackIds: received.map(({ ackId }) => ackId) });
  });

  test('sends several messages in one call, each with its own id, in their order', async () => {
    const batched = pubsub.topic('published', {
      batching: { maxMessages: 3, maxMilliseconds: 10_000 },
    });
    const texts = ['1', '2', '3'];
    const ids = await Promise.all(
      texts.map((text) => batched.publishMessage({ data: Buffer.from(text) })),
    );
    const received = await pullAll(3);
    expect(received.map(({ id, text }) => [id, text])).toEqual(
      texts.map((text, index) => [ids[index], text]),
    );
    await subscriber.acknowledge({ subscription, ackIds: received.map(({ ackId }) => ackId) });
  });

  test('gets again what it gave back, and not what it acknowledged', async () => {
    const topic = pubsub.topic('published', { batching: { maxMessages: 1 } });
    await topic.publishMessage({ data: Buffer.from('given back') });
    const [once] = await pullAll(1);
    const ackIds = [once?.ackId ?? ''];
    await subscriber.modifyAckDeadline({ subscription, ackIds, ackDeadlineSeconds: 0 });
    const [again] = await pullAll(1);
    expect([again?.id, again?.text]).toEqual([once?.id, 'given back']);
    await subscriber.acknowledge({ subscription, ackIds: [again?.ackId ?? ''] });
    await subscriber.modifyAckDeadline({
      subscription,
      ackIds: [again?.ackId ?? ''],
      ackDeadlineSeconds: 0,
    });
    expect(await pull()).toEqual([]);
  });

  test('is told what is not there, what is there already, and what is no name', async () => {
    const nowhere = pubsub.topic('nowhere', { batching: { maxMessages: 1 } });
    const publishing = nowhere.publishMessage({ data: Buffer.from('x') });
    await expect(publishing).rejects.toMatchObject({ code: NOT_FOUND });
    await expect(pubsub.createTopic('published')).rejects.toMatchObject({ code: ALREADY_EXISTS });
    await expect(pubsub.createTopic('t')).rejects.toMatchObject({ code: INVALID_ARGUMENT });
    await expect(pubsub.subscription('none').getMetadata()).rejects.toMatchObject({
      code: NOT_FOUND,
    });
  });

  test('deletes a subscription and a topic, and then they are not there', async () => {
    await pubsub.createTopic('short-lived');
    await pubsub.topic('short-lived').createSubscription('short-lived');
    await pubsub.subscription('short-lived').delete();
    expect((await pubsub.subscription('short-lived').exists())[0]).toBe(false);
    await pubsub.topic('short-lived').delete();
    expect((await pubsub.topic('short-lived').exists())[0]).toBe(false);
  });
}
