// A share of the simulated seeds for every run of the tests: no law is broken, and equal seeds give equal
// traces. `npm run simulate -- --seeds N` runs more of them.
import { expect, test } from 'vitest';
import { runSeeds } from '#test/simulation/swarm/seeds.ts';

const SHARE = 20;
const SHARES = Array.from({ length: 10 }, (_, index) => ({ from: 1 + index * SHARE }));

test.each(SHARES)('twenty seeds from $from, each twice', async ({ from }) => {
  const range = { from, count: SHARE, times: 2, stopAtFirst: false } as const;
  const { findings } = await runSeeds(range);
  expect(findings).toEqual([]);
});
