// Google's keys change, their endpoint fails, and callers name keys that never were: over real HTTP,
// from the caller to the key endpoint.
import { beforeAll, expect, test } from 'vitest';
import {
  answerSet,
  answerStatus,
  bearer,
  claims,
  keySet,
  makeKey,
  type SigningKey,
} from '#test/push/tokens.ts';
import { startPushServer } from '#test/security/push-server.ts';

let one: SigningKey;
let two: SigningKey;
let three: SigningKey;
let unknown: SigningKey;

beforeAll(async () => {
  const ids = ['k1', 'k2', 'k3', 'unknown'].map(makeKey);
  const keys = await Promise.all(ids);
  [one, two, three, unknown] = keys as [SigningKey, SigningKey, SigningKey, SigningKey];
});

const MINUTE_MS = 60_000;

test('C114: the keys are fetched once for as long as Cache-Control says', async () => {
  await using server = await startPushServer([one]);
  const fresh = async () => {
    const iat = Math.floor(server.clock.ms / 1000);
    return bearer(await one.sign(claims({ iat, exp: iat + 3600 })));
  };
  for (const minutes of [0, 100, 100, 99]) {
    server.clock.ms += minutes * MINUTE_MS;
    expect(await server.post(await fresh())).toBe(204);
  }
  expect(server.endpoint.fetches).toBe(1);
  server.clock.ms += MINUTE_MS;
  expect(await server.post(await fresh())).toBe(204);
  expect(server.endpoint.fetches).toBe(2);
});

test('C115: a flood of unknown key ids makes one fetch in 30 s', async () => {
  await using server = await startPushServer([one]);
  expect(await server.post(bearer(await one.sign()))).toBe(204);
  const token = bearer(await unknown.sign());
  for (const second of [31, 10, 10, 9]) {
    server.clock.ms += second * 1000;
    const statuses = await Promise.all(Array.from({ length: 20 }, () => server.post(token)));
    expect(new Set(statuses)).toEqual(new Set([401]));
  }
  expect(server.endpoint.fetches).toBe(2);
  server.clock.ms += 1000;
  await server.post(token);
  expect(server.endpoint.fetches).toBe(3);
});

test('C116: with the endpoint down, tokens of held keys are accepted', async () => {
  await using server = await startPushServer([one]);
  server.endpoint.answer = answerSet(keySet(one), 'public, max-age=600');
  expect(await server.post(bearer(await one.sign()))).toBe(204);
  server.endpoint.answer = answerStatus(503);
  for (let minute = 0; minute < 50; minute += 10) {
    server.clock.ms += 10 * MINUTE_MS;
    expect(await server.post(bearer(await one.sign()))).toBe(204);
  }
  expect(server.endpoint.fetches).toBe(6);
});

test('P102: keys rotate, then their endpoint fails for 20 minutes, and no good token is refused', async () => {
  await using server = await startPushServer([one, two]);
  const { endpoint, clock } = server;
  endpoint.answer = answerSet(keySet(one, two), 'public, max-age=600');
  expect(await server.post(bearer(await one.sign()))).toBe(204);

  endpoint.answer = answerSet(keySet(two, three), 'public, max-age=600');
  clock.ms += 31_000;
  const fetched = endpoint.fetches;
  const rotated = bearer(await three.sign());
  const statuses = await Promise.all(Array.from({ length: 10 }, () => server.post(rotated)));
  expect(new Set(statuses)).toEqual(new Set([204]));
  expect(endpoint.fetches).toBe(fetched + 1);
  // k1 is unknown now, and less than 30 s have passed: nothing is fetched for it.
  expect(await server.post(bearer(await one.sign()))).toBe(401);
  expect(endpoint.fetches).toBe(fetched + 1);

  for (const answer of [answerStatus(503), answerSet('{"keys":[]}')]) {
    endpoint.answer = answer;
    for (let minute = 0; minute < 20; minute += 4) {
      clock.ms += 4 * MINUTE_MS;
      expect(await server.post(bearer(await two.sign()))).toBe(204);
      expect(await server.post(rotated)).toBe(204);
      expect(await server.post(bearer(await unknown.sign()))).toBe(503);
    }
  }
});

test('P102: with no key ever read, a good token gets 503, not 401', async () => {
  await using server = await startPushServer([one]);
  server.endpoint.answer = answerStatus(503);
  expect(await server.post(bearer(await one.sign()))).toBe(503);
  expect(server.messages).toEqual([]);
  server.endpoint.answer = answerSet(keySet(one));
  server.clock.ms += 10_000;
  expect(await server.post(bearer(await one.sign()))).toBe(204);
});
