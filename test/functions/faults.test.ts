// Faults of the services in turn: whatever happens, one result with a true cause, one working machine
// at most, nothing left.
import { describe, expect, test } from 'vitest';
import type { Fault } from '#scripts/local-cloud/faults.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

async function runWith(faults: readonly Fault[], forMs = HOUR_MS): Promise<Kernel> {
  const kernel = new Kernel();
  kernel.world.faults.plant(...faults);
  kernel.request({ ...REQUEST, runId: 'r1' });
  await kernel.run(forMs);
  return kernel;
}

function verify(kernel: Kernel): void {
  expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED' });
  expect(kernel.works).toHaveLength(1);
  expect(kernel.machines()).toEqual([]);
  expect(kernel.disks()).toEqual([]);
  expect(kernel.objects('runs/active/')).toEqual([]);
}

const PRINCIPALS = ['submit', 'finalize', 'signals', 'notify', 'sweep'].map(
  (name) => [name, `${name}@local-project.iam.gserviceaccount.com`] as const,
);
const METHODS: Record<string, string[]> = {
  submit: ['storage.objects.*', 'compute.instances.*', 'compute.zoneOperations.*'],
  finalize: ['storage.objects.*', 'compute.instances.*'],
  signals: ['storage.objects.*', 'compute.instances.*', 'compute.disks.*'],
  notify: ['storage.objects.*', 'pubsub.topics.publish'],
  sweep: [
    'storage.objects.*',
    'compute.instances.*',
    'compute.disks.*',
    'compute.zoneOperations.*',
  ],
};
const KINDS: { name: string; fault: Pick<Fault, 'kind' | 'effect' | 'status' | 'reason'> }[] = [
  { name: '503 before', fault: { kind: 'status', effect: 'before', status: 503 } },
  { name: '503 after', fault: { kind: 'status', effect: 'after', status: 503 } },
  { name: '429', fault: { kind: 'status', effect: 'before', status: 429 } },
  { name: 'cut before', fault: { kind: 'cut', effect: 'before' } },
  { name: 'cut after', fault: { kind: 'cut', effect: 'after' } },
  { name: 'garbage', fault: { kind: 'garbage', effect: 'before' } },
];
const TABLE = PRINCIPALS.flatMap(([name, principal]) =>
  (METHODS[name] ?? []).flatMap((method) =>
    KINDS.map((kind) => ({
      title: `${name}: ${method} answers ${kind.name}`,
      principal,
      method,
      kind,
    })),
  ),
);

describe('a service fails five times in a row', () => {
  test.each(TABLE)('$title', async ({ principal, method, kind }) => {
    verify(await runWith([{ match: { method, principal }, times: 5, ...kind.fault }], 3 * HOUR_MS));
  });
});

describe('the bucket is gone', () => {
  test.each([0, 5_000, 20_000, 40_000])('for thirty minutes, from %d ms on', async (fromMs) => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(fromMs, { sweeps: false });
    const fault = {
      match: { method: 'storage.*' },
      effect: 'before',
      kind: 'status',
      status: 503,
    } as const;
    kernel.world.faults.plant({ ...fault, times: Number.POSITIVE_INFINITY });
    await kernel.run(30 * MINUTE_MS);
    kernel.world.faults.clear();
    expect(kernel.objects('runs/results/')).toEqual([]);
    await kernel.run(6 * HOUR_MS);
    expect(kernel.result('r1')).not.toBeNull();
    expect(kernel.machines()).toEqual([]);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });
});

describe('permissions', () => {
  test('403 on the insert is permanent: FAILED, refused, with the platform’s own words', async () => {
    const match = { method: 'compute.instances.insert' };
    const fault = {
      match,
      effect: 'before',
      kind: 'status',
      status: 403,
      reason: 'forbidden',
    } as const;
    const kernel = await runWith([{ ...fault, times: Number.POSITIVE_INFINITY }]);
    expect(kernel.result('r1')).toMatchObject({ status: 'FAILED', cause: 'refused' });
    expect(kernel.result('r1')?.detail).toMatch(/forbidden/);
    expect(kernel.works).toEqual([]);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });

  test('403 from the bucket acknowledges nothing', async () => {
    const fault = {
      match: { method: 'storage.*' },
      effect: 'before',
      kind: 'status',
      status: 403,
    } as const;
    const kernel = await runWith([{ ...fault, times: 3 }]);
    expect(kernel.pushes[0]?.status).not.toBe(204);
    verify(kernel);
  });
});

describe('an insert whose reply is lost', () => {
  test('P30: repeated with the same requestId, adopted, one machine', async () => {
    const match = { method: 'compute.instances.insert' };
    verify(await runWith([{ match, effect: 'after', kind: 'cut', times: 1 }]));
  });

  test('E2: a 4xx to the repeat is not a refusal: the machine that landed is adopted', async () => {
    const match = { method: 'compute.instances.insert' };
    const kernel = await runWith([
      { match, effect: 'after', kind: 'hang', times: 1 },
      { match, effect: 'before', kind: 'status', status: 400, reason: 'invalid', times: 1 },
    ]);
    verify(kernel);
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
    expect(kernel.result('r1')?.placesCount).toBe(0);
  });
});

describe('an operation that fails beside a living machine', () => {
  test('P28: ours, so it is adopted; no other zone is tried, one machine works', async () => {
    const kernel = new Kernel();
    kernel.call({
      method: 'local.compute.outcome',
      params: {},
      body: { match: { zone: 'us-central1-a' }, code: 'RESOURCE_NOT_FOUND', machineLives: true },
    });
    const place = { zones: ['us-central1-a', 'us-central1-b'] };
    kernel.request({ ...REQUEST, runId: 'r1', place });
    await kernel.run(HOUR_MS);
    verify(kernel);
    expect(kernel.result('r1')?.attempts).toMatchObject([{ attempt: 1, zone: 'us-central1-a' }]);
  });
});

describe('capacity', () => {
  const noStock = (kernel: Kernel, zones: readonly string[]) => {
    for (const zone of zones) {
      kernel.call({
        method: 'local.compute.stock',
        params: { zone, machineType: 'e2-standard-4', available: '0' },
      });
    }
  };

  test('A3: a stocked-out zone is passed over, in the same attempt', async () => {
    const kernel = new Kernel();
    noStock(kernel, ['us-central1-a']);
    kernel.request({
      ...REQUEST,
      runId: 'r1',
      place: { zones: ['us-central1-a', 'us-central1-b'] },
    });
    await kernel.run(HOUR_MS);
    verify(kernel);
    expect(kernel.result('r1')).toMatchObject({
      attempts: [{ zone: 'us-central1-b' }],
      places: [{ zone: 'us-central1-a' }],
      placesCount: 1,
    });
  });

  test('A101, A113: no capacity anywhere: NO_CAPACITY with every place tried, nothing left', async () => {
    const kernel = new Kernel();
    noStock(kernel, ['us-central1-a', 'us-central1-b']);
    const place = { zones: ['us-central1-a', 'us-central1-b'] };
    kernel.request({ ...REQUEST, runId: 'r1', place, waitForCapacitySeconds: 0 });
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({
      status: 'NO_CAPACITY',
      cause: 'stock-out',
      placesCount: 2,
      costUsd: 0,
    });
    expect(kernel.machines()).toEqual([]);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });

  test('waiting for capacity: it comes back after half an hour, the run succeeds', async () => {
    const kernel = new Kernel();
    noStock(kernel, ['us-central1-a']);
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones: ['us-central1-a'] } });
    await kernel.run(30 * MINUTE_MS);
    expect(kernel.result('r1')).toBeNull();
    kernel.call({
      method: 'local.compute.stock',
      params: { zone: 'us-central1-a', machineType: 'e2-standard-4', available: '9' },
    });
    await kernel.run(HOUR_MS);
    verify(kernel);
  });
});

describe('a 412 after a lost reply', () => {
  test('our own record read back is a won swap: finalize goes on to delete the machine', async () => {
    const kernel = new Kernel({
      guest: () => ({ bootMs: 10_000, workMs: 30_000, exitCode: 0, selfDeleteMs: null }),
    });
    const principal = 'finalize@local-project.iam.gserviceaccount.com';
    const match = { method: 'storage.objects.insert', nameIncludes: 'record.json', principal };
    // The first write of finalize notes RUNNING, the second one the end.
    kernel.world.faults.plant({
      match: { ...match, after: 1 },
      effect: 'after',
      kind: 'cut',
      times: 1,
    });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(100_000, { sweeps: false });
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.machines()).toEqual([]);
  });
});

test('P39: a call that was only limited is no call: the refusal of the next one is definite', async () => {
  const insert = {
    match: { method: 'compute.instances.insert' },
    effect: 'before',
    times: 1,
  } as const;
  const kernel = await runWith([
    { ...insert, kind: 'status', status: 403, reason: 'rateLimitExceeded' },
    { ...insert, kind: 'status', status: 503, reason: 'insufficientCapacity' },
  ]);
  verify(kernel);
  expect(kernel.result('r1')).toMatchObject({
    attempts: [{ zone: 'us-central1-b' }],
    places: [{ zone: 'us-central1-a', code: 'insufficientCapacity' }],
  });
});
