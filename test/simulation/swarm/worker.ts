// A process of its own for a share of the seeds: its order comes in its first message, its tally goes
// back in one. A guard that is to be taken out is taken out before anything is loaded.
import { removeGuard } from '#test/simulation/swarm/remove-guard.ts';
import type { SeedRange } from '#test/simulation/swarm/seeds.ts';

export interface WorkerOrder {
  readonly range: SeedRange;
  readonly guard: string | null;
}

// Thousands of planned refusals are made into errors here; where they were made interests nobody.
Error.stackTraceLimit = 0;

process.once('message', (order: WorkerOrder) => void work(order));

async function work({ range, guard }: WorkerOrder): Promise<void> {
  if (guard !== null) removeGuard(guard);
  const { runSeeds } = await import('#test/simulation/swarm/seeds.ts');
  const tally = await runSeeds(range);
  if (process.connected) process.send?.(tally, () => process.disconnect());
}
