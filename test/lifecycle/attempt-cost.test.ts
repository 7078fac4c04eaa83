import { expect, test } from 'vitest';
import {
  attemptCost,
  billedSeconds,
  executeSeconds,
  wasteSeconds,
} from '#shared/lifecycle/attempt-cost.ts';
import type { Attempt, MachineFacts } from '#shared/lifecycle/record.ts';
import { attempt, candidate, HOLDER, intent, NOW_MS } from '#test/lifecycle/fixtures.ts';

const T = NOW_MS / 1000;
const end = (seconds: number): Attempt['end'] => ({
  ...{ status: 'FAILED', cause: 'exit', step: null, exitCode: 1, detail: '' },
  atMs: NOW_MS + seconds * 1000,
});
const facts = (change: Partial<MachineFacts> = {}): MachineFacts => ({
  ...{ bootEpoch: null, pullEndEpoch: null, execStartEpoch: null, endEpoch: null },
  ...{ imageDigest: null, peakMemoryBytes: null, logTail: null, outputs: [] },
  ...change,
});
const GCE = { runtime: 'gce', terms: {} } as const;
/** Ordered at 0, for 3.6 USD an hour: 0.001 USD a second. */
const priced = [intent({ candidate: candidate({ usdPerHour: 3.6 }) })];

test.each([
  // Decision + 60 s for the delete − boot, or order where no boot is known.
  { name: 'from the boot', boot: T + 30, ends: 330, seconds: 360, usd: 0.36 },
  { name: 'from the order when no boot is known', boot: null, ends: 330, seconds: 390, usd: 0.39 },
  {
    name: 'a boot before the order is not believed',
    boot: T - 9,
    ends: 330,
    seconds: 390,
    usd: 0.39,
  },
  { name: 'nor one after the end', boot: T + 999, ends: 330, seconds: 390, usd: 0.39 },
  { name: 'whole seconds, rounded up', boot: T + 30, ends: 330.2, seconds: 361, usd: 0.361 },
  { name: 'a minute at least', boot: T + 9.5, ends: 9.6, seconds: 61, usd: 0.061 },
])('cost of a machine: $name', ({ boot, ends, seconds, usd }) => {
  const one = attempt({ intents: priced, facts: facts({ bootEpoch: boot }), end: end(ends) });
  expect(billedSeconds(one, GCE)).toBe(seconds);
  expect(attemptCost(one, GCE)).toBeCloseTo(usd, 6);
});

test.each([
  ['its machine held the claim', { claim: HOLDER }],
  ['its machine was seen to run', { runningMs: NOW_MS }],
  ['its machine told of itself', { facts: facts() }],
])(
  'an attempt whose intent is not known, but %s, costs an unknown sum, not nothing',
  (_, change) => {
    const one = attempt({ intents: [], end: end(60), ...change });
    for (const work of [GCE, { ...GCE, runtime: 'cloudrun-jobs' as const }]) {
      expect(billedSeconds(one, work)).toBeNull();
      expect(attemptCost(one, work)).toBeNull();
      expect(wasteSeconds(one, work)).toBeNull();
    }
  },
);

test.each(['ordered', 'abandoned'] as const)(
  'a creation that stays %s may have made a machine: its cost is not known',
  (status) => {
    const one = attempt({ intents: [intent({ status })], end: end(60) });
    expect([attemptCost(one, GCE), wasteSeconds(one, GCE)]).toEqual([null, null]);
  },
);

test('what was refused everywhere costs nothing, and wastes nothing', () => {
  const one = attempt({ intents: [], end: end(60) });
  expect([attemptCost(one, GCE), wasteSeconds(one, GCE)]).toEqual([0, 0]);
});

test.each([
  ['the seconds of the container', facts({ execStartEpoch: T + 10, endEpoch: T + 25.5 }), 15.5],
  ['none when it never started', facts({ endEpoch: T + 25 }), 0],
  ['unknown when its machine never told of an end', facts({ execStartEpoch: T + 10 }), null],
])('executing: %s', (_, told, seconds) => {
  expect(executeSeconds(attempt({ facts: told }))).toBe(seconds);
});

test('executing: unknown for a machine that worked and told nothing, none for one that never did', () => {
  expect(executeSeconds(attempt({ claim: HOLDER }))).toBeNull();
  expect(executeSeconds(attempt())).toBe(0);
});
