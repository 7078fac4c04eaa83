// Many seeds in turn, each twice where asked: equal seeds must give equal traces.
import { addCounts, type Counts } from '#test/simulation/swarm/coverage.ts';
import { type Outcome, runScenario } from '#test/simulation/swarm/run-seed.ts';
import { drawScenario } from '#test/simulation/swarm/scenario.ts';

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  /** 2: each seed twice, and both traces must be equal. */
  readonly times: 1 | 2;
  /** Ends at the first violation. */
  readonly stopAtFirst: boolean;
}

export interface Finding {
  readonly seed: number;
  readonly steps: number;
  readonly violation: string;
}

export interface Tally {
  seeds: number;
  steps: number;
  findings: Finding[];
  counts: Counts;
}

export const emptyTally = (): Tally => ({ seeds: 0, steps: 0, findings: [], counts: {} });

export async function runSeeds(range: SeedRange, onSeed?: (tally: Tally) => void): Promise<Tally> {
  const tally = emptyTally();
  for (let seed = range.from; seed < range.from + range.count; seed++) {
    const outcome = await runScenario(drawScenario(seed));
    const violation = outcome.violation ?? (await differs(outcome, range.times));
    tally.seeds += 1;
    tally.steps += outcome.steps;
    addCounts(tally.counts, outcome.counts);
    if (violation !== null) tally.findings.push({ seed, steps: outcome.steps, violation });
    onSeed?.(tally);
    if (violation !== null && range.stopAtFirst) break;
  }
  return tally;
}

async function differs(first: Outcome, times: SeedRange['times']): Promise<string | null> {
  if (times === 1) return null;
  const second = await runScenario(drawScenario(first.seed));
  if (second.hash === first.hash) return null;
  return `not deterministic: ${first.hash} (${first.steps} steps), then ${second.hash} (${second.steps})`;
}

export function addTally(into: Tally, from: Tally): void {
  into.seeds += from.seeds;
  into.steps += from.steps;
  into.findings.push(...from.findings);
  addCounts(into.counts, from.counts);
}
