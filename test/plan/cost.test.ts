import { describe, expect, test } from 'vitest';
import { attemptsAllowed, machineUsd, machineUsdPerHour } from '#shared/plan/cost.ts';
import { makePlan } from '#test/plan/fixtures.ts';

describe('cost', () => {
  test.each([
    { seconds: 0, usd: 0.06 },
    { seconds: 1, usd: 0.06 },
    { seconds: 60, usd: 0.06 },
    { seconds: 61, usd: 0.061 },
    { seconds: 61.2, usd: 0.062 },
    { seconds: 3600, usd: 3.6 },
  ])('$seconds seconds at 3.60 an hour cost $usd: a minute at least, then by the second', (row) => {
    expect(machineUsd(3.6, row.seconds)).toBe(row.usd);
  });

  test('an unknown price stays unknown, never 0', () => {
    expect(machineUsd(null, 3600)).toBeNull();
    expect(machineUsdPerHour('c9-standard-4', false)).toBeNull();
    expect(machineUsdPerHour('e2-standard-4', false)).toBeCloseTo(0.134, 3);
    expect(machineUsdPerHour('e2-standard-4', true)).toBeCloseTo(0.0536, 4);
  });

  test('the estimate is the dearest candidate at full TTL with its disk, times all attempts', () => {
    // By hand: 8 × 0.031611 + 32 × 0.004237 = 0.388472; a disk of 100 GiB at 0.10 a month of 730
    // hours = 0.013699; two hours of both = 0.804341; 1 + 3 + 2 + 1 attempts.
    const { estimate } = makePlan({ resources: { machineTypes: ['e2-small', 'n2-standard-8'] } });
    expect(estimate.attemptUsd).toBeCloseTo(0.804341, 5);
    expect(estimate.totalUsd).toBeCloseTo(7 * 0.804341, 4);
  });

  test('attempts are bounded whatever the counters say', () => {
    expect(attemptsAllowed({ preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 })).toBe(1);
    expect(attemptsAllowed({ preempted: 9, infrastructure: 9, outOfMemory: 9, failed: 9 })).toBe(
      10,
    );
  });
});
