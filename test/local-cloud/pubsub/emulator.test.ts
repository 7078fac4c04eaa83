// Another broker in place of the local cloud's own. Here a second local cloud stands for it: the paths are
// Google's in both.
import { expect, test } from 'vitest';
import { findEmulator, layOutOnEmulator } from '#scripts/local-cloud/deployment/emulator.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { eventually } from '#test/e2e/scene.ts';
import { emulatorMissing, emulatorSuffix, startEmulator } from '#test/pubsub-emulator.ts';
import { layOut } from '#test/scripts/mayfly/laid-out.ts';

const PROJECT = 'local-project';
const TOPIC = { project: PROJECT, topic: 'told' };

function notify(cloud: LocalCloud, object: string) {
  cloud.call('pubsub.topics.create', TOPIC, {});
  const topic = `//pubsub.googleapis.com/projects/${PROJECT}/topics/told`;
  const bucket = { bucket: 'local-bucket' };
  expect(cloud.call('storage.notifications.insert', bucket, { topic }).status).toBe(200);
  const insert = { ...bucket, name: object };
  expect(cloud.call('storage.objects.insert', insert, { bytes: Buffer.from('x') }).status).toBe(
    200,
  );
}

test('what a bucket tells is published there, and the own broker delivers nothing', async () => {
  await using broker = await startLocalCloud();
  await using cloud = await startLocalCloud({ world: { pubsub: { emulator: broker.baseUrl } } });
  const subscription = { project: PROJECT, subscription: 'sub' };
  const full = { topic: `projects/${PROJECT}/topics/told` };
  for (const { call } of [broker, cloud]) {
    call('pubsub.topics.create', TOPIC, {});
    expect(call('pubsub.subscriptions.create', subscription, full).status).toBe(200);
  }
  notify(cloud, 'α/β');
  const pull = ({ call }: LocalCloud) => call('pubsub.subscriptions.pull', subscription, {}).body;
  const received = await eventually(() => {
    const { receivedMessages } = pull(broker) as { receivedMessages: { message: object }[] };
    expect(receivedMessages).toHaveLength(1);
    return receivedMessages;
  });
  expect(received[0]?.message).toMatchObject({
    attributes: { eventType: 'OBJECT_FINALIZE', objectId: 'α/β' },
  });
  expect(pull(cloud)).toEqual({});
});

test('a message that the emulator does not take is a failure that is said', async () => {
  await using broker = await startLocalCloud();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const world = { pubsub: { emulator: broker.baseUrl } };
  await using cloud = await startLocalCloud({ world, failed: resolve });
  notify(cloud, 'a');
  expect(String(await promise)).toMatch(/message for .*topics\/told is lost: .* answered 404/);
});

test('who publishes at the local cloud is told where the broker is', async () => {
  await using cloud = await startLocalCloud({ world: { pubsub: { emulator: 'http://b:1' } } });
  cloud.call('pubsub.topics.create', TOPIC, {});
  const reply = cloud.call('pubsub.topics.publish', TOPIC, { messages: [{ data: 'eA==' }] });
  expect(reply.status).toBe(400);
  expect(JSON.stringify(reply.body)).toContain('publish at http://b:1');
});

test('an address where no emulator answers is refused before anything starts', async () => {
  await using cloud = await startLocalCloud();
  for (const host of [`127.0.0.1:${cloud.port}`, '127.0.0.1:9']) {
    await expect(findEmulator({ PUBSUB_EMULATOR_HOST: host })).rejects.toThrow(
      `PUBSUB_EMULATOR_HOST is ${host}, and no Pub/Sub emulator answers there`,
    );
  }
  expect(await findEmulator({})).toBeNull();
});

test.skipIf(emulatorMissing)(
  `a deployment is laid out on Google’s emulator over an older one, and goes with its end${emulatorSuffix}`,
  async () => {
    await using emulator = await startEmulator();
    await using laidOut = await layOut(Date.now);
    const { cloud, deployment } = laidOut;
    const url = `http://${emulator.host}`;
    const listed = async () => {
      const reply = await fetch(`${url}/v1/projects/${PROJECT}/subscriptions`);
      const { subscriptions = [] } = (await reply.json()) as { subscriptions?: object[] };
      return subscriptions;
    };
    await using _older = await layOutOnEmulator(url, cloud, deployment);
    const before = await listed();
    expect(before).toHaveLength(5);
    const newer = await layOutOnEmulator(url, cloud, deployment);
    const after = await listed();
    expect(after).toHaveLength(5);
    expect(after).not.toEqual(before);
    await newer[Symbol.asyncDispose]();
    expect(await listed()).toEqual([]);
  },
);
