// Where submit learns which zones offer a machine type.
import { describe, expect, test } from 'vitest';
import { offersOf } from '#functions/submit/offers.ts';
import { offersObject } from '#shared/plan/objects.ts';
import { makeRequest } from '#test/plan/fixtures.ts';
import { openDelivery } from '#test/simulation/delivery.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const HOUR_MS = 3_600_000;
const LIST = 'compute.machineTypes.aggregatedList';
const asked = (kernel: Kernel) => kernel.calls.filter(({ method }) => method === LIST).length;
const zoneOf = (kernel: Kernel, runId: string) => kernel.result(runId)?.attempts.at(-1)?.zone;

/** E2 in two of the four zones of the region. */
const SOME_ZONES = {
  zones: {
    'us-central1-a': { machineTypes: ['n2-standard-4'] },
    'us-central1-b': { machineTypes: ['n2-standard-4', 'e2-standard-4'] },
    'us-central1-c': { machineTypes: ['n2-standard-4'] },
    'us-central1-f': { machineTypes: ['n2-standard-4', 'e2-standard-4'] },
  },
};

describe('zones that offer a machine type', () => {
  test('P36: one that does not is not tried, and the list is asked once a day', async () => {
    const kernel = new Kernel({ world: { compute: SOME_ZONES } });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(HOUR_MS);
    kernel.request({ ...REQUEST, runId: 'r2' });
    await kernel.run(HOUR_MS);
    expect([zoneOf(kernel, 'r1'), zoneOf(kernel, 'r2')]).toEqual([
      'us-central1-b',
      'us-central1-b',
    ]);
    expect(kernel.result('r1')?.placesCount).toBe(0);
    expect(asked(kernel)).toBe(1);
    expect(JSON.parse(kernel.object(offersObject('e2-standard-4')) ?? '')).toMatchObject({
      zones: ['us-central1-b', 'us-central1-f'],
    });
    await kernel.run(23 * HOUR_MS);
    kernel.request({ ...REQUEST, runId: 'r3' });
    await kernel.run(HOUR_MS);
    expect(asked(kernel)).toBe(2);
  });

  test.each([
    { name: 'it cannot be asked', fault: { kind: 'status', status: 403 } },
    { name: 'it answers what cannot be read', fault: { kind: 'garbage' } },
  ] as const)(
    'P36: $name: our own table serves, and the zone’s refusal is passed over',
    async ({ fault }) => {
      const kernel = new Kernel({ world: { compute: SOME_ZONES } });
      const match = { method: LIST };
      kernel.world.faults.plant({
        match,
        effect: 'after',
        times: Number.POSITIVE_INFINITY,
        ...fault,
      });
      kernel.request({ ...REQUEST, runId: 'r1' });
      await kernel.run(HOUR_MS);
      expect(zoneOf(kernel, 'r1')).toBe('us-central1-b');
      expect(kernel.result('r1')?.places).toMatchObject([
        { zone: 'us-central1-a', cause: 'refused' },
      ]);
      expect(kernel.objects('runs/offers/')).toEqual([]);
    },
  );

  test('P36: a zone that could not be listed leaves the list in doubt: our table serves', async () => {
    const kernel = new Kernel({ world: { compute: SOME_ZONES } });
    kernel.world.compute.unreachable.set('us-central1-f', 'warning');
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(HOUR_MS);
    expect(kernel.objects('runs/offers/')).toEqual([]);
    expect(zoneOf(kernel, 'r1')).toBe('us-central1-b');
  });

  test.each([
    'null',
    '[]',
    '{"zones":[1,2],"atMs":1796126400000}',
    '{"zones":"us-central1-b","atMs":1796126400000}',
    '{"zones":["us-central1-b"]}',
    '{"zones":["us-central1-b"],"at',
  ])('what is kept and is no list of zones is asked for again: %s', async (text) => {
    const kernel = new Kernel();
    kernel.put(offersObject('e2-standard-4'), text);
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED' });
    expect(asked(kernel)).toBe(1);
    expect(kernel.logs.filter(({ event }) => event === 'threw')).toEqual([]);
  });

  test('requests that come to one instance at once ask once', async () => {
    const kernel = new Kernel();
    const { deps } = openDelivery(kernel, 'submit');
    const request = makeRequest({ resources: { machineType: 'e2-standard-4' } });
    const both = await Promise.all([offersOf(deps, request), offersOf(deps, request)]);
    expect(both[0]).toEqual(both[1]);
    expect(asked(kernel)).toBe(1);
    expect(deps.asking.size).toBe(0);
  });

  test('a machine type that nobody offers and no table knows is refused', async () => {
    const kernel = new Kernel();
    kernel.request({ ...REQUEST, resources: { machineType: 'e2-standrad-4' }, runId: 'r1' });
    await kernel.run(60_000);
    const [name = ''] = kernel.objects('runs/rejected/');
    expect(JSON.parse(kernel.object(name) ?? '{}').errors).toMatchObject([
      { field: 'resources.machineType', rule: 'no zone of this project offers e2-standrad-4' },
    ]);
    expect(kernel.inserts).toEqual([]);
  });

  test('a machine type that we know is not believed to be offered nowhere', async () => {
    const zones = { 'us-central1-a': { machineTypes: ['n2-standard-4'] } };
    const kernel = new Kernel({ world: { compute: { zones } } });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(600_000);
    expect(kernel.objects('runs/offers/')).toEqual([]);
    expect(kernel.result('r1')).toMatchObject({ status: 'FAILED', cause: 'refused' });
    expect(kernel.inserts.length).toBeGreaterThan(0);
  });

  test('zones that the request names are tried as they are', async () => {
    const kernel = new Kernel({ world: { compute: SOME_ZONES } });
    const place = { zones: ['us-central1-a', 'us-central1-f'] };
    kernel.request({ ...REQUEST, place, runId: 'r1' });
    await kernel.run(HOUR_MS);
    expect(asked(kernel)).toBe(0);
    expect(zoneOf(kernel, 'r1')).toBe('us-central1-f');
  });
});

describe('quotas', () => {
  const L4 = { resources: { gpu: { type: 'L4', count: 1 } } };

  test('A102, P33: a global GPU limit of 0 ends the run without one insert, and says which limit', async () => {
    const kernel = new Kernel();
    kernel.world.compute.quotas.push(
      { metric: 'GPUS_ALL_REGIONS', scope: 'global', limit: 0 },
      { metric: 'NVIDIA_L4_GPUS', scope: 'us-central1', limit: 1 },
    );
    kernel.request({ image: 'alpine:3.20', ...L4, runId: 'r1' });
    await kernel.run(600_000);
    expect(kernel.inserts).toEqual([]);
    expect(kernel.result('r1')).toMatchObject({ status: 'NO_CAPACITY', cause: 'quota' });
    expect(kernel.result('r1')?.detail).toMatch(/'GPUS_ALL_REGIONS'.* limit 0 in all regions/);
  });

  test('A102: where they cannot be read, the call itself tells', async () => {
    const kernel = new Kernel();
    kernel.world.compute.quotas.push({ metric: 'GPUS_ALL_REGIONS', scope: 'global', limit: 0 });
    const fault = { effect: 'before', kind: 'status', status: 403 } as const;
    const times = Number.POSITIVE_INFINITY;
    for (const method of ['compute.projects.get', 'compute.regions.get']) {
      kernel.world.faults.plant({ match: { method }, times, ...fault });
    }
    kernel.request({ image: 'alpine:3.20', ...L4, runId: 'r1' });
    await kernel.run(600_000);
    expect(kernel.inserts).toHaveLength(1);
    expect(kernel.result('r1')).toMatchObject({ status: 'NO_CAPACITY', cause: 'quota' });
    expect(kernel.result('r1')?.detail).toContain('all regions together');
  });
});
