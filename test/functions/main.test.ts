import { http } from '@google-cloud/functions-framework';
import { expect, test } from 'vitest';
import { type PushFunction, servePush, serveSweep, type UnreadablePush } from '#functions/main.ts';
import { startServer } from '#functions/server.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import type { Outcome } from '#shared/push/outcome.ts';
import { quiet } from '#test/push/tokens.ts';

let registered = 0;

async function serving(handler: ReturnType<typeof servePush>) {
  registered += 1;
  const target = `served${registered}`;
  http(target, handler);
  return await startServer({
    target,
    port: 0,
    host: '127.0.0.1',
    authenticate: async () => ({ kind: 'accepted', email: 'test' }),
    log: quiet,
  });
}

const DONE: Outcome = { kind: 'done' };
const PUSH = JSON.stringify({
  message: { data: 'e30=', messageId: '1' },
  subscription: 'projects/p/subscriptions/mayfly-submit',
});

function pushFunction(
  handle: (message: PushMessage) => Promise<Outcome>,
  more: Partial<PushFunction> = {},
): () => Promise<PushFunction> {
  const onUnreadable = async () => DONE;
  return async () => ({
    subscriptions: null,
    routes: new Map([['/', handle]]),
    onUnreadable,
    ...more,
  });
}

async function post(url: string, body = PUSH) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text() };
}

test('A118: a push that was handled is answered 204 without a body, whatever goes on elsewhere', async () => {
  await using server = await serving(
    servePush(
      pushFunction(async () => DONE),
      quiet,
    ),
  );
  expect(await post(server.url)).toEqual({ status: 204, text: '' });
});

test('what may pass is a 503 that says why', async () => {
  const retry: Outcome = { kind: 'retry', reason: 'the record is being written' };
  await using server = await serving(
    servePush(
      pushFunction(async () => retry),
      quiet,
    ),
  );
  expect(await post(server.url)).toEqual({
    status: 503,
    text: 'retry: the record is being written\n',
  });
});

const cloudError = new CloudError({
  code: 'forbidden',
  method: 'storage.objects.insert',
  status: 403,
  reason: 'forbidden',
  message: 'account secret-account may not',
});

test.each([
  { name: 'a handler that fails', load: pushFunction(() => Promise.reject(cloudError)) },
  {
    name: 'a handler that throws',
    load: pushFunction(() => {
      throw cloudError;
    }),
  },
  { name: 'settings that are wrong', load: () => Promise.reject(cloudError) },
])('$name is a 500, with the reason in the log alone', async ({ load }) => {
  const logged: string[] = [];
  const log = (severity: string, event: string, message: string) =>
    void logged.push(`${severity} ${event} ${message}`);
  await using server = await serving(servePush(load, log));
  expect(await post(server.url)).toEqual({
    status: 500,
    text: 'failed: the reason is in the log\n',
  });
  expect(logged).toEqual(['ERROR request-failed CloudError: account secret-account may not']);
});

test('each path has its handler, and no other path has one', async () => {
  const handled: string[] = [];
  const at = (name: string) => async () => {
    handled.push(name);
    return DONE;
  };
  const routes = new Map([
    ['/', at('requests')],
    ['/dead', at('dead')],
  ]);
  await using server = await serving(servePush(pushFunction(at('none'), { routes }), quiet));
  const paths = ['/', '/?__GCP_CloudEventsMode=CUSTOM_PUBSUB', '/dead', '/dead/x', '/toString'];
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await post(`${server.url}${path}`)).status);
  expect(statuses).toEqual([204, 204, 204, 404, 404]);
  expect(handled).toEqual(['requests', 'requests', 'dead']);
});

test('P85: a push with attributes only is handled, never a 500', async () => {
  const seen: PushMessage[] = [];
  const handle = async (message: PushMessage) => {
    seen.push(message);
    return DONE;
  };
  await using server = await serving(servePush(pushFunction(handle), quiet));
  const push = { message: { attributes: { objectId: 'runs/gce-status/a.json' }, messageId: '1' } };
  expect((await post(server.url, JSON.stringify(push))).status).toBe(204);
  expect(seen).toMatchObject([{ attributes: { objectId: 'runs/gce-status/a.json' } }]);
});

test('a body that cannot be opened is given to its handler once, then acknowledged', async () => {
  const seen: UnreadablePush[] = [];
  const onUnreadable = async (push: UnreadablePush) => {
    seen.push(push);
    return DONE;
  };
  const never = () => Promise.reject(new Error('no message was read'));
  await using server = await serving(servePush(pushFunction(never, { onUnreadable }), quiet));
  const bodies = ['{"message":', '{"message":', '{"message":{"data":"{}","messageId":"9"}}'];
  for (const body of bodies) expect((await post(server.url, body)).status).toBe(204);
  expect(seen.map((push) => Buffer.from(push.body).toString())).toEqual(bodies);
  // printf '{"message":' | sha256sum
  const fromBytes = 'unreadable-846579511e89879bfe42de3cdf04f763';
  expect(seen.map((push) => push.messageId)).toEqual([fromBytes, fromBytes, '9']);
});

test('a push of a subscription that is not named in the settings is refused with 403', async () => {
  const load = pushFunction(async () => DONE, { subscriptions: ['mayfly-finalize'] });
  await using server = await serving(servePush(load, quiet));
  expect(await post(server.url)).toEqual({ status: 403, text: 'refused: subscription\n' });
});

test('a sweep answers with its report, dry or not', async () => {
  const sweep = async (request: { dryRun: boolean }) => ({ asked: request });
  await using server = await serving(serveSweep(sweep, quiet));
  const report = (dryRun: boolean) => ({
    status: 200,
    text: JSON.stringify({ asked: { dryRun } }),
  });
  expect(await post(server.url, '')).toEqual(report(false));
  expect(await post(server.url, '{}')).toEqual(report(false));
  expect(await post(server.url, '{"dryRun":true}')).toEqual(report(true));
});

test.each(['{', '[]', '{"dryRun":"yes"}', '{"dryrun":true}'])(
  'a sweep asked with %j does nothing',
  async (body) => {
    const sweep = () => Promise.reject(new Error('swept'));
    await using server = await serving(serveSweep(sweep, quiet));
    expect((await post(server.url, body)).status).toBe(400);
  },
);

test('a sweep that fails is a 500', async () => {
  await using server = await serving(serveSweep(() => Promise.reject(cloudError), quiet));
  expect((await post(server.url, '')).status).toBe(500);
});

test("what is said about a delivery has the trace of its message, in the deployment's project", async () => {
  const lines: unknown[] = [];
  const log = (_severity: string, event: string, _message: string, fields?: object) =>
    void lines.push({ event, ...fields });
  const retry: Outcome = { kind: 'retry', reason: 'later' };
  const load = pushFunction(async () => retry, { project: 'p' });
  await using server = await serving(servePush(load, log));
  const push = JSON.parse(PUSH);
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const message = { ...push.message, attributes: { traceparent } };
  await post(server.url, JSON.stringify({ ...push, message }));
  await post(server.url);
  expect(lines).toEqual([
    {
      event: 'push-retry',
      messageId: push.message.messageId,
      trace: {
        trace: 'projects/p/traces/4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: '00f067aa0ba902b7',
        sampled: true,
      },
    },
    { event: 'push-retry', messageId: push.message.messageId },
  ]);
});

test.each([
  { data: '{"runId":"r1","image":"a"}', attributes: {}, says: { runId: 'r1' } },
  {
    data: '[1]',
    attributes: { objectId: 'runs/results/r1.json' },
    says: { object: 'runs/results/r1.json' },
  },
  { data: 'null', attributes: {}, says: {} },
  { data: '{', attributes: {}, says: {} },
])('a delivery that fails says which it was: $data', async ({ data, attributes, says }) => {
  const lines: unknown[] = [];
  const log = (_severity: string, event: string, _message: string, fields: object = {}) => {
    const { error: _error, ...names } = fields as { error?: Error };
    lines.push({ event, ...names });
  };
  await using server = await serving(
    servePush(
      pushFunction(() => Promise.reject(cloudError)),
      log,
    ),
  );
  const push = JSON.parse(PUSH);
  const message = { ...push.message, attributes, data: Buffer.from(data).toString('base64') };
  await post(server.url, JSON.stringify({ ...push, message }));
  expect(lines).toEqual([{ event: 'request-failed', messageId: push.message.messageId, ...says }]);
});
