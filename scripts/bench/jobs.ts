// `npm run bench -- jobs [--runs N]`: N fits asked for at once on Cloud Run Jobs, in the simulation's
// virtual time: pushes late and doubled, three answers of 429, two replies of jobs.run lost, executions
// that start at once. Printed beside the bound that rate, burst and cool-downs give for the same faults.
// Real executions start cold: seconds to minutes come on top of every figure here.
import { parseArgs } from 'node:util';
import { Random } from '#scripts/local-cloud/random.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const RUN = 'run.projects.locations.jobs.run';
const MINUTE_MS = 60_000;
const PUSH_LATE_MS = 3_000;
/** Numbers of the calls that are refused, and of those whose reply is lost. */
const REFUSED = [20, 50, 80];
const LOST = [30, 60];

export async function benchJobs(options: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...options], options: { runs: { type: 'string' } } });
  const runs = Number(values.runs ?? 100);
  process.stdout.write(`${describeLoad(await loadJobs(runs)).join('\n')}\n`);
}

export interface Load {
  readonly runs: number;
  /** Of `jobs.run`. */
  readonly calls: number;
  readonly executions: number;
  /** Runs that succeeded at their first attempt. */
  readonly succeeded: number;
  readonly outputs: number;
  /** Seconds each. */
  readonly coolDowns: readonly number[];
  /** From the request to its container's start, in seconds, ascending. */
  readonly waits: readonly number[];
}

/** Throws when a run is lost, or has more than one execution. */
export async function loadJobs(runs: number): Promise<Load> {
  const kernel = openKernel();
  plantFaults(kernel);
  const startMs = kernel.clock.nowMs();
  for (let index = 0; index < runs; index++) kernel.request(requestOf(index));
  await kernel.run(30 * MINUTE_MS);
  const results = Array.from({ length: runs }, (_, index) => kernel.result(`fit-${index + 1}`));
  const good = results.filter((one) => one?.status === 'SUCCEEDED' && one.attempts.length === 1);
  const load: Load = {
    runs,
    calls: kernel.calls.filter(({ method }) => method === RUN).length,
    executions: kernel.world.run.executions.size,
    succeeded: good.length,
    outputs: outputsOf(kernel),
    coolDowns: coolDownsOf(kernel),
    waits: startsOf(kernel).map((atMs) => (atMs - startMs) / 1000),
  };
  if ([load.succeeded, load.executions, load.outputs].every((count) => count === runs)) return load;
  throw new Error(`not every run has one execution and its output: ${JSON.stringify(load)}`);
}

export function describeLoad({
  runs,
  calls,
  executions,
  outputs,
  coolDowns,
  waits,
}: Load): string[] {
  const { submitsPerMinute, submitBurst } = SETTINGS.plan.jobs;
  const p95 = quantile(waits, 0.95);
  const bound = boundSeconds(runs, coolDowns);
  const cooled = coolDowns.map(f).join(', ');
  return [
    `${runs} runs at once, ${submitsPerMinute} calls a minute, burst ${submitBurst}`,
    `calls of jobs.run ${calls}, answers of 429 ${REFUSED.length}, replies lost ${LOST.length}`,
    `cool-downs ${cooled}`,
    `executions ${executions}, outputs ${outputs}`,
    `time to running   p50 ${f(quantile(waits, 0.5))}   p95 ${f(p95)}   max ${f(quantile(waits, 1))}`,
    `bound of the same faults at p95 ${f(bound)}   ratio ${(p95 / bound).toFixed(3)}`,
    `bound of the rate alone at p95 ${f(boundSeconds(runs, [], 0))}`,
  ];
}

/** Each push late by its own time, and a third of the messages twice. */
function openKernel(): Kernel {
  const random = new Random(17);
  const kernel: Kernel = new Kernel({
    world: {
      loggedCallsMax: 0,
      run: { startMs: 0 },
      pubsub: { duplication: 0.33 },
      storage: { notificationDuplication: 0.33, notificationSpreadMs: PUSH_LATE_MS },
    },
    guest: () => ({ ...GOOD_GUEST, bootMs: 0, workMs: 20_000 }),
    interference: {
      around: (_actor, _call, perform) => perform(),
      push: async () => {
        await kernel.clock.sleep(random.below(PUSH_LATE_MS));
        return 'deliver';
      },
    },
  });
  return kernel;
}

function plantFaults({ world }: Kernel): void {
  const once = (after: number) => ({ match: { method: RUN, after }, times: 1 });
  for (const call of REFUSED) {
    world.faults.plant({ ...once(call), effect: 'before', kind: 'status', status: 429 });
  }
  for (const call of LOST) world.faults.plant({ ...once(call), effect: 'after', kind: 'hang' });
}

const requestOf = (index: number) => ({
  runId: `fit-${index + 1}`,
  runtime: 'cloudrun-jobs',
  resources: { class: 'S', base: 'base-ml' },
  command: ['python', 'fit.py'],
  outputs: { '/out': `gs://${SETTINGS.plan.bucket}/outputs/fit-${index + 1}/` },
});

const outputsOf = ({ world }: Kernel) =>
  [...(world.storage.buckets.get(SETTINGS.plan.bucket)?.objects.keys() ?? [])].filter((name) =>
    name.startsWith('outputs/'),
  ).length;

const startsOf = ({ works }: Kernel) => works.map(({ startMs }) => startMs).sort((a, b) => a - b);

/** How long nobody called, as the cool-downs that were noted say. */
function coolDownsOf({ logs }: Kernel): number[] {
  const noted = logs.filter(({ event }) => event === 'run-throttled');
  return noted.map(({ fields }) => ((fields as { waitMs: number }).waitMs ?? 0) / 1000);
}

/** The n-th of so many calls comes as soon as burst and rate let it, and nobody calls in a cool-down. */
function boundSeconds(runs: number, cooled: readonly number[], refused = REFUSED.length): number {
  const { submitsPerMinute, submitBurst } = SETTINGS.plan.jobs;
  const calls = Math.ceil(runs * 0.95) + refused;
  const queued = Math.max(0, calls - submitBurst) / (submitsPerMinute / 60);
  return queued + cooled.reduce((sum, seconds) => sum + seconds, 0);
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

const f = (seconds: number) => `${seconds.toFixed(1)} s`;
