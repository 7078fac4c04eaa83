import { expect, test } from 'vitest';
import { attemptCost } from '#shared/lifecycle/result.ts';
import { attempt, candidate, intent, NOW_MS, record } from '#test/lifecycle/fixtures.ts';

const end = { status: 'SUCCEEDED', cause: 'exit', step: null, exitCode: 0, detail: '' } as const;
const at = (seconds: number, price: number | null = 3.6) =>
  attempt({
    intents: [intent({ candidate: candidate({ usdPerHour: price }) })],
    runningMs: NOW_MS,
    end: { ...end, atMs: NOW_MS + seconds * 1000 },
  });
const run = (tasks?: number) => {
  const base = record({ runtime: 'cloudrun-jobs' });
  return { ...base, terms: { ...base.terms, ...(tasks === undefined ? {} : { tasks }) } };
};

test.each([
  // 3.6 USD an hour are 0.001 USD a second.
  ['C45: by the second, from its start', 600, undefined, 0.6],
  ['C45: a minute at least', 5, undefined, 0.06],
  ['C45: all tasks together', 600, 8, 4.8],
])('%s', (_name, seconds, tasks, usd) => {
  expect(attemptCost(at(seconds), run(tasks))).toBeCloseTo(usd, 6);
});

test('without a price there is none', () => {
  expect(attemptCost(at(600, null), run())).toBeNull();
});
