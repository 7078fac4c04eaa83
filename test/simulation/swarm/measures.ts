// Two distributions in virtual time, from seeded worlds of their own: how long a machine outlives its
// deadline when layers that would take it away are lost, and how long a reclaimed run is without a
// container.
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import type { Interference } from '#test/simulation/delivery.ts';
import { GOOD_GUEST, type GuestPlan } from '#test/simulation/guest.ts';
import { Kernel, SWEEP_PERIOD_MS } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';
import { Draws, pick } from '#test/simulation/swarm/draws.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Of its delete, the last call of a pass included. */
const REMOVAL_MAX_MS = 125_000;

/** What takes a machine away, besides signals. */
const LAYERS = ['platform’s limit', 'own delete', 'finalize', 'sweep'] as const;
type Layer = (typeof LAYERS)[number];

/** Throws when a machine outlives its bound. */
export async function measure(simulated: number): Promise<string> {
  const worlds = Math.min(40, Math.ceil(simulated / 50));
  const rows = ['\na machine beyond its deadline (seconds; below 0: it was gone before)'];
  for (const lost of lostSets()) rows.push(await orphanRow(lost, worlds));
  const reclaims = Math.min(200, Math.ceil(simulated / 10));
  rows.push('\nreclaim of a Spot machine → the next attempt’s container runs (seconds)');
  rows.push(await reclaimRow('signals alive', false, reclaims));
  rows.push(await reclaimRow('signals lost', true, reclaims));
  return rows.join('\n');
}

/** No layer, each pair, and all but the sweep. */
function lostSets(): Layer[][] {
  const pairs = LAYERS.flatMap((one, index) =>
    LAYERS.slice(index + 1).map((other): Layer[] => [one, other]),
  );
  return [[], ...pairs, ['platform’s limit', 'own delete', 'finalize']];
}

async function orphanRow(lost: readonly Layer[], seeds: number): Promise<string> {
  const late: number[] = [];
  for (let seed = 1; seed <= seeds; seed++) late.push(...(await outlive(seed, lost)));
  const name = lost.length === 0 ? 'no layer lost' : `${lost.join(', ')} lost`;
  const boundMs = REMOVAL_MAX_MS + (lost.includes('sweep') ? 0 : SLACK_MS + SWEEP_PERIOD_MS);
  const worst = Math.max(...late);
  if (worst > boundMs) throw new Error(`${name}: a machine ${worst} ms beyond its deadline`);
  const bound = `bound ${seconds(boundMs)}, ${late.length} machines`;
  return `  ${name.padEnd(48)} worst ${seconds(worst)}  ${bound}`;
}

/** How long each machine of a world was there after its deadline, in milliseconds. */
async function outlive(seed: number, lost: readonly Layer[]): Promise<number[]> {
  const random = new Draws(seed).of(`layers ${lost.join()}`);
  const last = new Map<string, { deadlineMs: number; lastMs: number }>();
  const ttlSeconds = pick(random, [600, 1800, 3600]);
  const hangs = random.chance(0.5);
  const guest = (): GuestPlan => ({
    bootMs: 5_000 + random.below(MINUTE_MS),
    workMs: random.chance(0.5) ? 2 * HOUR_MS : random.below(20 * MINUTE_MS),
    exitCode: 0,
    selfDeleteMs: lost.includes('own delete') ? null : 20_000,
    // A guest that hangs has lost its own delete, and gives finalize nothing to see.
    ...(hangs && lost.includes('own delete') && lost.includes('finalize')
      ? { silentFrom: 'work' as const }
      : { shutdown: { containerMs: 5_000, reports: true } }),
  });
  const kernel: Kernel = new Kernel({
    world: {
      seed,
      compute: {
        provisioningMs: 2000 + random.below(9 * MINUTE_MS),
        removalMs: 1000 + random.below(REMOVAL_MAX_MS - 5000),
        ttlDelayMs: lost.includes('platform’s limit') ? 24 * HOUR_MS : random.below(30_000),
      },
      logging: { sink: { loss: 1 } },
    },
    guest,
    interference: {
      ...straight,
      push: async (name) => (name === 'finalize' && lost.includes('finalize') ? 'lose' : 'deliver'),
      moved: () => {
        for (const [id, { labels }] of kernel.world.compute.machinesById) {
          const deadlineMs = Number(labels.deadline) * 1000;
          last.set(id, { deadlineMs, lastMs: kernel.clock.nowMs() });
        }
      },
    },
  });
  kernel.request({ ...REQUEST, runId: 'r1', ttlSeconds });
  await kernel.run(4 * HOUR_MS, { sweeps: !lost.includes('sweep') });
  if (kernel.world.compute.machinesById.size > 0)
    throw new Error(`seed ${seed}: a machine is left`);
  return [...last.values()].map(({ deadlineMs, lastMs }) => lastMs - deadlineMs);
}

async function reclaimRow(name: string, signalsLost: boolean, seeds: number): Promise<string> {
  const all: number[] = [];
  for (let seed = 1; seed <= seeds; seed++) all.push(await reclaim(seed, signalsLost));
  all.sort((left, right) => left - right);
  const at = (share: number) => seconds(all[Math.ceil(all.length * share) - 1] ?? 0);
  return `  ${name.padEnd(16)} p50 ${at(0.5)}  p95 ${at(0.95)}  p99 ${at(0.99)}  of ${all.length}`;
}

/** From the platform's reclaim to the start of attempt 2's container, boot and all. */
async function reclaim(seed: number, signalsLost: boolean): Promise<number> {
  const random = new Draws(seed).of('reclaim');
  const guest = (): GuestPlan => ({
    ...GOOD_GUEST,
    bootMs: 20_000 + random.below(40_000),
    workMs: HOUR_MS,
    shutdown: { containerMs: random.below(10_000), reports: random.chance(0.7) },
  });
  const world: WorldChoices = {
    seed,
    storage: { notificationSpreadMs: 3_000 },
    compute: {
      provisioningMs: 2_000 + random.below(15_000),
      removalMs: 10_000 + random.below(MINUTE_MS),
    },
    logging: { sink: { delayMs: 1_000 + random.below(5_000), loss: signalsLost ? 1 : 0 } },
  };
  const kernel = new Kernel({ world, guest, interference: straight });
  kernel.request({ ...REQUEST, runId: 'r1', provisioning: 'spot', ttlSeconds: 7200 });
  const reclaimedMs = kernel.clock.nowMs() + 2 * MINUTE_MS + random.below(8 * MINUTE_MS);
  kernel.spawn(
    kernel.clock.sleep(reclaimedMs - kernel.clock.nowMs()).then(() => reclaimOne(kernel)),
  );
  // In periods of the sweep, whose slots stand still that way.
  for (let period = 0; period < 30; period++) {
    await kernel.run(SWEEP_PERIOD_MS);
    const next = kernel.works.find((work) => work.attempt === 2);
    if (next !== undefined) return next.startMs - reclaimedMs;
  }
  throw new Error(`seed ${seed}: no attempt 2`);
}

function reclaimOne(kernel: Kernel): void {
  for (const { project, zone, name } of kernel.world.compute.machinesById.values()) {
    kernel.call({ method: 'local.compute.preempt', params: { project, zone, name } });
  }
}

const straight: Interference = { around: (_actor, _call, perform) => perform() };
const seconds = (ms: number) => String(Math.round(ms / 1000)).padStart(6);
