import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPublisher, type PublisherOptions } from '#shared/cloud/pubsub.ts';
import { applicationCredentials, noCredentials } from '#shared/cloud/token.ts';
import { type Answer, type SeenRequest, startLoopback } from '#test/cloud/loopback.ts';
import { instantTiming } from '#test/cloud/timing.ts';

const ENVIRONMENT = { ...process.env };
beforeEach(() => {
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
});
afterEach(() => {
  process.env = { ...ENVIRONMENT };
});

const accepted: Answer = { status: 200, json: { messageIds: ['17'] } };

function rpcError(code: number, status: string): Answer {
  return { status: code, json: { error: { code, message: 'planted', status } } };
}

async function open(
  answer: (request: SeenRequest, index: number) => Answer,
  options: Partial<PublisherOptions> = {},
) {
  const server = await startLoopback(answer);
  const timing = instantTiming();
  const publisher = createPublisher({
    project: 'p1',
    endpoint: server.url,
    credentials: noCredentials('p1'),
    ...timing,
    ...options,
  });
  return {
    publisher,
    server,
    waits: timing.waits,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('a message is one POST, sent at once', async () => {
  await using opened = await open(() => accepted);
  expect(await opened.publisher.publish('mayfly-run-requests', '{"look":"é"}', { a: 'b' })).toBe(
    '17',
  );
  const [request] = opened.server.seen;
  expect(opened.server.seen).toHaveLength(1);
  expect(request?.method).toBe('POST');
  expect(request?.path).toBe('/v1/projects/p1/topics/mayfly-run-requests:publish');
  expect(JSON.parse(request?.body ?? '')).toEqual({
    messages: [{ data: Buffer.from('{"look":"é"}').toString('base64'), attributes: { a: 'b' } }],
  });
  expect(request?.headers.authorization).toBeUndefined();
});

test('a topic may be given in full', async () => {
  await using opened = await open(() => accepted);
  await opened.publisher.publish('projects/p2/topics/t2', new Uint8Array([0, 255]));
  expect(opened.server.seen[0]?.path).toBe('/v1/projects/p2/topics/t2:publish');
  expect(JSON.parse(opened.server.seen[0]?.body ?? '').messages[0].data).toBe('AP8=');
});

test.each([
  { name: '503', answer: rpcError(503, 'UNAVAILABLE'), code: 'unavailable', tries: 4 },
  {
    name: '503 without JSON',
    answer: { status: 503, text: '<h1>' } as Answer,
    code: 'unavailable',
    tries: 4,
  },
  { name: '429', answer: rpcError(429, 'RESOURCE_EXHAUSTED'), code: 'rate-limited', tries: 4 },
  { name: 'a reset', answer: 'reset' as Answer, code: 'unavailable', tries: 4 },
  { name: 'a hang', answer: 'hang' as Answer, code: 'timeout', tries: 4 },
  { name: '404', answer: rpcError(404, 'NOT_FOUND'), code: 'not-found', tries: 1 },
  { name: '403', answer: rpcError(403, 'PERMISSION_DENIED'), code: 'forbidden', tries: 1 },
  { name: '401', answer: rpcError(401, 'UNAUTHENTICATED'), code: 'unauthenticated', tries: 1 },
  { name: '400', answer: rpcError(400, 'INVALID_ARGUMENT'), code: 'invalid', tries: 1 },
  { name: 'no id', answer: { status: 200, json: {} } as Answer, code: 'unreadable', tries: 1 },
])('a publish answered by $name is $code after $tries tries', async ({ answer, code, tries }) => {
  await using opened = await open(() => answer, { timeoutMs: answer === 'hang' ? 200 : 5_000 });
  await expect(opened.publisher.publish('t-1', 'x')).rejects.toMatchObject({
    name: 'CloudError',
    code,
    method: 'pubsub.projects.topics.publish',
  });
  expect(opened.server.seen).toHaveLength(tries);
});

test('a publish that is accepted at the third try is accepted', async () => {
  await using opened = await open((_, index) =>
    index < 2 ? rpcError(503, 'UNAVAILABLE') : accepted,
  );
  expect(await opened.publisher.publish('t-1', 'x')).toBe('17');
  expect(opened.waits).toEqual([250, 500]);
});

test('the account’s token is sent to an endpoint of our own', async () => {
  await using metadata = await startLoopback(() => ({
    status: 200,
    json: { access_token: 'local-token', expires_in: 3600, token_type: 'Bearer' },
    headers: { 'metadata-flavor': 'Google' },
  }));
  process.env.GCE_METADATA_HOST = metadata.host;
  await using opened = await open(() => accepted, { credentials: applicationCredentials('p1') });
  await opened.publisher.publish('t-1', 'x');
  expect(opened.server.seen[0]?.headers.authorization).toBe('Bearer local-token');
});

test('a metadata server without an account is no missing topic', async () => {
  await using metadata = await startLoopback(() => ({
    status: 404,
    text: 'no account',
    headers: { 'metadata-flavor': 'Google' },
  }));
  process.env.GCE_METADATA_HOST = metadata.host;
  await using opened = await open(() => accepted, { credentials: applicationCredentials('p1') });
  await expect(opened.publisher.publish('t-1', 'x')).rejects.toMatchObject({
    code: 'unauthenticated',
  });
  expect(opened.server.seen).toHaveLength(0);
});

test.each([
  { name: 'host and port', prefix: '' },
  { name: 'http:// in front', prefix: 'http://' },
])(
  'P119: an emulator given as $name is used without a look-up of credentials',
  async ({ prefix }) => {
    await using metadata = await startLoopback(() => ({ status: 500 }));
    process.env.GCE_METADATA_HOST = metadata.host;
    await using server = await startLoopback(() => accepted);
    const publisher = createPublisher({
      project: 'p1',
      endpoint: `${prefix}${server.host}`,
      credentials: noCredentials('p1'),
    });
    expect(await publisher.publish('t-1', 'x')).toBe('17');
    expect(server.seen[0]?.headers.authorization).toBeUndefined();
    expect(metadata.seen).toHaveLength(0);
  },
);
