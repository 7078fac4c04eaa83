// A seed's scenario as plain data: the runs, which faults there are and how often they hit, and what
// happens when. Drawn from the seed alone; shrinking takes parts of it away.
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import type { Random } from '#scripts/local-cloud/random.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import { Draws, pick } from '#test/simulation/swarm/draws.ts';
import {
  FAULTS,
  type FaultName,
  MISHAPS,
  type MishapKind,
  ratesOf,
} from '#test/simulation/swarm/faults.ts';
import { THEMES, type Theme } from '#test/simulation/swarm/themes.ts';

const MINUTE_MS = 60_000;
/** Enough for half an hour of the dearest machine here, and for a little more. */
const BUDGETS_USD = [0.078, 0.155, 0.18];
export const ZONES = ['us-central1-a', 'us-central1-b', 'us-central1-c'] as const;

export interface ScenarioRun {
  readonly runId: string;
  readonly atMs: number;
  readonly request: Readonly<Record<string, unknown>>;
}

export interface Mishap {
  /** Its place in the seed's own list. */
  readonly number: number;
  readonly kind: MishapKind;
  readonly atMs: number;
  /** Which of what there is, as a fraction of the list. */
  readonly which: number;
  readonly forMs: number;
}

export interface Scenario {
  readonly seed: number;
  readonly runs: readonly ScenarioRun[];
  readonly mishaps: readonly Mishap[];
  /** Faults of this scenario; of those that hit by chance, how often. */
  readonly rates: Readonly<Partial<Record<FaultName, number>>>;
  /** Nothing goes wrong any more after this time. */
  readonly chaosMs: number;
  /** At most so many faults hit by chance; for shrinking. */
  readonly hitsMax: number;
}

export function drawScenario(seed: number): Scenario {
  const draws = new Draws(seed);
  const size = draws.of('size');
  const large = size.chance(0.02);
  const theme = drawTheme(draws.of('theme'));
  const minutes = 4 + size.below(large || size.chance(0.05) ? 60 : 14);
  const chaosMs = Math.max(minutes, theme.minutes ?? 0) * MINUTE_MS;
  const count = large ? 8 + size.below(8) : pick(size, [1, 1, 2, 3]);
  const runs = Array.from({ length: count }, (_, index) => {
    const run = drawRun(draws, index, chaosMs);
    const request = isJob(run.request) ? {} : theme.request;
    return { ...run, request: { ...run.request, ...request } };
  });
  const rates = theme.alone === true ? theme.rates : { ...drawRates(draws), ...theme.rates };
  const mishaps = drawMishaps(draws, rates, chaosMs);
  const lasting = mishaps.filter(({ kind }) => LASTING.includes(kind));
  return {
    seed,
    runs,
    mishaps,
    rates,
    chaosMs: Math.max(chaosMs, ...lasting.map(({ atMs, forMs }) => atMs + forMs)),
    hitsMax: Number.POSITIVE_INFINITY,
  };
}

export const isJob = (request: ScenarioRun['request']) => request.runtime === 'cloudrun-jobs';

/** A third of the runs, beside machines in the same world. */
function drawJob(draws: Draws, index: number, chaosMs: number): ScenarioRun {
  const random = draws.of(`job-${index}`);
  const retries = () => random.below(3);
  return {
    runId: `r${index + 1}`,
    atMs: random.below(chaosMs / 2),
    request: {
      runtime: 'cloudrun-jobs',
      command: ['python', 'fit.py'],
      resources: { class: pick(random, ['S', 'M', 'L']), base: 'base-ml' },
      tasks: pick(random, [1, 1, 1, 2, 3]),
      ttlSeconds: pick(random, [600, 900, 1800]),
      waitForCapacitySeconds: pick(random, [0, 120, 900]),
      retry: { infrastructure: retries(), outOfMemory: retries(), failed: retries() },
      ...(random.chance(0.25) ? { inputs: { '/in/data': inputUri(`r${index + 1}`) } } : {}),
    },
  };
}

function drawRun(draws: Draws, index: number, chaosMs: number): ScenarioRun {
  if (draws.of(`runtime-${index}`).chance(0.33)) return drawJob(draws, index, chaosMs);
  const random = draws.of(`run-${index}`);
  const retries = () => random.below(3);
  return {
    runId: `r${index + 1}`,
    atMs: random.below(chaosMs / 2),
    request: {
      ...drawNeed(draws.of(`need-${index}`), `r${index + 1}`),
      place: { zones: ZONES.slice(0, 1 + random.below(ZONES.length)) },
      provisioning: pick(random, ['standard', 'spot', 'spot-then-standard']),
      ttlSeconds: pick(random, [600, 900, 1800]),
      waitForCapacitySeconds: pick(random, [0, 120, 900]),
      retry: {
        preempted: retries(),
        infrastructure: retries(),
        outOfMemory: retries(),
        failed: retries(),
      },
    },
  };
}

export const inputObject = (runId: string) => `inputs/${runId}`;
const inputUri = (runId: string) => `gs://${SETTINGS.plan.bucket}/${inputObject(runId)}`;

/** What few runs ask for: other machines, a budget, inputs, a look at what failed. */
function drawNeed(random: Random, runId: string): Readonly<Record<string, unknown>> {
  const larger = { resources: { machineTypes: ['e2-standard-4', 'e2-standard-8'] } };
  const withGpu = { resources: { gpu: { type: 'l4' }, machineType: 'g2-standard-4' } };
  return {
    ...(random.chance(0.3) ? larger : random.chance(0.15) ? withGpu : {}),
    ...(random.chance(0.25) ? { budgetUsd: pick(random, BUDGETS_USD) } : {}),
    ...(random.chance(0.15) ? { keepOnFailureSeconds: pick(random, [120, 600]) } : {}),
    ...(random.chance(0.25) ? { inputs: { '/in/data': inputUri(runId) } } : {}),
  };
}

/** A swarm: each seed has its own few faults, so that each meets others in every combination. */
function drawRates(draws: Draws): Scenario['rates'] {
  const random = draws.of('faults');
  const share = pick(random, [0.05, 0.1, 0.2, 0.35, 0.5]);
  const rates: Partial<Record<FaultName, number>> = {};
  for (const name of FAULTS) {
    if (random.chance(share)) rates[name] = pick(random, ratesOf(name));
  }
  // Signals make much else rarer: where none is sent, the sweep alone must find what happened.
  return random.chance(0.25) ? { ...rates, 'signals-none': 1 } : rates;
}

const drawTheme = (random: Random): Theme =>
  random.chance(0.5) ? pick(random, THEMES) : { rates: {} };

function drawMishaps(draws: Draws, rates: Scenario['rates'], chaosMs: number): Mishap[] {
  const mishaps: Omit<Mishap, 'number'>[] = [];
  for (const kind of MISHAPS) {
    if (rates[kind] === undefined) continue;
    const random = draws.of(kind);
    const count = 1 + random.below(3);
    for (let index = 0; index < count; index++) {
      const atMs = random.below(EARLY.includes(kind) ? chaosMs / 8 : chaosMs);
      const forMs = drawLength(kind, random) * MINUTE_MS;
      mishaps.push({ kind, atMs, which: random.fraction(), forMs });
    }
  }
  const inTime = mishaps.sort((left, right) => left.atMs - right.atMs);
  return inTime.map((mishap, number) => ({ number, ...mishap }));
}

/** Before most runs are asked for. */
const EARLY: readonly MishapKind[] = ['cancel-early', 'insert-outage'];

/** In minutes. */
function drawLength(kind: MishapKind, random: Random): number {
  if (kind === 'insert-outage') return random.chance(0.2) ? 165 : 25;
  if (kind === 'bucket-outage' && random.chance(0.2)) return 30;
  return 1 + random.below(30);
}

/** These go on for as long as they do, whatever the scenario's own time. */
const LASTING: readonly MishapKind[] = ['insert-outage', 'bucket-outage'];

/** The world's own ways, as the scenario's faults say. */
export function worldOf({ seed, rates }: Scenario): WorldChoices {
  const random = new Draws(seed).of('world');
  const draw = (values: readonly number[]) => pick(random, values);
  const has = (name: FaultName) => rates[name] !== undefined;
  const spreads = [20 * 1000, 10 * MINUTE_MS, 120 * MINUTE_MS];
  const zones = Object.fromEntries(ZONES.map((zone) => [zone, {}]));
  const slowStart = draw([60_000, 5 * MINUTE_MS, 11 * MINUTE_MS]);
  /** A machine that runs can be seen. */
  const lag = (has('slow-start') ? slowStart : 2000) + 3000;
  const slowDelete = draw([60_000, 5 * MINUTE_MS]);
  const windowMs = draw([1_000, 60_000, 10 * MINUTE_MS]);
  const spreadMs = draw(spreads);
  const signalSpreadMs = draw(spreads);
  return {
    seed,
    loggedCallsMax: 0,
    storage: {
      notificationDuplication: rates['notification-twice'] ?? 0,
      notificationSpreadMs: has('notification-late') ? spreadMs : 0,
    },
    compute: {
      zones,
      provisioningMs: has('slow-start') ? slowStart : 2000,
      removalMs: has('slow-delete') ? slowDelete : 2000,
      ...(has('request-id-forgotten') ? { requestIdWindowMs: windowMs } : {}),
      ...(has('machines-invisible') && !has('failed-but-there')
        ? { getLagMs: lag, listLagMs: lag }
        : {}),
      deleteWhileCreating: has('delete-not-ready') ? 'not-ready' : 'accept',
      ...(has('ttl-late') ? { ttlDelayMs: 30_000, ttlOperation: true } : {}),
    },
    logging: {
      sink: {
        delayMs: 1000,
        duplication: rates['signal-twice'] ?? 0,
        spreadMs: has('signal-late') ? signalSpreadMs : 0,
        loss: has('signals-none') ? 1 : 0,
      },
    },
    pubsub: { duplication: (rates['message-twice'] ?? 0) / 2 },
  };
}
