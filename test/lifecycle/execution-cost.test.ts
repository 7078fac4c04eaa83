import { expect, test } from 'vitest';
import { attemptCost, wasteSeconds } from '#shared/lifecycle/attempt-cost.ts';
import { attempt, candidate, intent, NOW_MS } from '#test/lifecycle/fixtures.ts';

const end = { status: 'SUCCEEDED', cause: 'exit', step: null, exitCode: 0, detail: '' } as const;
const JOBS = { runtime: 'cloudrun-jobs', terms: {} } as const;
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
  expect(attemptCost(at(seconds), JOBS)).toBeCloseTo(usd, 6);
});

test('C45: what never started costs nothing', () => {
  expect(attemptCost({ ...at(600), runningMs: null }, JOBS)).toBe(0);
});

test('without a price there is none', () => {
  expect(attemptCost(at(600, null), JOBS)).toBeNull();
});

test.each([
  // The candidate's 3.6 USD an hour are four tasks side by side: 0.00025 USD a second and task.
  [
    'by the seconds of all tasks together, however few of them ran at a time',
    { billed: 1000, executed: 900 },
    0.25,
    100,
  ],
  ['not at all when no task started', { billed: 0, executed: 0 }, 0, 0],
  ['unknown when one of them is', { billed: null, executed: null }, null, null],
])('several tasks are billed %s', (_name, taskSeconds, usd, waste) => {
  const tasks = { count: 4, succeeded: 4, failed: [] };
  const one = { ...at(600), end: { ...end, atMs: NOW_MS + 600_000, tasks, taskSeconds } };
  const work = { ...JOBS, terms: { tasks: 4 } };
  expect([attemptCost(one, work), wasteSeconds(one, work)]).toEqual([usd, waste]);
});

test('several tasks of which nothing was told cost an unknown sum', () => {
  expect(attemptCost(at(600), { ...JOBS, terms: { tasks: 4 } })).toBeNull();
});
