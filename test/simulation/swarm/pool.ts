// Shares seeds among processes: as many as there are cores, each with one share after another.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { addTally, emptyTally, type SeedRange, type Tally } from '#test/simulation/swarm/seeds.ts';
import type { WorkerOrder } from '#test/simulation/swarm/worker.ts';

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));

export interface PoolOptions {
  readonly range: SeedRange;
  readonly guard: string | null;
  readonly processes: number;
  /** Seeds in one share. */
  readonly share: number;
  readonly onShare?: (tally: Tally) => void;
}

/** Runs all shares; with `stopAtFirst` no new share begins after a finding. */
export async function runInPool(options: PoolOptions): Promise<Tally> {
  const { range, share } = options;
  const total = emptyTally();
  let next = range.from;
  const end = range.from + range.count;
  const take = async () => {
    while (next < end && !(range.stopAtFirst && total.findings.length > 0)) {
      const from = next;
      next = Math.min(end, from + share);
      addTally(total, await runShare({ ...range, from, count: next - from }, options.guard));
      options.onShare?.(total);
    }
  };
  await Promise.all(Array.from({ length: options.processes }, take));
  total.findings.sort((left, right) => left.seed - right.seed);
  return total;
}

/** What a call leaves behind is garbage at once: a larger nursery collects it more cheaply. */
const EXEC_ARGV = ['--max-semi-space-size=64'];

function runShare(range: SeedRange, guard: string | null): Promise<Tally> {
  const child = fork(WORKER, {
    execArgv: EXEC_ARGV,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<Tally>();
  child.once('message', (tally) => resolve(tally as Tally));
  child.once('error', reject);
  child.once('exit', (code) => reject(new Error(`a worker ended with ${code} and gave no tally`)));
  child.send({ range, guard } satisfies WorkerOrder);
  return promise;
}
