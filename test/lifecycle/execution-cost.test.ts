import { expect, test } from 'vitest';
import { attemptCost } from '#shared/lifecycle/attempt-cost.ts';
import { attempt, candidate, intent, NOW_MS } from '#test/lifecycle/fixtures.ts';

const end = { status: 'SUCCEEDED', cause: 'exit', step: null, exitCode: 0, detail: '' } as const;
const at = (seconds: number, price: number | null = 3.6) =>
  attempt({
    intents: [intent({ candidate: candidate({ usdPerHour: price }) })],
    runningMs: NOW_MS,
    end: { ...end, atMs: NOW_MS + seconds * 1000 },
  });
test.each([
  // 3.6 USD an hour are 0.001 USD a second.
  ['C45: by the second, from its start', 600, 0.6],
  ['C45: a minute at least', 5, 0.06],
])('%s', (_name, seconds, usd) => {
  expect(attemptCost(at(seconds), 'cloudrun-jobs')).toBeCloseTo(usd, 6);
});

test('C45: what never started costs nothing', () => {
  expect(attemptCost({ ...at(600), runningMs: null }, 'cloudrun-jobs')).toBe(0);
});

test('without a price there is none', () => {
  expect(attemptCost(at(600, null), 'cloudrun-jobs')).toBeNull();
});
