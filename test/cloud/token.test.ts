import { afterEach, beforeEach, expect, test } from 'vitest';
import { applicationCredentials, createTransport, noCredentials } from '#shared/cloud/token.ts';
import { type Answer, googleError, startLoopback } from '#test/cloud/loopback.ts';

const ENVIRONMENT = { ...process.env };
beforeEach(() => {
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
});
afterEach(() => {
  process.env = { ...ENVIRONMENT };
});

function tokenAnswer(token: string): Answer {
  return {
    status: 200,
    json: { access_token: token, expires_in: 3600, token_type: 'Bearer' },
    headers: { 'metadata-flavor': 'Google' },
  };
}

test('the transport sends the account’s token, looked up once', async () => {
  await using metadata = await startLoopback(() => tokenAnswer('t1'));
  process.env.GCE_METADATA_HOST = metadata.host;
  await using api = await startLoopback(() => ({ status: 200, json: { a: 1 } }));
  const transport = createTransport(applicationCredentials('p1'));
  const call = { method: 'GET', url: `${api.url}/x?y=z`, timeoutMs: 5_000 } as const;
  expect(await transport(call)).toEqual({ status: 200, body: { a: 1 } });
  await transport({ ...call, method: 'POST', body: { b: 'ä' } });
  expect(api.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer t1', 'Bearer t1']);
  expect(api.seen[0]?.query.get('y')).toBe('z');
  expect(JSON.parse(api.seen[1]?.body ?? '')).toEqual({ b: 'ä' });
  const asked = metadata.seen.filter(({ path }) => path.endsWith('/token'));
  expect(asked).toHaveLength(1);
});

test.each([
  { name: '503', answer: googleError(503, 'backendError'), status: 503 },
  { name: '404', answer: googleError(404, 'notFound'), status: 404 },
  { name: '429', answer: googleError(429, 'rateLimitExceeded'), status: 429 },
  { name: '302', answer: { status: 302, text: '' } as Answer, status: 302 },
])('a status comes back as it is, and nothing is repeated: $name', async ({ answer, status }) => {
  await using api = await startLoopback(() => answer);
  const transport = createTransport(noCredentials('p1'));
  const reply = await transport({ method: 'DELETE', url: api.url, timeoutMs: 5_000 });
  expect(reply.status).toBe(status);
  expect(api.seen).toHaveLength(1);
});

test('a body that is no JSON is undefined', async () => {
  for (const text of ['', '<html>', '{"half":']) {
    await using api = await startLoopback(() => ({ status: 200, text }));
    const transport = createTransport(noCredentials('p1'));
    const reply = await transport({ method: 'GET', url: api.url, timeoutMs: 5_000 });
    expect(reply).toEqual({ status: 200, body: undefined });
  }
});

test('a cut connection is unavailable, a silent one a time-out', async () => {
  for (const { answer, code } of [
    { answer: 'reset', code: 'unavailable' },
    { answer: 'hang', code: 'timeout' },
  ] as const) {
    await using api = await startLoopback(() => answer);
    const transport = createTransport(noCredentials('p1'));
    const call = transport({
      method: 'GET',
      url: api.url,
      timeoutMs: answer === 'hang' ? 150 : 5_000,
    });
    await expect(call).rejects.toMatchObject({ name: 'CloudError', code, status: null });
  }
});

test.each([
  { status: 404, code: 'unauthenticated' },
  { status: 503, code: 'unavailable' },
])('a token endpoint that answers $status is no reply of the service: $code', async (row) => {
  await using metadata = await startLoopback(() => ({
    status: row.status,
    text: 'no',
    headers: { 'metadata-flavor': 'Google' },
  }));
  process.env.GCE_METADATA_HOST = metadata.host;
  process.env.DETECT_GCP_RETRIES = '0';
  await using api = await startLoopback(() => ({ status: 200, json: {} }));
  const transport = createTransport(applicationCredentials('p1'));
  const call = transport({ method: 'GET', url: api.url, timeoutMs: 20_000 });
  await expect(call).rejects.toMatchObject({ code: row.code, status: null });
  expect(api.seen).toHaveLength(0);
});
