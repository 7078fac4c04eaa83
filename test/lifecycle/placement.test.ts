// The walk over places: what each refusal means for the others, the order of trying, quotas, waiting.
import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import { decideUnplannable } from '#shared/lifecycle/decide-refused.ts';
import { machineKey, type Observation, type PlatformError } from '#shared/lifecycle/observation.ts';
import { PLACEMENT_ERRORS, placementError } from '#shared/lifecycle/placement-errors.ts';
import type { Place, RunRecord } from '#shared/lifecycle/record.ts';
import type { Candidate } from '#shared/plan/model.ts';
import {
  attempt,
  candidate,
  context,
  creator,
  INSTANCE,
  intent,
  NOW_MS,
  place,
  record,
  seen,
} from '#test/lifecycle/fixtures.ts';

const error = (code: string, change: Partial<PlatformError> = {}): PlatformError => ({
  code,
  message: '',
  details: {},
  ...change,
});
const quota = (metricName: string, limit: string) =>
  error('QUOTA_EXCEEDED', { message: 'short', details: { metricName, limit } });

const A = candidate();
const B = candidate({ zone: 'us-central1-b' });
const EAST = candidate({ region: 'us-east1', zone: 'us-east1-b' });
const SPOT_A = candidate({ provisioningModel: 'SPOT' });
const SPOT_B = candidate({ zone: 'us-central1-b', provisioningModel: 'SPOT' });

/** A run whose first intent, at `first`, was just called. */
const placing = (first: Candidate, change: Partial<RunRecord> = {}) =>
  record({
    state: 'PLACING',
    dueMs: NOW_MS + 60_000,
    attempts: [
      attempt({
        intents: [
          intent({ candidate: first, status: 'ordered', operation: null, instanceId: null }),
        ],
      }),
    ],
    ...change,
  });

function stepAfter(
  refusal: PlatformError,
  candidates: readonly Candidate[],
  change: Partial<RunRecord> = {},
  facts: Partial<Observation> = {},
) {
  const [first = A] = candidates;
  const inserts = { '1/1': { kind: 'refused', definite: true, error: refusal } } as const;
  return decide(
    placing(first, change),
    seen({ inserts, ...facts }),
    context({ creator: creator({ candidates }) }),
  );
}

/** The record after the refusal. */
function recordAfter(...args: Parameters<typeof stepAfter>): RunRecord {
  const step = stepAfter(...args);
  if (step.kind !== 'write') throw new Error(`expected a write, got ${JSON.stringify(step)}`);
  return step.record;
}

const zoneOf = (run: RunRecord) => run.attempts.at(-1)?.intents.at(-1)?.candidate.zone;
const modelOf = (run: RunRecord) =>
  run.attempts.at(-1)?.intents.at(-1)?.candidate.provisioningModel;

// Right values: Compute Engine's documented errors, as tools that walk zones treat them.
describe('what an error means for other places', () => {
  test.each([
    [error('ZONE_RESOURCE_POOL_EXHAUSTED'), 'next-zone', 'stock-out'],
    [error('ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'), 'next-zone', 'stock-out'],
    [error('STOCKOUT'), 'next-zone', 'stock-out'],
    [error('GPU_STOCKOUT'), 'next-zone', 'stock-out'],
    [error('RESOURCE_POOL_EXHAUSTED'), 'next-zone', 'stock-out'],
    [error('insufficientCapacity', { status: 503 }), 'next-zone', 'stock-out'],
    [error('REGION_RESOURCE_POOL_EXHAUSTED'), 'next-region', 'stock-out'],
    [error('UNSUPPORTED_OPERATION'), 'next-zone', 'stock-out'],
    [quota('compute.googleapis.com/gpus_all_regions', '0'), 'next-machine-type', 'quota'],
    [quota('compute.googleapis.com/cpus_all_regions', '12'), 'next-machine-type', 'quota'],
    [quota('compute.googleapis.com/nvidia_l4_gpus', '1'), 'next-region', 'quota'],
    [
      error('quotaExceeded', {
        status: 403,
        message: "Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.",
      }),
      'next-machine-type',
      'quota',
    ],
    [
      error('quotaExceeded', {
        status: 403,
        message: 'Quota CPUS exceeded. Limit: 24.0 in region us-central1.',
      }),
      'next-region',
      'quota',
    ],
    [error('quotaExceeded', { status: 429 }), 'next-region', 'quota'],
    [error('IP_SPACE_EXHAUSTED'), 'next-region', 'quota'],
    [error('RESOURCE_NOT_FOUND'), 'next-zone', 'stock-out'],
    [error('RESOURCE_NOT_READY'), 'wait', 'stock-out'],
    [error('resourceNotReady', { status: 400 }), 'wait', 'stock-out'],
    [error('RESOURCE_OPERATION_RATE_EXCEEDED'), 'wait', 'stock-out'],
    [error('rateLimitExceeded', { status: 403 }), 'wait', 'stock-out'],
    [error('somethingNew', { status: 429 }), 'wait', 'stock-out'],
    [error('CONCURRENT_OPERATIONS_QUOTA_EXCEEDED', { status: 403 }), 'wait', 'stock-out'],
    [error('SERVICE_UNAVAILABLE_FOR_LOCATION'), 'next-zone', 'stock-out'],
    [error('SERVICE_UNAVAILABLE_FOR_LOCATION', { status: 500 }), 'unknown', 'refused'],
    [error('backendError', { status: 500 }), 'unknown', 'refused'],
    [error('invalid', { status: 502 }), 'unknown', 'refused'],
    [error('timeout', { status: 408 }), 'unknown', 'refused'],
    [error('INTERNAL_ERROR'), 'next-zone', 'stock-out'],
    [
      error('invalid', {
        status: 400,
        message:
          "Invalid value for field 'resource.machineType': 'zones/us-central1-a/machineTypes/g2-standard-4'. Machine type with name 'g2-standard-4' does not exist in zone 'us-central1-a'.",
      }),
      'next-zone',
      'refused',
    ],
    [
      error('notFound', {
        status: 404,
        message:
          "The resource 'projects/p/zones/us-central1-a/acceleratorTypes/nvidia-l4' was not found",
      }),
      'next-zone',
      'refused',
    ],
    [
      error('notFound', {
        status: 404,
        message: "The resource 'projects/p/regions/us-east1/subnetworks/s' was not found",
      }),
      'next-region',
      'refused',
    ],
    [
      error('forbidden', {
        status: 403,
        message: 'Location us-central1-x is not found or access is unauthorized.',
      }),
      'next-zone',
      'refused',
    ],
    [
      error('forbidden', {
        status: 403,
        message:
          "Required 'compute.instances.create' permission for 'projects/p/zones/z/instances/i'",
      }),
      'stop',
      'refused',
    ],
    [error('PERMISSIONS_ERROR'), 'stop', 'refused'],
    [error('SERVICE_ACCOUNT_ACCESS_DENIED'), 'stop', 'refused'],
    [error('INVALID_FIELD_VALUE'), 'stop', 'refused'],
    [
      error('invalid', { status: 400, message: "Invalid value for field 'resource.name': 'X'." }),
      'stop',
      'refused',
    ],
    [
      error('INVALID_USAGE', {
        message: 'Requested disk size cannot be smaller than the image size',
      }),
      'stop',
      'refused',
    ],
    [error('PROJECT_NOT_FOUND'), 'stop', 'refused'],
    [
      error('notFound', {
        status: 404,
        message: "The resource 'projects/p/global/networks/n' was not found",
      }),
      'stop',
      'refused',
    ],
    [error('ALREADY_EXISTS'), 'stop', 'refused'],
    [error('A_CODE_OF_NEXT_YEAR'), 'next-zone', 'stock-out'],
  ] as const)('%o: %s, %s', (given, verdict, cause) => {
    const row = placementError(given);
    expect(row.verdict).toBe(verdict);
    if (verdict !== 'unknown') expect(row.cause).toBe(cause);
  });

  test('each row has its own name', () => {
    const names = PLACEMENT_ERRORS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('which place is next', () => {
  test('a zone without stock: the next zone; a region without: the next region', () => {
    expect(zoneOf(recordAfter(error('ZONE_RESOURCE_POOL_EXHAUSTED'), [A, B, EAST]))).toBe(B.zone);
    expect(zoneOf(recordAfter(error('REGION_RESOURCE_POOL_EXHAUSTED'), [A, B, EAST]))).toBe(
      EAST.zone,
    );
  });

  test('P39: a regional quota rules out the region for that machine type and model alone', () => {
    const short = quota('compute.googleapis.com/cpus', '24');
    expect(zoneOf(recordAfter(short, [A, B, EAST]))).toBe(EAST.zone);
    const other = candidate({ zone: 'us-central1-b', machineType: 'n2-standard-4' });
    expect(zoneOf(recordAfter(short, [A, other, EAST]))).toBe(other.zone);
    expect(modelOf(recordAfter(short, [SPOT_A, SPOT_B, A]))).toBe('STANDARD');
  });

  test('P36: a zone without the machine type is passed over, and is no shortage of capacity', () => {
    const absent = error('invalid', {
      status: 400,
      message:
        "Invalid value for field 'resource.machineType': 'm'. It does not exist in zone 'z'.",
    });
    const next = recordAfter(absent, [A, B]);
    expect(zoneOf(next)).toBe(B.zone);
    expect(next.places).toMatchObject([{ cause: 'refused', mayPass: false }]);
    // Nowhere: no waiting helps, and the end says what it is.
    const claim = { kind: 'held', holder: { by: 'control' } } as const;
    const alone = recordAfter(
      absent,
      [A],
      {},
      { claim, marker: { marker: null, generation: '0' }, sealed: true },
    );
    expect(alone).toMatchObject({ state: 'FAILED', end: { cause: 'refused' } });
  });

  test('P25: zones that the platform names come first, those outside the request never', () => {
    const hinted = error('ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', {
      details: { zonesAvailable: 'us-central1-f, europe-west4-a' },
    });
    const f = candidate({ zone: 'us-central1-f' });
    const next = recordAfter(hinted, [A, B, EAST, f]);
    expect(zoneOf(next)).toBe('us-central1-f');
    expect(next.places[0]?.zonesWithStock).toEqual(['us-central1-f', 'europe-west4-a']);
  });

  test('P25: a hint for a Spot machine does not bring a standard one forward', () => {
    const hinted = error('ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', {
      details: { zonesAvailable: 'us-central1-f' },
    });
    const f = candidate({ zone: 'us-central1-f' });
    expect(zoneOf(recordAfter(hinted, [SPOT_A, SPOT_B, A, f]))).toBe(SPOT_B.zone);
  });

  test('P25: nor does a hint for one machine type bring another one forward', () => {
    const hinted = error('ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', {
      details: { zonesAvailable: 'us-central1-f' },
    });
    const other = candidate({ zone: 'us-central1-f', machineType: 'n2-standard-4' });
    expect(zoneOf(recordAfter(hinted, [A, B, other]))).toBe(B.zone);
  });

  test('spot-then-standard falls back when every Spot place was tried', () => {
    const none = error('ZONE_RESOURCE_POOL_EXHAUSTED');
    expect(modelOf(recordAfter(none, [SPOT_A, SPOT_B, A, B]))).toBe('SPOT');
    const tried = { places: [place({ provisioningModel: 'SPOT' })], placesCount: 1 };
    const next = recordAfter(none, [SPOT_B, SPOT_A, A, B], tried);
    expect([modelOf(next), zoneOf(next)]).toEqual(['STANDARD', A.zone]);
  });

  test('a place that was limited is tried again after a pause, twice, and then passed over', () => {
    const busy = error('RESOURCE_OPERATION_RATE_EXCEEDED');
    const submit = (nowMs: number) => context({ nowMs, creator: creator({ candidates: [A, B] }) });
    const refused = (n: number) => ({
      [`1/${n}`]: { kind: 'refused', definite: true, error: busy } as const,
    });
    const write = (run: RunRecord, facts: Partial<Observation>, nowMs: number) => {
      const step = decide(run, seen(facts), submit(nowMs));
      if (step.kind !== 'write') throw new Error(step.kind);
      return step.record;
    };
    let run = placing(A);
    for (const [n, waitMs] of [
      [1, 10_000],
      [2, 30_000],
    ] as const) {
      const paused = write(run, { inserts: refused(n) }, NOW_MS);
      expect(paused).toMatchObject({ state: 'WAITING', dueMs: NOW_MS + waitMs, placesCount: 1 });
      run = write(paused, {}, NOW_MS + waitMs);
      expect(zoneOf(run)).toBe(A.zone);
    }
    const next = write(run, { inserts: refused(3) }, NOW_MS);
    expect([next.state, zoneOf(next)]).toEqual(['PLACING', B.zone]);
    expect(next.places).toMatchObject([{ zone: A.zone, tries: 3, called: true }]);
    // The next place begins with the shortest pause.
    expect(write(next, { inserts: refused(4) }, NOW_MS).dueMs).toBe(NOW_MS + 10_000);
  });

  test('a limit in all regions rules out its machine type; a smaller one may fit', () => {
    const large = candidate({ machineType: 'a2-highgpu-8g' });
    const other = candidate({ machineType: 'a2-highgpu-8g', zone: 'us-central1-b' });
    const small = candidate({ machineType: 'a2-highgpu-1g' });
    const short = quota('compute.googleapis.com/gpus_all_regions', '4');
    const next = recordAfter(short, [large, other, small]);
    expect(next.attempts[0]?.intents[0]?.candidate.machineType).toBe('a2-highgpu-1g');
    const accepted = record({ state: 'ACCEPTED', dueMs: NOW_MS, attempts: [] });
    const quotas = { 'all regions': [{ metric: 'GPUS_ALL_REGIONS', limit: 4, usage: 0 }] };
    const first = decide(
      accepted,
      seen({ quotas }),
      context({ creator: creator({ candidates: [large, other, small] }) }),
    );
    expect(first).toMatchObject({
      record: {
        places: [{ machineType: 'a2-highgpu-8g', called: false, mayPass: false }],
        attempts: [{ intents: [{ candidate: { machineType: 'a2-highgpu-1g' } }] }],
      },
    });
  });

  test('a zone that does not exist is passed over', () => {
    for (const message of [
      "Invalid value for field 'zone': 'us-east1-a'. Unknown zone.",
      "The resource 'projects/p/zones/us-east1-a' was not found",
    ]) {
      const code = message.startsWith('Inv') ? 'invalid' : 'notFound';
      const next = recordAfter(error(code, { status: 400, message }), [A, B]);
      expect(zoneOf(next)).toBe(B.zone);
      expect(next.places).toMatchObject([{ cause: 'refused' }]);
    }
  });

  test('a walk over as many places as a request may have tries each once, whatever it waits for', () => {
    const candidates = Array.from({ length: 100 }, (_, n) =>
      candidate({ zone: `us-central1-${n}` }),
    );
    let run = placing(candidates[0] ?? A);
    const tried: string[] = [];
    for (let n = 1; n <= 102; n++) {
      tried.push(zoneOf(run) ?? '');
      const code = n === 50 ? 'RESOURCE_NOT_READY' : 'ZONE_RESOURCE_POOL_EXHAUSTED';
      const inserts = {
        [`1/${n}`]: { kind: 'refused', definite: true, error: error(code) },
      } as const;
      const submit = (nowMs: number) => context({ nowMs, creator: creator({ candidates }) });
      const step = decide(run, seen({ inserts }), submit(NOW_MS));
      if (step.kind !== 'write') throw new Error(step.kind);
      run = step.record;
      if (run.attempts[0]?.walk === 2) break;
      if (run.state !== 'WAITING') continue;
      const again = decide(run, seen(), submit(run.dueMs ?? 0));
      if (again.kind !== 'write') throw new Error(again.kind);
      run = again.record;
    }
    expect(tried).toHaveLength(101);
    expect(new Set(tried).size).toBe(100);
    expect(run).toMatchObject({ state: 'WAITING', placesCount: 100, attempts: [{ walk: 2 }] });
  });

  test('E11: where an insert was given up on, the next attempt looks elsewhere first', () => {
    const end = {
      status: 'LOST',
      cause: 'machine-lost',
      step: null,
      exitCode: null,
      detail: '',
      atMs: NOW_MS,
    } as const;
    const before = attempt({ end, intents: [intent({ candidate: A, status: 'abandoned' })] });
    const run = record({ state: 'WAITING', dueMs: NOW_MS, attempts: [before] });
    const step = decide(run, seen(), context({ creator: creator({ candidates: [A, B] }) }));
    expect(step).toMatchObject({
      record: { attempts: [{}, { intents: [{ candidate: { zone: B.zone } }] }] },
    });
  });

  test('what was preempted or out of stock lately is tried after the rest of its model', () => {
    const end = {
      status: 'PREEMPTED',
      cause: 'preempted',
      step: null,
      exitCode: null,
      detail: '',
    } as const;
    const begin = (atMs: number, change: Partial<RunRecord> = {}) => {
      const before = attempt({ end: { ...end, atMs }, intents: [intent({ candidate: SPOT_A })] });
      const run = record({ state: 'WAITING', dueMs: NOW_MS, attempts: [before], ...change });
      const candidates = [SPOT_A, SPOT_B, A];
      const step = decide(run, seen(), context({ creator: creator({ candidates }) }));
      if (step.kind !== 'write') throw new Error(step.kind);
      return [modelOf(step.record), zoneOf(step.record)];
    };
    expect(begin(NOW_MS - 60_000)).toEqual(['SPOT', SPOT_B.zone]);
    expect(begin(NOW_MS - 600_001)).toEqual(['SPOT', SPOT_A.zone]);
    // Both: the one that failed longest ago.
    const places = [place({ ...SPOT_B, atMs: NOW_MS - 30_000 } as Partial<Place>)];
    expect(begin(NOW_MS - 60_000, { places, placesCount: 1 })).toEqual(['SPOT', SPOT_A.zone]);
  });
});

describe('the end of a walk', () => {
  const control = { kind: 'held', holder: { by: 'control' } } as const;
  const fenced = {
    claim: control,
    marker: { marker: null, generation: '0' },
    sealed: true,
  } as const;

  test('A103, P33: a global quota of 0 ends it after one place, with metric, limit and reach', () => {
    const short = quota('compute.googleapis.com/gpus_all_regions', '0');
    expect(stepAfter(short, [A, B, EAST], {}, {}).kind).toBe('take-claim');
    const ended = recordAfter(short, [A, B, EAST], {}, fenced);
    expect(ended).toMatchObject({ state: 'NO_CAPACITY', placesCount: 1, end: { cause: 'quota' } });
    expect(ended.end?.detail).toContain("'compute.googleapis.com/gpus_all_regions' (limit 0)");
    expect(ended.end?.detail).toContain('all regions together');
  });

  test('a global quota that is in use is waited for, without trying other places', () => {
    const waiting = recordAfter(quota('compute.googleapis.com/gpus_all_regions', '8'), [
      A,
      B,
      EAST,
    ]);
    expect(waiting).toMatchObject({ state: 'WAITING', placesCount: 1, attempts: [{ walk: 2 }] });
  });

  test('A113: a further walk tries all places once more, with longer pauses, until the wait is over', () => {
    const none = error('ZONE_RESOURCE_POOL_EXHAUSTED');
    const waiting = recordAfter(none, [A]);
    expect(waiting).toMatchObject({
      state: 'WAITING',
      dueMs: context().nowMs + 30_000,
      attempts: [{ walk: 2, walkFrom: 1, intents: [] }],
    });
    const submit = context({ nowMs: waiting.dueMs ?? 0, creator: creator({ candidates: [A] }) });
    const again = decide(waiting, seen(), submit);
    if (again.kind !== 'write') throw new Error(again.kind);
    expect(zoneOf(again.record)).toBe(A.zone);
    expect(again.record.attempts[0]?.intentCount).toBe(2);
    const terms = { ...record().terms, waitForCapacitySeconds: 29 };
    const ended = recordAfter(none, [A], { terms }, fenced);
    expect(ended).toMatchObject({ state: 'NO_CAPACITY', end: { cause: 'stock-out' } });
    expect(ended.end?.detail).toContain('1 × ZONE_RESOURCE_POOL_EXHAUSTED');
  });

  test('one place without stock among short quotas is a stock-out: waiting may help', () => {
    const places = [
      place({
        ...EAST,
        code: 'QUOTA_EXCEEDED',
        verdict: 'next-region',
        cause: 'quota',
      } as Partial<Place>),
    ];
    const terms = { ...record().terms, waitForCapacitySeconds: 0 };
    const change = { places, placesCount: 1, terms };
    const ended = recordAfter(error('ZONE_RESOURCE_POOL_EXHAUSTED'), [A, EAST], change, fenced);
    expect(ended.end?.cause).toBe('stock-out');
    const short = recordAfter(quota('compute.googleapis.com/cpus', '8'), [A, EAST], change, fenced);
    expect(short.end?.cause).toBe('quota');
  });

  test('P38: a right that is missing ends it at once, with the role to grant', () => {
    const denied = error('SERVICE_ACCOUNT_ACCESS_DENIED', {
      message:
        "The user does not have access to service account 'worker@p.iam.gserviceaccount.com'.",
    });
    const ended = recordAfter(denied, [A, B, EAST], {}, fenced);
    expect(ended).toMatchObject({ state: 'FAILED', placesCount: 1, end: { cause: 'refused' } });
    expect(ended.end?.detail).toContain('worker@p.iam.gserviceaccount.com');
    expect(ended.end?.detail).toContain('roles/iam.serviceAccountUser');
  });
});

describe('quotas before a walk', () => {
  const L4 = { type: 'nvidia-l4', count: 1 };
  const g2 = (change: Partial<Candidate> = {}) =>
    candidate({ machineType: 'g2-standard-4', ...change });
  const east = g2({ region: 'us-east1', zone: 'us-east1-b' });
  const accepted = record({ state: 'ACCEPTED', dueMs: NOW_MS, attempts: [] });
  const begin = (candidates: readonly Candidate[], quotas: Observation['quotas']) =>
    decide(accepted, seen({ quotas }), context({ creator: creator({ candidates }, L4) }));
  const metric = (name: string, limit: number, usage = 0) => ({ metric: name, limit, usage });

  test('A102: they are read once, for the regions of the candidates, and for GPUs alone', () => {
    expect(begin([g2(), g2({ zone: 'us-central1-b' }), east], null)).toEqual({
      kind: 'read-quotas',
      scopes: ['all regions', 'us-central1', 'us-east1'],
    });
    const cpu = decide(accepted, seen(), context({ creator: creator() }));
    expect(cpu.kind).toBe('write');
  });

  test('A102, A103: a region whose metric is listed and short is passed over, and noted', () => {
    const quotas = {
      'all regions': [metric('GPUS_ALL_REGIONS', 8)],
      'us-central1': [metric('NVIDIA_L4_GPUS', 1, 1), metric('PREEMPTIBLE_NVIDIA_L4_GPUS', 0)],
      'us-east1': [metric('NVIDIA_L4_GPUS', 1)],
    };
    const step = begin([g2(), g2({ zone: 'us-central1-b' }), east], quotas);
    if (step.kind !== 'write') throw new Error(step.kind);
    expect(zoneOf(step.record)).toBe('us-east1-b');
    expect(step.record.places).toMatchObject([
      { zone: 'us-central1-a', cause: 'quota', mayPass: true },
    ]);
    expect(step.record.places[0]?.message).toBe(
      "Quota 'NVIDIA_L4_GPUS' is short: limit 1 in region us-central1, 1 in use, 1 needed",
    );
  });

  test('a metric that is not listed, or a region that could not be read, says nothing', () => {
    for (const quotas of [{}, { 'us-central1': [metric('CPUS', 0)] }]) {
      const step = begin([g2(), east], quotas);
      if (step.kind !== 'write') throw new Error(step.kind);
      expect(zoneOf(step.record)).toBe('us-central1-a');
    }
  });

  test.each([
    {
      name: 'standard short, preemptible free',
      model: 'STANDARD',
      standard: 0,
      preemptible: 1,
      zone: 'us-central1-a',
    },
    {
      name: 'Spot, preemptible not granted, standard free',
      model: 'SPOT',
      standard: 1,
      preemptible: 0,
      zone: 'us-central1-a',
    },
    { name: 'Spot, both short', model: 'SPOT', standard: 0, preemptible: 0, zone: 'us-east1-b' },
  ] as const)('either pool will do: $name', ({ model, standard, preemptible, zone }) => {
    const quotas = {
      'us-central1': [
        metric('NVIDIA_L4_GPUS', standard),
        metric('PREEMPTIBLE_NVIDIA_L4_GPUS', preemptible),
      ],
    };
    const candidates = [g2({ provisioningModel: model }), { ...east, provisioningModel: model }];
    const step = begin(candidates, quotas);
    if (step.kind !== 'write') throw new Error(step.kind);
    expect(zoneOf(step.record)).toBe(zone);
  });

  test('P33: a global limit of 0 ends the attempt without a call; one that is in use is waited for', () => {
    const none = begin([g2(), east], { 'all regions': [metric('GPUS_ALL_REGIONS', 0)] });
    if (none.kind !== 'write') throw new Error(none.kind);
    expect(none.record).toMatchObject({
      state: 'PLACING',
      placesCount: 1,
      attempts: [{ intents: [] }],
    });
    const submit = context({ creator: creator({ candidates: [g2(), east] }, L4) });
    expect(decide({ ...none.record, dueMs: NOW_MS }, seen(), submit).kind).toBe('take-claim');
    const busy = begin([g2(), east], { 'all regions': [metric('GPUS_ALL_REGIONS', 4, 4)] });
    expect(busy).toMatchObject({ kind: 'write', record: { state: 'WAITING', placesCount: 1 } });
  });
});

describe('a request that cannot be planned any more', () => {
  const gone = 'inputs is gs://b/o: it is gone';
  const judge = (run: RunRecord, facts: Partial<Observation> = {}) =>
    decideUnplannable(run, seen(facts), context(), gone);

  test('before and between attempts the run ends as refused', () => {
    const accepted = record({ state: 'ACCEPTED', attempts: [] });
    expect(judge(accepted)).toMatchObject({ record: { state: 'FAILED', end: { detail: gone } } });
  });

  test('an attempt that waits for a place ends after its claim is taken, or adopts its holder', () => {
    const waiting = record({ state: 'WAITING', attempts: [attempt({ intents: [] })] });
    const machine = { by: 'machine', instanceId: '7', zone: A.zone, bootId: 'b' } as const;
    expect(judge(waiting)?.kind).toBe('take-claim');
    expect(judge(waiting, { claim: { kind: 'held', holder: machine } })).toMatchObject({
      record: { state: 'PROVISIONING', attempts: [{ claim: machine }] },
    });
    const fenced = { marker: { marker: null, generation: '0' }, sealed: true };
    const ended = judge(waiting, { claim: { kind: 'held', holder: { by: 'control' } }, ...fenced });
    expect(ended).toMatchObject({ record: { state: 'FAILED', end: { cause: 'refused' } } });
  });

  test('what has a machine goes on', () => {
    expect(judge(record())).toBeNull();
    expect(judge(placing(A))?.kind).toBe('take-claim');
  });
});

test('an operation that failed after its machine took the claim is nobody’s to place again', () => {
  const machine = { by: 'machine', instanceId: '111', zone: A.zone, bootId: 'b' } as const;
  const operations = { '1/1': { kind: 'failed', error: error('INTERNAL_ERROR') } } as const;
  const machines = { [machineKey(INSTANCE, A.zone)]: { kind: 'gone' } } as const;
  const facts = seen({ operations, machines, claim: { kind: 'held', holder: machine } });
  const held = record({ attempts: [attempt({ claim: machine })] });
  expect(decide(held, facts, context({ creator: creator() })).kind).toBe('rest');
});

test('P30: a machine found by a 409 where an earlier call may have landed late settles nothing', () => {
  const there = {
    kind: 'there',
    id: '7',
    status: 'RUNNING',
    ours: true,
    startedMs: NOW_MS,
  } as const;
  const facts = seen({
    claim: { kind: 'free' },
    inserts: { '1/1': { kind: 'conflict' } },
    machines: { [machineKey(INSTANCE, A.zone)]: there },
  });
  const adopt = (change: Partial<RunRecord>) => {
    const step = decide(placing(A, change), facts, context({ creator: creator() }));
    if (step.kind !== 'write') throw new Error(step.kind);
    return step.record.attempts[0]?.intents.map(({ status, instanceId }) => [status, instanceId]);
  };
  expect(adopt({})).toEqual([['accepted', '7']]);
  const tried = { places: [place()], placesCount: 1 };
  expect(adopt(tried)).toEqual([
    ['ordered', null],
    ['accepted', '7'],
  ]);
  // A quota that was known to be short was no call.
  expect(adopt({ places: [place({ called: false })], placesCount: 1 })).toEqual([
    ['accepted', '7'],
  ]);
});
