// What a caller can try against the door, over real HTTP: with each of these nothing of the body is
// interpreted and nothing reaches a handler.
import { request } from 'node:http';
import { exportSPKI, importJWK, SignJWT } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import {
  bearer,
  claims,
  makeKey,
  NOW_SECONDS,
  type SigningKey,
  stripped,
  unsigned,
} from '#test/push/tokens.ts';
import { startPushServer } from '#test/security/push-server.ts';

let key: SigningKey;
let foreign: SigningKey;

beforeAll(async () => {
  [key, foreign] = await Promise.all([makeKey('k1'), makeKey('k1')]);
});

const BROKEN_BODY = '{"message":';

type Headers = Record<string, string>;
const callers: { name: string; headers: () => Promise<Headers>; status: number }[] = [
  { name: 'no token', headers: async () => ({}), status: 401 },
  { name: 'a wrong token', headers: async () => bearer('a.b.c'), status: 401 },
  {
    name: 'an expired token',
    headers: async () =>
      bearer(await key.sign(claims({ iat: NOW_SECONDS - 3700, exp: NOW_SECONDS - 100 }))),
    status: 401,
  },
  {
    name: 'a token for somebody else',
    headers: async () => bearer(await key.sign(claims({ aud: 'https://other.example/' }))),
    status: 401,
  },
  {
    name: 'a token of another account',
    headers: async () => bearer(await key.sign(claims({ email: 'x@p.iam.gserviceaccount.com' }))),
    status: 403,
  },
  {
    name: 'a token signed by another key of that id',
    headers: async () => bearer(await foreign.sign()),
    status: 401,
  },
];

test.each(callers)('C112: with $name the body is not interpreted', async ({ headers, status }) => {
  await using server = await startPushServer([key]);
  expect(await server.post(await headers(), BROKEN_BODY)).toBe(status);
  expect(await server.post(await headers())).toBe(status);
  expect(server.messages).toEqual([]);
  expect(server.unreadable).toEqual([]);
});

test('C112: the refusal comes before the body was sent', async () => {
  await using server = await startPushServer([key]);
  const status = await new Promise((resolve, reject) => {
    const headers = { 'content-length': '10000000', 'content-type': 'application/json' };
    const call = request({ port: server.port, method: 'POST', headers }, (response) => {
      resolve(response.statusCode);
      call.destroy();
    });
    call.on('error', reject);
    call.write('{');
  });
  expect(status).toBe(401);
});

test('a right token is let in, and then the broken body is the handler’s', async () => {
  await using server = await startPushServer([key]);
  expect(await server.post(bearer(await key.sign()))).toBe(204);
  expect(await server.post(bearer(await key.sign()), BROKEN_BODY)).toBe(204);
  expect(server.messages).toHaveLength(1);
  expect(server.unreadable.map((push) => Buffer.from(push.body).toString())).toEqual([BROKEN_BODY]);
});

async function confused(algorithm: string, secret: Uint8Array): Promise<string> {
  return new SignJWT(claims()).setProtectedHeader({ alg: algorithm, kid: 'k1' }).sign(secret);
}

const forged: { name: string; token: () => Promise<string> }[] = [
  { name: 'another key', token: () => foreign.sign() },
  { name: 'alg none', token: async () => unsigned({ alg: 'none' }, claims()) },
  {
    name: 'alg None with a key id',
    token: async () => unsigned({ alg: 'None', kid: 'k1' }, claims()),
  },
  {
    name: 'alg none with the signature of a good token',
    token: async () =>
      unsigned({ alg: 'none', kid: 'k1' }, claims(), (await key.sign()).split('.')[2]),
  },
  {
    name: 'RS256 without a signature',
    token: async () => unsigned({ alg: 'RS256', kid: 'k1' }, claims()),
  },
  {
    name: 'HS256 with our public key in PEM as the secret',
    token: async () => {
      const publicKey = await importJWK(key.publicJwk, 'RS256', { extractable: true });
      if (publicKey instanceof Uint8Array) throw new Error('not a public key');
      return confused('HS256', Buffer.from(await exportSPKI(publicKey)));
    },
  },
  {
    name: 'HS256 with our public key as JWK text as the secret',
    token: () => confused('HS256', Buffer.from(JSON.stringify(key.publicJwk))),
  },
  {
    name: 'a key of its own in the header',
    token: async () => {
      const header = { alg: 'RS256', jwk: foreign.publicJwk, kid: 'k1' };
      const signature = (await foreign.sign()).split('.')[2];
      return unsigned(header, claims(), signature);
    },
  },
  {
    name: 'other claims under a good signature',
    token: async () => {
      const [header, , signature] = (await key.sign(claims({ email: 'x@y.example' }))).split('.');
      const payload = Buffer.from(JSON.stringify(claims())).toString('base64url');
      return `${header}.${payload}.${signature}`;
    },
  },
];

test.each(forged)('C113: refused before any claim is believed: $name', async ({ token }) => {
  await using server = await startPushServer([key]);
  expect(await server.post(bearer(await token()))).toBe(401);
  expect(server.messages).toEqual([]);
});

test('C117: a token of another issuer is refused', async () => {
  await using server = await startPushServer([key]);
  const token = await key.sign(claims({ iss: 'https://securetoken.google.com/p' }));
  expect(await server.post(bearer(token))).toBe(401);
});

test('C109: the audience that is set is the only one accepted', async () => {
  await using other = await startPushServer([key], { audience: 'https://other.example/push' });
  expect(await other.post(bearer(await key.sign()))).toBe(401);
  const token = await key.sign(claims({ aud: 'https://other.example/push' }));
  expect(await other.post(bearer(token))).toBe(204);
});

test('C118: a token for another audience is refused', async () => {
  await using server = await startPushServer([key]);
  const token = await key.sign(claims({ aud: 'https://other.example/push' }));
  expect(await server.post(bearer(token))).toBe(401);
});

test('C110: a token of another account is refused', async () => {
  await using server = await startPushServer([key]);
  const token = await key.sign(claims({ email: 'other@p.iam.gserviceaccount.com' }));
  expect(await server.post(bearer(token))).toBe(403);
});

test('C119: a token whose e-mail address is not verified is refused', async () => {
  await using server = await startPushServer([key]);
  expect(await server.post(bearer(await key.sign(claims({ email_verified: false }))))).toBe(403);
});

test.each([
  { name: 'another audience', change: { aud: 'https://other.example/push' } },
  { name: 'another account', change: { email: 'other@p.iam.gserviceaccount.com' } },
  { name: 'address not verified', change: { email_verified: false } },
  { name: 'nothing said of verification', change: { email_verified: undefined } },
])('P100: well signed, but $name: refused, and nothing is handled', async ({ change }) => {
  await using server = await startPushServer([key]);
  expect([401, 403]).toContain(await server.post(bearer(await key.sign(claims(change)))));
  expect(server.messages).toEqual([]);
});

test('P98: a token without signature is refused where we verify, judged where the platform does', async () => {
  await using verifying = await startPushServer([key], { mode: 'verify' });
  const token = stripped(await key.sign());
  expect(await verifying.post(bearer(token), BROKEN_BODY)).toBe(401);
  expect(verifying.unreadable).toEqual([]);
  expect(verifying.endpoint.fetches).toBe(0);

  await using platform = await startPushServer([key], { mode: 'platform' });
  expect(await platform.post(bearer(token))).toBe(204);
  expect(platform.messages).toHaveLength(1);
  for (const change of [
    { iss: 'https://issuer.example' },
    { aud: 'https://other.example/' },
    { email: 'other@p.iam.gserviceaccount.com' },
    { email_verified: false },
    { iat: NOW_SECONDS - 3661, exp: NOW_SECONDS - 61 },
  ]) {
    const wrong = stripped(await key.sign(claims(change)));
    expect([401, 403]).toContain(await platform.post(bearer(wrong)));
  }
  expect(platform.messages).toHaveLength(1);
  expect(platform.endpoint.fetches).toBe(0);
});

const times = [
  { name: 'issued 1 s ahead', change: { iat: NOW_SECONDS + 1 }, status: 204 },
  { name: 'issued 59 s ahead', change: { iat: NOW_SECONDS + 59 }, status: 204 },
  { name: 'issued 61 s ahead', change: { iat: NOW_SECONDS + 61 }, status: 401 },
  {
    name: 'expired for 59 s',
    change: { iat: NOW_SECONDS - 3600, exp: NOW_SECONDS - 59 },
    status: 204,
  },
  {
    name: 'expired for 61 s',
    change: { iat: NOW_SECONDS - 3600, exp: NOW_SECONDS - 61 },
    status: 401,
  },
  { name: 'without an end', change: { exp: undefined }, status: 401 },
  { name: 'for ten years', change: { exp: NOW_SECONDS + 315_360_000 }, status: 401 },
];

test.each(times)('P101: a token $name gets $status', async ({ change, status }) => {
  await using server = await startPushServer([key]);
  expect(await server.post(bearer(await key.sign(claims(change))))).toBe(status);
});

test('C120: a token counts until 60 s after its end', async () => {
  await using server = await startPushServer([key]);
  const token = bearer(await key.sign(claims({ iat: NOW_SECONDS - 3600, exp: NOW_SECONDS })));
  server.clock.ms += 59_000;
  expect(await server.post(token)).toBe(204);
  server.clock.ms += 2000;
  expect(await server.post(token)).toBe(401);
});

test('C121: of a push of another subscription nothing else is looked at', async () => {
  await using server = await startPushServer([key], { subscriptions: ['mayfly-finalize'] });
  const body = '{"subscription":"projects/p/subscriptions/other","message":"none"}';
  expect(await server.post(bearer(await key.sign()), body)).toBe(403);
  expect(server.unreadable).toEqual([]);
});

test('C111: a push of another subscription than those that are set is refused', async () => {
  await using server = await startPushServer([key], { subscriptions: ['mayfly-finalize'] });
  expect(await server.post(bearer(await key.sign()))).toBe(403);
  expect(server.messages).toEqual([]);
  await using ours = await startPushServer([key], { subscriptions: ['mayfly-submit'] });
  expect(await ours.post(bearer(await key.sign()))).toBe(204);
});

test('C122: no refusal is one of the answers that Pub/Sub takes for an acknowledgement', async () => {
  await using server = await startPushServer([key], { subscriptions: ['mayfly-finalize'] });
  const refused = [await server.post(bearer(await key.sign()))];
  for (const caller of callers) refused.push(await server.post(await caller.headers()));
  const acknowledged = [102, 200, 201, 202, 204];
  expect(refused.filter((status) => acknowledged.includes(status))).toEqual([]);
  expect(new Set(refused)).toEqual(new Set([401, 403]));
});
