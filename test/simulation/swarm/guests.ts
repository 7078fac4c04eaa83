// How each boot of a simulated machine goes: well, or as the scenario's faults have it.
import type { GuestPlan } from '#test/simulation/guest.ts';
import type { Chaos } from '#test/simulation/swarm/chaos.ts';
import { pick } from '#test/simulation/swarm/draws.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const FAILURES = [
  { cause: 'exit' },
  { cause: 'out-of-memory' },
  { cause: 'step-failed', permanent: true },
  { cause: 'step-failed', permanent: false },
  { cause: 'timeout' },
  { cause: 'timeout' },
  { cause: 'gpu-idle' },
] as const;

export function drawGuest(chaos: Chaos): GuestPlan {
  const random = chaos.draws.of('guest');
  const seconds = (most: number) => (1 + random.below(most)) * SECOND_MS;
  const plan: GuestPlan = {
    bootMs: chaos.hits('guest-boots-late') ? random.below(25 * MINUTE_MS) : seconds(60),
    workMs: seconds(180),
    exitCode: 0,
    selfDeleteMs: chaos.hits('guest-stays') ? null : seconds(30),
  };
  const changes: Partial<GuestPlan>[] = [];
  if (chaos.hits('guest-works-long')) changes.push({ workMs: random.below(40 * MINUTE_MS) });
  if (chaos.hits('guest-fails')) {
    changes.push({ exitCode: 1 + random.below(200), ...pick(random, FAILURES) });
  }
  if (chaos.hits('guest-never-claims')) changes.push({ silentFrom: 'boot' });
  if (chaos.hits('guest-hangs')) changes.push({ silentFrom: pick(random, ['claim', 'work']) });
  if (chaos.hits('guest-silent')) changes.push({ silentFrom: 'report' });
  if (!chaos.hits('guest-loses-power')) {
    const containerMs = random.below(15 * SECOND_MS);
    changes.push({ shutdown: { containerMs, reports: random.chance(0.7) } });
  }
  return Object.assign({}, plan, ...changes);
}
