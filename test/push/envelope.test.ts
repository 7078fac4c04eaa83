import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase64 } from '#shared/push/base64.ts';
import { openEnvelope, type PushMessage } from '#shared/push/envelope.ts';
import { PUSH_BODY_BYTES_MAX } from '#shared/push/limits.ts';

const REQUEST = '{"image":"alpine:3.20","args":["αβ ÿ>?"]}';
const DATA = Buffer.from(REQUEST).toString('base64');
const SUBSCRIPTION = 'projects/p/subscriptions/mayfly-submit';
const JSON_HEADERS = { 'content-type': 'application/json' };

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

function open(value: unknown, headers: Record<string, string> = JSON_HEADERS): PushMessage {
  const envelope = openEnvelope(bytes(value), headers);
  if (envelope.kind !== 'message') throw new Error(JSON.stringify(envelope));
  return envelope.message;
}

const textOf = (message: PushMessage) => Buffer.from(message.data).toString('utf8');

const CAMEL = {
  message: {
    data: DATA,
    attributes: { a: '1' },
    messageId: '136969346945',
    publishTime: '2026-12-01T00:00:00.123Z',
  },
  subscription: SUBSCRIPTION,
  deliveryAttempt: 5,
};

test('a wrapped push is opened', () => {
  const message = open(CAMEL);
  expect(textOf(message)).toBe(REQUEST);
  expect({ ...message, data: null }).toEqual({
    data: null,
    messageId: '136969346945',
    attributes: { a: '1' },
    publishTimeMs: 1_796_083_200_123,
    subscription: SUBSCRIPTION,
    deliveryAttempt: 5,
  });
});

test('the names of the protocol buffer give the same message', () => {
  const { messageId, publishTime, ...rest } = CAMEL.message;
  const message = { ...rest, message_id: messageId, publish_time: publishTime };
  const snake = { message, subscription: SUBSCRIPTION, delivery_attempt: 5 };
  expect(open(snake)).toEqual(open(CAMEL));
});

test('P85: a message with attributes only is opened, with empty data', () => {
  const push =
    '{"message":{"attributes":{"objectId":"runs/gce-status/mayfly-x-1a2b3c4d5e6f-1.json","objectGeneration":"1700000000000001","eventType":"OBJECT_FINALIZE","bucketId":"b"},"messageId":"1"},"subscription":"projects/p/subscriptions/s"}';
  const message = open(JSON.parse(push));
  expect(message.data).toHaveLength(0);
  expect(message.attributes).toEqual({
    objectId: 'runs/gce-status/mayfly-x-1a2b3c4d5e6f-1.json',
    objectGeneration: '1700000000000001',
    eventType: 'OBJECT_FINALIZE',
    bucketId: 'b',
  });
});

test('P86: a message without attributes is opened, with an empty map', () => {
  const push = {
    message: {
      data: DATA,
      messageId: '2',
      message_id: '2',
      publishTime: '2026-12-01T00:00:00Z',
      orderingKey: 'k',
    },
    subscription: 'projects/p/subscriptions/s',
  };
  expect(open(push)).toMatchObject({ messageId: '2', deliveryAttempt: null });
  expect(open(push).attributes).toEqual({});
  expect(textOf(open(push))).toBe(REQUEST);
});

const EVENT = {
  specversion: '1.0',
  id: '136969346945',
  type: 'google.cloud.pubsub.topic.v1.messagePublished',
  source: '//pubsub.googleapis.com/projects/p/topics/t',
};

test('P88: without topic and attempt, or as a CloudEvent, it is the same message', () => {
  const { deliveryAttempt: _, ...data } = CAMEL;
  const plain = open(data);
  const structured = { 'content-type': 'application/cloudevents+json; charset=utf-8' };
  const binary = {
    ...JSON_HEADERS,
    'ce-specversion': '1.0',
    'ce-id': EVENT.id,
    'ce-type': EVENT.type,
    'ce-source': EVENT.source,
  };
  expect(open({ ...EVENT, data }, structured)).toEqual(plain);
  expect(open(data, binary)).toEqual(plain);
  expect(plain.deliveryAttempt).toBeNull();
});

test('the id of the CloudEvent stands in for a missing message id', () => {
  const structured = { 'content-type': 'application/cloudevents+json' };
  const data = { message: { data: DATA } };
  expect(open({ ...EVENT, data }, structured).messageId).toBe('136969346945');
});

test('without wrapper, the body is the data and headers are the rest', () => {
  const headers = {
    authorization: 'Bearer x',
    'content-type': 'application/x-www-form-urlencoded',
    'x-goog-pubsub-message-id': '7',
    'x-goog-pubsub-publish-time': '2026-12-01T00:00:00.123Z',
    'x-goog-pubsub-subscription-name': SUBSCRIPTION,
    'x-forwarded-for': '1.2.3.4',
    objectid: 'runs/results/a.json',
    own: 'v',
  };
  const envelope = openEnvelope(Buffer.from([0, 255, 10]), headers);
  expect(envelope).toEqual({
    kind: 'message',
    message: {
      messageId: '7',
      data: Buffer.from([0, 255, 10]),
      attributes: { objectId: 'runs/results/a.json', own: 'v' },
      publishTimeMs: 1_796_083_200_123,
      subscription: SUBSCRIPTION,
      deliveryAttempt: null,
    },
  });
});

test.each([
  { name: 'padded', data: Buffer.from(REQUEST).toString('base64') },
  { name: 'unpadded', data: Buffer.from(REQUEST).toString('base64').replace(/=+$/, '') },
  { name: 'in the alphabet for URLs', data: Buffer.from(REQUEST).toString('base64url') },
])('base64 is read $name', ({ data }) => {
  expect(textOf(open({ message: { data, messageId: '1' } }))).toBe(REQUEST);
});

test.each(['', null, undefined])('data of %j is empty', (data) => {
  expect(open({ message: { data, messageId: '1' } }).data).toHaveLength(0);
});

test('a byte order mark before the envelope is dropped, and one inside the data is kept', () => {
  const data = Buffer.from(`\uFEFF${REQUEST}`).toString('base64');
  const body = Buffer.from(`\uFEFF${JSON.stringify({ message: { data, messageId: '1' } })}`);
  const envelope = openEnvelope(body, JSON_HEADERS);
  if (envelope.kind !== 'message') throw new Error(envelope.kind);
  expect(Buffer.from(envelope.message.data).subarray(0, 4)).toEqual(Buffer.from('\uFEFF{'));
});

test('data of 1 MiB + 1 is opened whole: what is too large for us is the handler’s to reject', () => {
  const data = Buffer.alloc(1024 * 1024 + 1, 0xa5);
  const message = open({ message: { data: data.toString('base64'), messageId: '1' } });
  expect(Buffer.compare(message.data, data)).toBe(0);
});

test('the largest message of Pub/Sub fits into the largest body that is read', () => {
  const attributes = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`${index}`.padEnd(256, 'k'), '\u0001'.repeat(1024)]),
  );
  const data = 'A'.repeat(Math.ceil(10_000_000 / 3) * 4);
  expect(bytes({ message: { data, attributes } }).length).toBeLessThan(PUSH_BODY_BYTES_MAX);
});

test.each([
  { name: 'no body', body: '', reason: 'not JSON', messageId: null },
  {
    name: 'half a body',
    body: '{"message":{"data":',
    reason: 'not JSON',
    messageId: null,
  },
  { name: 'no JSON', body: 'hello', reason: 'not JSON', messageId: null },
  { name: 'not UTF-8', body: Buffer.from([0x7b, 0xff]), reason: 'UTF-8', messageId: null },
  { name: 'null', body: 'null', reason: 'push body', messageId: null },
  { name: 'a list', body: '[]', reason: 'push body', messageId: null },
  { name: 'no message', body: '{}', reason: 'push message', messageId: null },
  { name: 'no id', body: '{"message":{"data":"YQ=="}}', reason: 'messageId', messageId: null },
  {
    name: 'an id that would name another object',
    body: '{"message":{"messageId":"../state/x"}}',
    reason: 'messageId',
    messageId: null,
  },
  {
    name: 'data that is not base64',
    body: '{"message":{"data":"{}","messageId":"9"}}',
    reason: 'base64',
    messageId: '9',
  },
  {
    name: 'data that is a number',
    body: '{"message":{"data":1,"message_id":"9"}}',
    reason: 'data',
    messageId: '9',
  },
  {
    name: 'an attribute that is no text',
    body: '{"message":{"attributes":{"a":1},"messageId":"9"}}',
    reason: 'attributes.a',
    messageId: '9',
  },
])('unreadable, with the reason: $name', ({ body, reason, messageId }) => {
  const envelope = openEnvelope(Buffer.from(body), JSON_HEADERS);
  expect(envelope).toEqual({
    kind: 'unreadable',
    reason: expect.stringContaining(reason),
    messageId,
  });
});

test('the reason does not quote the body', () => {
  const envelope = openEnvelope(Buffer.from('{"password": hunter2}'), JSON_HEADERS);
  expect(envelope).toMatchObject({ reason: 'push body: not JSON (21 bytes)' });
});

test('a CloudEvent of another type is unreadable by its name', () => {
  const type = 'google.cloud.storage.object.v1.finalized';
  const headers = { ...JSON_HEADERS, 'ce-type': type, 'ce-id': '5' };
  const envelope = openEnvelope(bytes({ bucket: 'b' }), headers);
  expect(envelope).toMatchObject({ kind: 'unreadable', messageId: '5' });
  expect(envelope).toMatchObject({ reason: expect.stringContaining(type) });
});

test.each([
  { accepted: [SUBSCRIPTION], kind: 'message' },
  { accepted: ['mayfly-submit'], kind: 'message' },
  { accepted: ['other', 'mayfly-submit'], kind: 'message' },
  { accepted: ['submit'], kind: 'foreign' },
  { accepted: ['projects/q/subscriptions/mayfly-submit'], kind: 'foreign' },
  { accepted: [], kind: 'foreign' },
])('subscriptions $accepted: $kind', ({ accepted, kind }) => {
  expect(openEnvelope(bytes(CAMEL), JSON_HEADERS, accepted).kind).toBe(kind);
  const headers = {
    'x-goog-pubsub-message-id': '7',
    'x-goog-pubsub-subscription-name': SUBSCRIPTION,
  };
  expect(openEnvelope(Buffer.from('x'), headers, accepted).kind).toBe(kind);
});

test('a push that names no subscription is foreign where some are named', () => {
  const { subscription: _, ...push } = CAMEL;
  expect(openEnvelope(bytes(push), JSON_HEADERS, ['mayfly-submit']).kind).toBe('foreign');
});

test('of a foreign push nothing but the subscription is looked at', () => {
  const push = { message: 'no message at all', subscription: 'projects/p/subscriptions/other' };
  const envelope = openEnvelope(bytes(push), JSON_HEADERS, ['mayfly-submit']);
  expect(envelope).toEqual({ kind: 'foreign', subscription: push.subscription });
});

test('any bytes survive either alphabet, and nothing but base64 is taken for it', () => {
  const run = { seed: 20261201, numRuns: 1000 };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (data) => {
      const buffer = Buffer.from(data);
      for (const encoding of ['base64', 'base64url'] as const) {
        expect(decodeBase64(buffer.toString(encoding))).toEqual(buffer);
      }
    }),
    run,
  );
  for (const text of ['A', 'AAAAA', 'A===', 'A=A=', 'AA AA', 'AA\n', '+-AA', '§§§§', '=']) {
    expect(decodeBase64(text)).toBeNull();
  }
});

test('no body and no headers make it throw', () => {
  const header = fc.constantFrom('ce-type', 'ce-id', 'content-type', 'x-goog-pubsub-message-id');
  fc.assert(
    fc.property(fc.json(), fc.dictionary(header, fc.string()), (json, headers) => {
      expect(['message', 'unreadable']).toContain(openEnvelope(Buffer.from(json), headers).kind);
    }),
    { seed: 20261201, numRuns: 1000 },
  );
});
