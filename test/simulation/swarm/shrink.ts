// Makes a scenario that breaks a law smaller as long as it still breaks one: runs, faults and mishaps
// are taken away one by one, then hits by chance.
import type { Outcome } from '#test/simulation/swarm/run-seed.ts';
import type { Scenario } from '#test/simulation/swarm/scenario.ts';

const TRIES_MAX = 300;

export async function shrink(
  scenario: Scenario,
  run: (scenario: Scenario) => Promise<Outcome>,
): Promise<Scenario> {
  let best = scenario;
  let tries = 0;
  const keep = async (smaller: Scenario): Promise<boolean> => {
    if (tries++ >= TRIES_MAX) return false;
    const broken = (await run(smaller)).violation !== null;
    if (broken) best = smaller;
    return broken;
  };
  for (let before = -1; before !== sizeOf(best); ) {
    before = sizeOf(best);
    for (const name of Object.keys(best.rates) as (keyof Scenario['rates'])[]) {
      const { [name]: _dropped, ...rates } = best.rates;
      await keep({ ...best, rates });
    }
    for (const mishap of best.mishaps) {
      await keep({ ...best, mishaps: best.mishaps.filter((one) => one !== mishap) });
    }
    for (const dropped of best.runs) {
      if (best.runs.length === 1) break;
      await keep({ ...best, runs: best.runs.filter((one) => one !== dropped) });
    }
  }
  await cutHits(best, run, keep);
  return best;
}

const sizeOf = ({ rates, mishaps, runs }: Scenario) =>
  Object.keys(rates).length + mishaps.length + runs.length;

/** The fewest first hits that still break a law: halves, then one by one. */
async function cutHits(
  best: Scenario,
  run: (scenario: Scenario) => Promise<Outcome>,
  keep: (smaller: Scenario) => Promise<boolean>,
): Promise<void> {
  let high = (await run(best)).hits;
  let low = 0;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (await keep({ ...best, hitsMax: middle })) high = middle;
    else low = middle + 1;
  }
}
