// Takes each guard out in turn and looks for a seed that notices.
import { GUARDS } from '#test/simulation/swarm/guards.ts';
import { runInPool } from '#test/simulation/swarm/pool.ts';
import { guardOf } from '#test/simulation/swarm/remove-guard.ts';

export interface GuardTrial {
  /** At most so many seeds a guard. */
  readonly seeds: number;
  readonly processes: number;
  /** One guard alone; null: all. */
  readonly only: string | null;
  readonly write: (text: string) => void;
}

/** Prints a row a guard; false when the removal of one was not noticed. */
export async function tryGuards(trial: GuardTrial): Promise<boolean> {
  const guards = trial.only === null ? GUARDS : [guardOf(trial.only)];
  let missed = 0;
  for (const { name, serves } of guards) {
    const range = { from: 1, count: trial.seeds, times: 1, stopAtFirst: true } as const;
    const { processes } = trial;
    const tally = await runInPool({ range, guard: name, processes, share: 50 });
    const [first] = tally.findings;
    if (first === undefined) missed += 1;
    const found =
      first === undefined
        ? `NOT FOUND in ${tally.seeds} seeds`
        : `seed ${first.seed}, ${first.steps} steps: ${first.violation.split('\n')[0]}`;
    trial.write(`${name.padEnd(44)} ${serves.padEnd(8)} ${found}`);
  }
  trial.write(`\n${guards.length} guards, ${missed} not found`);
  return missed === 0;
}
