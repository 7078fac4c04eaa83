import { importJWK } from 'jose';
import { beforeAll, expect, test } from 'vitest';
import type { PushSettings } from '#shared/cloud/config.ts';
import { authenticate, type PushHeaders } from '#shared/push/authenticate.ts';
import type { KeyCache, KeyReply } from '#shared/push/keys.ts';
import {
  bearer,
  claims,
  makeKey,
  NOW_SECONDS,
  PUSHER,
  type SigningKey,
  settings,
  standingClock,
  stripped,
  unsigned,
} from '#test/push/tokens.ts';

let key: SigningKey;
let found: KeyReply;

beforeAll(async () => {
  key = await makeKey('k1');
  const imported = await importJWK(key.publicJwk, 'RS256');
  if (imported instanceof Uint8Array) throw new Error('not a public key');
  found = { kind: 'found', key: imported };
});

function judge(headers: PushHeaders, changes: Partial<PushSettings> = {}, keys?: KeyCache) {
  const deps = { clock: standingClock(), keys: keys ?? { find: async () => found } };
  return authenticate(headers, settings(changes), deps);
}

const accepted = { kind: 'accepted', email: PUSHER };

test('a signed token of the pinned account for our audience is accepted', async () => {
  expect(await judge(bearer(await key.sign()))).toEqual(accepted);
});

test.each([
  { name: 'issuer without scheme', change: { iss: 'accounts.google.com' } },
  { name: 'no azp', change: { azp: undefined } },
  { name: 'not valid before now', change: { nbf: NOW_SECONDS + 59 } },
  { name: 'a lifetime of 65 minutes', change: { exp: NOW_SECONDS + 3900 } },
])('accepted: $name', async ({ change }) => {
  const token = await key.sign(claims(change));
  expect(await judge(bearer(token))).toEqual(accepted);
  expect(await judge(bearer(stripped(token)), { mode: 'platform' })).toEqual(accepted);
});

const wrongClaims = [
  { name: 'issuer of somebody else', change: { iss: 'https://issuer.example' }, status: 401 },
  { name: 'issuer with a slash', change: { iss: 'https://accounts.google.com/' }, status: 401 },
  { name: 'no issuer', change: { iss: undefined }, status: 401 },
  { name: 'another audience', change: { aud: 'https://other.example/push' }, status: 401 },
  { name: 'our audience in a list', change: { aud: ['https://submit.example/'] }, status: 401 },
  {
    name: 'our audience without its slash',
    change: { aud: 'https://submit.example' },
    status: 401,
  },
  { name: 'no audience', change: { aud: undefined }, status: 401 },
  { name: 'no subject', change: { sub: undefined }, status: 401 },
  { name: 'no expiry', change: { exp: undefined }, status: 401 },
  { name: 'expiry as text', change: { exp: String(NOW_SECONDS + 3600) }, status: 401 },
  { name: 'no time of issue', change: { iat: undefined }, status: 401 },
  {
    name: 'expired an hour ago',
    change: { iat: NOW_SECONDS - 7200, exp: NOW_SECONDS - 3600 },
    status: 401,
  },
  { name: 'valid only later', change: { nbf: NOW_SECONDS + 61 }, status: 401 },
  { name: 'a lifetime of 65 minutes and 1 s', change: { exp: NOW_SECONDS + 3901 }, status: 401 },
  { name: 'expiry before issue', change: { exp: NOW_SECONDS - 10 }, status: 401 },
  { name: 'another account', change: { email: 'other@p.iam.gserviceaccount.com' }, status: 403 },
  { name: 'the account in capitals', change: { email: PUSHER.toUpperCase() }, status: 403 },
  { name: 'e-mail not verified', change: { email_verified: false }, status: 403 },
  { name: 'e-mail verified as text', change: { email_verified: 'true' }, status: 401 },
  { name: 'no e-mail', change: { email: undefined }, status: 401 },
  { name: 'nothing said of verification', change: { email_verified: undefined }, status: 401 },
];

test.each(wrongClaims)('refused with $status: $name', async ({ change, status }) => {
  const token = await key.sign(claims(change));
  expect(await judge(bearer(token))).toMatchObject({ kind: 'refused', status });
  const platform = await judge(bearer(stripped(token)), { mode: 'platform' });
  expect(platform).toMatchObject({ kind: 'refused', status });
});

test.each([
  { name: 'no header', headers: {} },
  { name: 'another scheme', headers: { authorization: 'Basic YTpi' } },
  { name: 'no token', headers: { authorization: 'Bearer ' } },
  { name: 'two tokens', headers: { authorization: 'Bearer a.b.c d.e.f' } },
  { name: 'no JWT', headers: bearer('rubbish') },
  { name: 'four parts', headers: bearer('a.b.c.d') },
  { name: 'parts that are no JSON', headers: bearer('YQ.YQ.YQ') },
  { name: 'megabytes', headers: bearer(`a.${'b'.repeat(1_000_000)}.c`) },
])('refused with 401 in every mode: $name', async ({ headers }) => {
  for (const mode of ['verify', 'platform', 'internal-token'] as const) {
    const reply = await judge(headers, { mode, internalToken: 'secret' });
    expect(reply).toMatchObject({ kind: 'refused', status: 401 });
  }
});

test('the scheme is read in any case (RFC 9110 §11.1)', async () => {
  const headers = { authorization: `bearer ${await key.sign()}` };
  expect(await judge(headers)).toEqual(accepted);
});

test('the refusal of a token of nobody says nothing of our keys, and asks for none', async () => {
  let asked = 0;
  const keys: KeyCache = {
    async find() {
      asked += 1;
      return found;
    },
  };
  const payload = (await key.sign()).split('.')[1];
  for (const header of [
    { alg: 'HS256', kid: 'k1' },
    { alg: 'none', kid: 'k1' },
    { alg: 'RS256' },
  ]) {
    const token = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.YQ`;
    expect(await judge(bearer(token), {}, keys)).toMatchObject({ kind: 'refused', status: 401 });
  }
  await judge(bearer('YQ.YQ.YQ'), {}, keys);
  await judge({}, {}, keys);
  expect(asked).toBe(0);
});

test('a key that cannot be had just now is no refusal', async () => {
  const keys: KeyCache = { find: async () => ({ kind: 'cannot-know', reason: 'status 503' }) };
  const reply = await judge(bearer(await key.sign()), {}, keys);
  expect(reply).toEqual({ kind: 'cannot-know', reason: 'status 503' });
});

test('platform: a token that kept its signature was verified by nobody, so it is verified', async () => {
  const foreign = await makeKey('k1');
  const mode = 'platform';
  expect(await judge(bearer(await key.sign()), { mode })).toEqual(accepted);
  const forged = await judge(bearer(await foreign.sign()), { mode });
  expect(forged).toEqual({ kind: 'refused', status: 401, reason: 'signature' });
});

test('platform: the header that the platform has checked is judged, not the other one', async () => {
  const ours = stripped(await key.sign());
  const theirs = stripped(await key.sign(claims({ email: 'caller@q.iam.gserviceaccount.com' })));
  const headers = { ...bearer(ours), 'x-serverless-authorization': `Bearer ${theirs}` };
  expect(await judge(headers, { mode: 'platform' })).toMatchObject({ status: 403 });
  const turned = { ...bearer(theirs), 'x-serverless-authorization': `Bearer ${ours}` };
  expect(await judge(turned, { mode: 'platform' })).toEqual(accepted);
  expect(await judge(turned, { mode: 'verify' })).toMatchObject({ status: 401 });
});

test('platform: a token without signature says RS256 in its header, as Google’s do', async () => {
  for (const alg of ['none', 'HS256', undefined]) {
    const reply = await judge(bearer(stripped(unsigned({ alg }, claims()))), { mode: 'platform' });
    expect(reply).toEqual({ kind: 'refused', status: 401, reason: 'algorithm' });
  }
});

test('C131: internal-token: the shared secret is accepted, and nothing else', async () => {
  const changes = { mode: 'internal-token', internalToken: 'secret' } as const;
  expect(await judge(bearer('secret'), changes)).toMatchObject({ kind: 'accepted' });
  for (const token of ['Secret', 'secret1', 'secre', await key.sign()]) {
    expect(await judge(bearer(token), changes)).toMatchObject({ kind: 'refused', status: 401 });
  }
});

test.each([null, ''])(
  'C131: internal-token: a secret of %j lets nobody in',
  async (internalToken) => {
    const reply = await judge(bearer('null'), { mode: 'internal-token', internalToken });
    expect(reply).toMatchObject({ kind: 'refused', status: 401 });
  },
);
