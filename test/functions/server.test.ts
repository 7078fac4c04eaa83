import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { http, type Request } from '@google-cloud/functions-framework';
import { expect, test } from 'vitest';
import { type ServerOptions, startServer } from '#functions/server.ts';
import { quiet } from '#test/push/tokens.ts';

let registered = 0;

interface Seen {
  readonly path: string;
  readonly body: unknown;
  readonly rawBody: Buffer | undefined;
}

/** A server over a function that keeps what it was given. */
async function recording(options: Partial<ServerOptions> = {}) {
  const seen: Seen[] = [];
  registered += 1;
  const target = `recorded${registered}`;
  http(target, (request: Request, response) => {
    seen.push({ path: request.path, body: request.body, rawBody: request.rawBody });
    response.status(204).end();
  });
  const server = await startServer({
    target,
    port: 0,
    host: '127.0.0.1',
    authenticate: async () => ({ kind: 'accepted', email: 'test' }),
    log: quiet,
    ...options,
  });
  return Object.assign(server, { seen });
}

function call(
  port: number,
  headers: Record<string, string> = {},
  method = 'POST',
): { sent: ClientRequest; answer: Promise<IncomingMessage> } {
  const sent = httpRequest({ port, method, headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', (response) => resolve(response.resume()));
    sent.on('error', reject);
  });
  return { sent, answer };
}

test.each([
  { name: 'broken JSON', type: 'application/json', body: '{"message":' },
  { name: 'good JSON', type: 'application/json', body: '{"a": 1}' },
  { name: 'a form', type: 'application/x-www-form-urlencoded', body: 'a=1&a=2' },
  { name: 'text in an unknown charset', type: 'text/plain; charset=nonsense', body: 'x' },
  { name: 'a CloudEvent', type: 'application/cloudevents+json', body: '[' },
  { name: 'a type that is none', type: ';;;', body: 'x' },
])('the handler gets the raw bytes, unparsed: $name', async ({ type, body }) => {
  await using server = await recording();
  const response = await fetch(`${server.url}/dead?x=1`, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  });
  expect(response.status).toBe(204);
  expect(server.seen).toEqual([{ path: '/dead', body: undefined, rawBody: Buffer.from(body) }]);
});

test('bytes that are no text arrive as they are, and so does nothing', async () => {
  await using server = await recording();
  const body = Buffer.from([0, 255, 254, 10]);
  await fetch(server.url, { method: 'POST', body });
  await fetch(server.url, { method: 'POST' });
  expect(server.seen.map((seen) => seen.rawBody)).toEqual([body, Buffer.alloc(0)]);
});

test.each([
  { reply: { kind: 'refused', status: 401, reason: 'signature' }, status: 401 },
  { reply: { kind: 'refused', status: 403, reason: 'email' }, status: 403 },
  { reply: { kind: 'cannot-know', reason: 'keys' }, status: 503 },
] as const)('a caller who is $reply.kind ($reply.reason) gets $status', async (row) => {
  await using server = await recording({ authenticate: async () => row.reply });
  for (const method of ['POST', 'GET', 'PUT']) {
    expect((await fetch(server.url, { method })).status).toBe(row.status);
  }
  expect(server.seen).toEqual([]);
});

test('a judge that fails is a 500, and nobody is let in', async () => {
  const authenticate = async () => {
    throw new Error('broken');
  };
  await using server = await recording({ authenticate });
  expect((await fetch(server.url, { method: 'POST', body: 'x' })).status).toBe(500);
  expect(server.seen).toEqual([]);
});

test.each(['GET', 'PUT', 'DELETE', 'HEAD'])('%s is not allowed', async (method) => {
  await using server = await recording();
  const response = await fetch(server.url, { method });
  expect(response.status).toBe(405);
  expect(response.headers.get('allow')).toBe('POST');
  expect(server.seen).toEqual([]);
});

test('a compressed body is refused: its real size is not known', async () => {
  await using server = await recording();
  const headers = { 'content-encoding': 'gzip' };
  const response = await fetch(server.url, { method: 'POST', headers, body: 'x' });
  expect(response.status).toBe(415);
  expect(server.seen).toEqual([]);
});

test('a body at the limit is read, one byte more is refused by its Content-Length', async () => {
  await using server = await recording({ bodyBytesMax: 1000 });
  const post = async (size: number) =>
    (await fetch(server.url, { method: 'POST', body: Buffer.alloc(size) })).status;
  expect(await post(1000)).toBe(204);
  expect(await post(1001)).toBe(413);
  expect(server.seen).toHaveLength(1);
  const { sent, answer } = call(server.port, { 'content-length': '1001' });
  sent.flushHeaders();
  expect((await answer).statusCode).toBe(413);
  sent.destroy();
});

test('a body that says no length is refused by its real size', async () => {
  await using server = await recording({ bodyBytesMax: 1000 });
  const { sent, answer } = call(server.port, { 'transfer-encoding': 'chunked' });
  for (let chunk = 0; chunk < 3; chunk += 1) sent.write(Buffer.alloc(400));
  expect((await answer).statusCode).toBe(413);
  sent.destroy();
  expect(server.seen).toEqual([]);
});

test('a sender that reads its answer only when it has sent everything can do so', async () => {
  await using server = await recording({ bodyBytesMax: 16_000_000 });
  const socket = connect(server.port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
  // Twice as much as the kernel's buffers hold is left when the limit is reached.
  socket.write(`${(31_000_000).toString(16)}\r\n`);
  const sent = await new Promise((resolve) => {
    socket.on('error', resolve);
    socket.write(Buffer.alloc(31_000_000), () => resolve('everything'));
  });
  expect(sent).toBe('everything');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toContain('HTTP/1.1 413 ');
  socket.destroy();
});

test('who sends on and on after a refusal is cut off', async () => {
  await using server = await recording({ bodyBytesMax: 100_000 });
  const { sent, answer } = call(server.port, { 'transfer-encoding': 'chunked' });
  const cut = new Promise((resolve) => sent.on('close', resolve));
  const more = () => {
    while (!sent.destroyed && sent.write(Buffer.alloc(50_000)));
  };
  sent.on('drain', more);
  more();
  await Promise.allSettled([answer]);
  await cut;
  expect(server.seen).toEqual([]);
});

test('who waits for "100 Continue" is refused before the body, and let in only after the judgement', async () => {
  let isLetIn = false;
  const authenticate = async () =>
    isLetIn
      ? ({ kind: 'accepted', email: 'test' } as const)
      : ({ kind: 'refused', status: 401, reason: 'signature' } as const);
  await using server = await recording({ authenticate });
  const headers = { expect: '100-continue', 'content-length': '5' };
  const events: string[] = [];
  for (isLetIn of [false, true]) {
    const { sent, answer } = call(server.port, headers);
    sent.on('continue', () => {
      events.push('continue');
      sent.end('12345');
    });
    sent.flushHeaders();
    events.push(String((await answer).statusCode));
    sent.destroy();
  }
  expect(events).toEqual(['401', 'continue', '204']);
  expect(server.seen.map((seen) => seen.rawBody)).toEqual([Buffer.from('12345')]);
});

test('a sender that goes away in the middle of its body reaches no handler', async () => {
  await using server = await recording();
  const { sent, answer } = call(server.port, { 'content-length': '100' });
  const gone = new Promise((resolve) => sent.on('close', resolve));
  await new Promise((resolve) => sent.write('half', resolve));
  sent.destroy();
  await Promise.allSettled([answer, gone]);
  expect((await fetch(server.url, { method: 'POST', body: 'x' })).status).toBe(204);
  expect(server.seen.map((seen) => seen.rawBody)).toEqual([Buffer.from('x')]);
});

test('a drained server finishes the running request, takes no other, and closes', async () => {
  const running = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  http('drained', async (_request, response) => {
    running.resolve();
    await release.promise;
    response.status(204).end();
  });
  await using server = await startServer({
    target: 'drained',
    port: 0,
    host: '127.0.0.1',
    authenticate: async () => ({ kind: 'accepted', email: 'test' }),
    log: quiet,
  });
  const first = fetch(server.url, { method: 'POST' });
  await running.promise;
  const drained = server.drain();
  await expect(fetch(server.url, { method: 'POST' })).rejects.toThrow();
  release.resolve();
  const response = await first;
  expect([response.status, response.headers.get('connection')]).toEqual([204, 'close']);
  expect(await drained).toBe('finished');
});

test('a port that is taken and a function that is not registered are told', async () => {
  await using server = await recording();
  await expect(recording({ port: server.port })).rejects.toThrow('EADDRINUSE');
  await expect(recording({ target: 'nobody' })).rejects.toThrow('nobody');
});

/** Starts the process, sends it a request, then SIGTERM while that request is running. */
async function endWhileRunning(how: 'finish' | 'hang') {
  const script = new URL('./slow-server.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, how], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const url = String((await lines.next()).value);
    const answer = fetch(url, { method: 'POST' }).then(
      (response) => response.status,
      () => 'cut',
    );
    expect((await lines.next()).value).toBe('running');
    child.kill('SIGTERM');
    const [status, log, [code]] = await Promise.all([answer, lines.next(), exited]);
    return { status, log: log.value, code };
  } finally {
    child.kill('SIGKILL');
  }
}

test('SIGTERM: the running request is finished, then the process ends with 0', async () => {
  expect(await endWhileRunning('finish')).toEqual({
    status: 204,
    log: 'server-drained SIGTERM: running requests finished',
    code: 0,
  });
});

test('SIGTERM: a request that does not end in time is cut off, and the process ends with 0', async () => {
  expect(await endWhileRunning('hang')).toEqual({
    status: 'cut',
    log: 'server-drained SIGTERM: running requests cut-off',
    code: 0,
  });
});
