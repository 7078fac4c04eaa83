import { once } from 'node:events';
import { type ClientRequest, get } from 'node:http';
import { expect, test } from 'vitest';
import { trackCall } from '#shared/cloud/storage-requests.ts';
import { startLoopback } from '#test/cloud/loopback.ts';

/** Not `once`, which would throw for the error that comes before. */
function closed(request: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    request.once('close', () => resolve());
  });
}

/** A request as the storage library makes it: after the interceptor has set its headers. */
function send(url: string, tracked: ReturnType<typeof trackCall>): ClientRequest {
  const { headers } = tracked.interceptor.request({ uri: url, headers: { accept: '*/*' } });
  const request = get(url, { headers: headers as Record<string, string> });
  request.on('error', () => {});
  return request;
}

test('a request that begins after its deadline is ended at once', async () => {
  await using server = await startLoopback(() => 'hang');
  const deadline = new AbortController();
  using tracked = trackCall(deadline.signal, {});
  deadline.abort();
  const request = send(server.url, tracked);
  await closed(request);
  expect(request.destroyed).toBe(true);
});

test('a deadline ends its own request alone', async () => {
  await using server = await startLoopback(({ path }) =>
    path === '/ours' ? 'hang' : { status: 200, text: 'ok' },
  );
  const deadline = new AbortController();
  using tracked = trackCall(deadline.signal, {});
  using other = trackCall(new AbortController().signal, {});
  const ours = send(`${server.url}/ours`, tracked);
  const theirs = send(`${server.url}/theirs`, other);
  deadline.abort();
  await closed(ours);
  const [response] = await once(theirs, 'response');
  response.resume();
  expect(response.statusCode).toBe(200);
});
