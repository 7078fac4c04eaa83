// `npm run bench -- reclaim [--seeds N]`: from a Spot machine's reclaim to the next attempt's insert and
// to its container's start, in the simulation's virtual time; beside the same worlds without signals,
// where the sweep alone notices. Log entries come after 1.5 to 3 s, a soft-off takes up to 15 s.
import { parseArgs } from 'node:util';
import { Random } from '#scripts/local-cloud/random.ts';
import type { GuestPlan } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const SINK = { delayMs: 1500, spreadMs: 1500 };
const SEEDS = 60;

/** What its machine says of the reclaim; `unclaimed`: it is still booting. */
const WORLDS = ['reports', 'says nothing', 'unclaimed'] as const;
type World = (typeof WORLDS)[number];

interface Delays {
  readonly insertMs: number;
  readonly startMs: number;
}

export async function benchReclaim(options: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...options], options: { seeds: { type: 'string' } } });
  const seeds = Array.from({ length: Number(values.seeds ?? SEEDS) }, (_, index) => index + 1);
  print(
    `reclaim → …, seconds over ${seeds.length} seeds    insert p50   p95   max   start p50   p95   max`,
  );
  for (const world of WORLDS) {
    for (const told of [true, false]) {
      const delays: Delays[] = [];
      for (const seed of seeds) delays.push(await reclaim(seed, world, told));
      const name = `${world}, ${told ? 'with signals' : 'the sweep alone'}`;
      const columns = [delays.map((one) => one.insertMs), delays.map((one) => one.startMs)];
      print(`${name.padEnd(38)}${columns.map(quantiles).join('    ')}`);
    }
  }
}

async function reclaim(seed: number, world: World, told: boolean): Promise<Delays> {
  const random = new Random(seed);
  const shutdown = { containerMs: random.below(15_000), reports: world === 'reports' };
  const bootMs = world === 'unclaimed' ? 8 * MINUTE_MS : 10_000;
  const kernel = new Kernel({
    world: { seed, logging: { sink: { ...SINK, loss: told ? 0 : 1 } } },
    guest: ({ name }): GuestPlan => {
      const first = name.endsWith('-1');
      const workMs = first ? 60 * MINUTE_MS : 10_000;
      return { bootMs: first ? bootMs : 10_000, workMs, exitCode: 0, selfDeleteMs: 5000, shutdown };
    },
  });
  const retry = { preempted: 1 };
  kernel.request({ ...REQUEST, runId: 'r1', provisioning: 'spot', retry });
  let atMs = 0;
  const happens = kernel.clock.sleep(MINUTE_MS + random.below(4 * MINUTE_MS)).then(() => {
    const [machine] = kernel.world.compute.machinesById.values();
    atMs = kernel.clock.nowMs();
    kernel.call({ method: 'local.compute.preempt', params: { id: machine?.id ?? '' } });
  });
  kernel.spawn(happens);
  await kernel.run(20 * MINUTE_MS);
  const second = kernel.record('r1')?.attempts[1]?.instance ?? '';
  const operations = [...kernel.world.compute.operations.values()];
  const insert = operations.find(
    (one) => one.operationType === 'insert' && one.target.endsWith(second),
  );
  const work = kernel.works.find(({ attempt }) => attempt === 2);
  if (second === '' || insert === undefined || work === undefined) {
    throw new Error(`seed ${seed}: no second attempt (${kernel.record('r1')?.state})`);
  }
  return { insertMs: insert.insertMs - atMs, startMs: work.startMs - atMs };
}

function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return [0.5, 0.95, 1].map((share) => (at(share) / 1000).toFixed(1).padStart(6)).join('');
}

const print = (line: string) => process.stdout.write(`${line}\n`);
