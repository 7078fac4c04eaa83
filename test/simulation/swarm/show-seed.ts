// One seed in full: its scenario, its trace, and, when it breaks a law, the shortest part of it that
// still does.
import { removeGuard } from '#test/simulation/swarm/remove-guard.ts';
import type { Scenario } from '#test/simulation/swarm/scenario.ts';

export interface SeedChoice {
  readonly seed: string;
  readonly guard?: string | undefined;
  /** Ids of runs, names of faults, numbers of mishaps; comma lists of what stays. */
  readonly runs?: string | undefined;
  readonly faults?: string | undefined;
  readonly mishaps?: string | undefined;
  /** At most so many faults hit by chance. */
  readonly hits?: string | undefined;
  readonly lines?: string | undefined;
}

export async function showSeed(
  choice: SeedChoice,
  write: (text: string) => void,
): Promise<boolean> {
  if (choice.guard !== undefined) removeGuard(choice.guard);
  const { drawScenario } = await import('#test/simulation/swarm/scenario.ts');
  const { runScenario } = await import('#test/simulation/swarm/run-seed.ts');
  const { shrink } = await import('#test/simulation/swarm/shrink.ts');
  const scenario = narrowed(drawScenario(Number(choice.seed)), choice);
  write(describe(scenario));
  const outcome = await runScenario(scenario, true);
  if (outcome.violation === null) {
    printEnd(outcome.lines, choice, write);
    write(`seed ${choice.seed}: ${outcome.steps} steps, no law broken, trace ${outcome.hash}`);
    return true;
  }
  write(`\nseed ${choice.seed}: ${outcome.steps} steps: ${outcome.violation}\nshrinking …`);
  const small = await shrink(scenario, runScenario);
  const shortest = await runScenario(small, true);
  printEnd(shortest.lines, choice, write);
  write(`\n${describe(small)}\n\n${shortest.violation}`);
  write(
    `${shortest.steps} steps, ${shortest.hits} hits; again with:\n  ${commandOf(small, choice)}`,
  );
  return false;
}

export function narrowed(scenario: Scenario, choice: SeedChoice): Scenario {
  const listed = (text: string | undefined) => text?.split(',').filter((part) => part !== '');
  const runs = listed(choice.runs);
  const faults = listed(choice.faults);
  const mishaps = listed(choice.mishaps)?.map(Number);
  const rates = Object.entries(scenario.rates).filter(([name]) => faults?.includes(name) ?? true);
  return {
    ...scenario,
    runs: scenario.runs.filter(({ runId }) => runs?.includes(runId) ?? true),
    rates: Object.fromEntries(rates),
    mishaps: scenario.mishaps.filter(({ number }) => mishaps?.includes(number) ?? true),
    hitsMax: choice.hits === undefined ? scenario.hitsMax : Number(choice.hits),
  };
}

export function replayCommand(choice: SeedChoice): string {
  const parts = (['guard', 'runs', 'faults', 'mishaps', 'hits'] as const).flatMap((name) =>
    choice[name] === undefined ? [] : [`--${name} '${choice[name]}'`],
  );
  return ['npm run simulate -- --seed', choice.seed, ...parts].join(' ');
}

function commandOf(scenario: Scenario, { seed, guard }: SeedChoice): string {
  const hits = Number.isFinite(scenario.hitsMax) ? String(scenario.hitsMax) : undefined;
  return replayCommand({
    seed,
    guard,
    runs: scenario.runs.map(({ runId }) => runId).join(','),
    faults: Object.keys(scenario.rates).join(','),
    mishaps: scenario.mishaps.map(({ number }) => number).join(','),
    hits,
  });
}

function describe({ runs, rates, mishaps, chaosMs }: Scenario): string {
  const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
  return [
    `faults for ${seconds(chaosMs)}: ${JSON.stringify(rates)}`,
    ...runs.map(
      (run) => `run ${run.runId} at ${seconds(run.atMs)}: ${JSON.stringify(run.request)}`,
    ),
    ...mishaps.map(
      (one) =>
        `mishap ${one.number} ${one.kind} at ${seconds(one.atMs)}, for ${seconds(one.forMs)}`,
    ),
  ].join('\n');
}

function printEnd(
  lines: readonly string[],
  choice: SeedChoice,
  write: (text: string) => void,
): void {
  const shown = lines.slice(-Number(choice.lines ?? 60));
  if (shown.length < lines.length)
    write(`… ${lines.length - shown.length} lines before (--lines N)`);
  for (const line of shown) write(readable(line));
}

/** Seconds since noon, when every world begins. */
function readable(line: string): string {
  const [, ms, rest] = /^(\d{13}) (.*)$/.exec(line) ?? [];
  if (ms === undefined) return line;
  const seconds = (Number(ms) - Date.UTC(2026, 11, 1, 12)) / 1000;
  return `${seconds.toFixed(3).padStart(10)}  ${rest}`;
}
