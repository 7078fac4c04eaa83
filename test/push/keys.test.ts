import { beforeAll, expect, test } from 'vitest';
import { createKeyCache } from '#shared/push/keys.ts';
import {
  answerSet,
  answerStatus,
  type KeyEndpoint,
  keySet,
  makeKey,
  quiet,
  type SigningKey,
  standingClock,
  startKeyEndpoint,
} from '#test/push/tokens.ts';

let one: SigningKey;
let two: SigningKey;

beforeAll(async () => {
  [one, two] = await Promise.all([makeKey('k1'), makeKey('k2')]);
});

function cacheOver(endpoint: KeyEndpoint, timeoutMs?: number) {
  const clock = standingClock();
  const options = { url: endpoint.url, clock, log: quiet };
  return { clock, keys: createKeyCache(timeoutMs ? { ...options, timeoutMs } : options) };
}

const kindOf = async (reply: Promise<{ kind: string }>) => (await reply).kind;

test('C5: a set is fetched once for as long as its max-age says, then once more', async () => {
  await using endpoint = await startKeyEndpoint(answerSet(keySet(one), 'public, max-age=18000'));
  const { clock, keys } = cacheOver(endpoint);
  for (const second of [0, 1, 17_999]) {
    clock.ms = standingClock().ms + second * 1000;
    expect(await kindOf(keys.find('k1'))).toBe('found');
  }
  expect(endpoint.fetches).toBe(1);
  clock.ms = standingClock().ms + 18_000 * 1000;
  expect(await kindOf(keys.find('k1'))).toBe('found');
  expect(endpoint.fetches).toBe(2);
});

test('a max-age counts from when the set was made, not from when a cache handed it on', async () => {
  await using endpoint = await startKeyEndpoint((response) => {
    response.writeHead(200, { 'cache-control': 'max-age=1000', age: '900' });
    response.end(keySet(one));
  });
  const { clock, keys } = cacheOver(endpoint);
  await keys.find('k1');
  clock.ms += 99_000;
  await keys.find('k1');
  expect(endpoint.fetches).toBe(1);
  clock.ms += 1_000;
  await keys.find('k1');
  expect(endpoint.fetches).toBe(2);
});

test.each([
  { cacheControl: 'no-store', freshSeconds: 60 },
  { cacheControl: 'max-age=0', freshSeconds: 60 },
  { cacheControl: 'public', freshSeconds: 600 },
  { cacheControl: 'max-age=999999999', freshSeconds: 86_400 },
])('freshness is bounded: $cacheControl gives $freshSeconds s', async (row) => {
  await using endpoint = await startKeyEndpoint(answerSet(keySet(one), row.cacheControl));
  const { clock, keys } = cacheOver(endpoint);
  await keys.find('k1');
  clock.ms += (row.freshSeconds - 1) * 1000;
  await keys.find('k1');
  expect(endpoint.fetches).toBe(1);
  clock.ms += 1000;
  await keys.find('k1');
  expect(endpoint.fetches).toBe(2);
});

test('calls at the same time share one fetch', async () => {
  await using endpoint = await startKeyEndpoint(answerSet(keySet(one)));
  const { keys } = cacheOver(endpoint);
  const kinds = await Promise.all(Array.from({ length: 20 }, () => kindOf(keys.find('k1'))));
  expect(new Set(kinds)).toEqual(new Set(['found']));
  expect(endpoint.fetches).toBe(1);
});

test('a key that the newest set no longer has is not found', async () => {
  await using endpoint = await startKeyEndpoint(answerSet(keySet(one)));
  const { clock, keys } = cacheOver(endpoint);
  await keys.find('k1');
  endpoint.answer = answerSet(keySet(two));
  clock.ms += 18_000 * 1000;
  expect(await kindOf(keys.find('k1'))).toBe('absent');
  expect(await kindOf(keys.find('k2'))).toBe('found');
});

const rubbish: { name: string; answer: KeyEndpoint['answer'] }[] = [
  { name: 'status 500', answer: answerStatus(500) },
  { name: 'no JSON', answer: answerSet('<html>moved</html>') },
  { name: 'an empty set', answer: answerSet('{"keys":[]}') },
  { name: 'no set', answer: answerSet('{"k1":"-----BEGIN CERTIFICATE-----"}') },
  {
    name: 'a set of symmetric keys',
    answer: answerSet('{"keys":[{"kty":"oct","kid":"k1","k":"YQ"}]}'),
  },
  { name: 'more than 256 KiB', answer: answerSet(`${' '.repeat(256 * 1024)}{"keys":[]}`) },
  { name: 'a cut connection', answer: (response) => response.destroy() },
];

test.each(rubbish)('held keys stay when the endpoint answers: $name', async ({ answer }) => {
  await using endpoint = await startKeyEndpoint(answerSet(keySet(one)));
  const { clock, keys } = cacheOver(endpoint);
  await keys.find('k1');
  endpoint.answer = answer;
  clock.ms += 20_000 * 1000;
  expect(await kindOf(keys.find('k1'))).toBe('found');
  expect(endpoint.fetches).toBe(2);
  expect(await kindOf(keys.find('k2'))).toBe('cannot-know');
});

test.each(rubbish)('with no key held, nothing can be known after: $name', async ({ answer }) => {
  await using endpoint = await startKeyEndpoint(answer);
  const { clock, keys } = cacheOver(endpoint);
  expect(await kindOf(keys.find('k1'))).toBe('cannot-know');
  expect(await kindOf(keys.find('k1'))).toBe('cannot-know');
  expect(endpoint.fetches).toBe(1);
  endpoint.answer = answerSet(keySet(one));
  clock.ms += 5000;
  expect(await kindOf(keys.find('k1'))).toBe('found');
});

test('held keys are not used for more than a day without a good answer', async () => {
  await using endpoint = await startKeyEndpoint(answerSet(keySet(one)));
  const { clock, keys } = cacheOver(endpoint);
  await keys.find('k1');
  endpoint.answer = answerStatus(503);
  clock.ms += 86_399 * 1000;
  expect(await kindOf(keys.find('k1'))).toBe('found');
  clock.ms += 1000;
  expect(await kindOf(keys.find('k1'))).toBe('cannot-know');
});

test('a redirect is not followed', async () => {
  await using elsewhere = await startKeyEndpoint(answerSet(keySet(one)));
  await using endpoint = await startKeyEndpoint((response) => {
    response.writeHead(302, { location: elsewhere.url }).end();
  });
  const { keys } = cacheOver(endpoint);
  expect(await kindOf(keys.find('k1'))).toBe('cannot-know');
  expect(elsewhere.fetches).toBe(0);
});

test('an endpoint that never answers is given up', async () => {
  await using endpoint = await startKeyEndpoint(() => {});
  const { keys } = cacheOver(endpoint, 50);
  expect(await keys.find('k1')).toMatchObject({
    kind: 'cannot-know',
    reason: expect.stringContaining('Timeout'),
  });
});

test('a body that never ends is given up', async () => {
  await using endpoint = await startKeyEndpoint((response) => {
    response.writeHead(200).write('{"keys":');
  });
  const { keys } = cacheOver(endpoint, 50);
  expect(await kindOf(keys.find('k1'))).toBe('cannot-know');
});

test('keys for encryption, of another algorithm or too short are left out', async () => {
  const short = {
    kty: 'RSA',
    kid: 'short',
    e: 'AQAB',
    n: Buffer.alloc(128, 255).toString('base64url'),
  };
  const set = [
    { ...one.publicJwk, kid: 'enc', use: 'enc' },
    { ...one.publicJwk, kid: 'rs512', alg: 'RS512' },
    short,
    two.publicJwk,
  ];
  await using endpoint = await startKeyEndpoint(answerSet(JSON.stringify({ keys: set })));
  const { keys } = cacheOver(endpoint);
  const found = await Promise.all(
    ['enc', 'rs512', 'short', 'k2'].map((kid) => kindOf(keys.find(kid))),
  );
  expect(found).toEqual(['absent', 'absent', 'absent', 'found']);
});
