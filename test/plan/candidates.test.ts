import { describe, expect, test } from 'vitest';
import type { Offers } from '#shared/plan/model.ts';
import { planRun } from '#shared/plan/plan.ts';
import {
  type Fields,
  faultFields,
  faultsOf,
  makeBody,
  makePlan,
  makeRequest,
  makeSettings,
} from '#test/plan/fixtures.ts';

const zonesOf = (fields: Fields, settings = makeSettings()) =>
  makePlan(fields, settings).candidates.map(({ zone }) => zone);

const on = (...machineTypes: string[]) => ({ resources: { machineTypes } });

describe('places', () => {
  test('P11: zones as one text are refused by type, with the list form shown', () => {
    const [fault, ...more] = faultsOf({ place: { zones: 'us-central1-a us-central1-b' } });
    expect(more).toEqual([]);
    expect(fault?.accepted).toBe('["us-central1-a", "us-central1-b"]');
  });

  test('P11: zones outside the regions are one refusal that names both fields', () => {
    const zones = ['us-central1-a', 'us-east1-b', 'us-west1-a'];
    const [fault, ...more] = faultsOf({ place: { regions: ['us-west1'], zones } });
    expect(more).toEqual([]);
    expect(fault?.field).toBe('place.zones');
    expect(fault?.rule).toContain('place.regions');
  });

  test('A88, A104, P11: zones of three regions are three candidates, each with its region’s subnetwork', () => {
    const zones = ['us-west1-a', 'us-central1-a', 'us-east1-b'];
    const { candidates } = makePlan({ ...on('e2-standard-4'), place: { zones } });
    expect(candidates.map(({ zone }) => zone)).toEqual(zones);
    for (const { region, zone, subnetwork } of candidates) {
      expect(zone.startsWith(`${region}-`)).toBe(true);
      expect(subnetwork).toBe(`projects/p/regions/${region}/subnetworks/s`);
    }
  });

  test('A89: regions stand for all their zones, in the order asked', () => {
    const place = { regions: ['us-east1', 'us-central1'] };
    expect(zonesOf({ ...on('e2-standard-4'), place })).toEqual([
      'us-east1-b',
      'us-east1-c',
      'us-east1-d',
      'us-central1-a',
      'us-central1-b',
      'us-central1-c',
      'us-central1-f',
    ]);
    expect(zonesOf(on('e2-standard-4'))).toHaveLength(4);
  });

  test('A100: a region that is named twice is walked once, where it first stands', () => {
    const regions = ['us-east1', 'us-central1', 'us-east1'];
    const zones = zonesOf({ ...on('e2-standard-4'), place: { regions } });
    expect(zones).toHaveLength(7);
    expect(new Set(zones).size).toBe(7);
    expect(zones[0]).toBe('us-east1-b');
  });

  test('A90: a region of no table is tried in its zone a, with a warning', () => {
    const subnetworks = { 'mars-east1': 'projects/p/regions/mars-east1/subnetworks/s' };
    const plan = makePlan({ ...on('e2-small'), place: { regions: ['mars-east1'], subnetworks } });
    expect(plan.candidates.map(({ zone }) => zone)).toEqual(['mars-east1-a']);
    expect(plan.warnings.join()).toContain('mars-east1');
    expect(plan.estimate.attemptUsd).toBeNull();
  });

  test('a type that is on offer in no zone of the regions is refused with where it is', () => {
    const [fault] = faultsOf({
      resources: { machineType: 't2a-standard-4', architecture: 'arm64' },
      place: { regions: ['us-east1'] },
    });
    expect(fault?.field).toBe('place.regions');
    expect(fault?.accepted).toContain('europe-west4');
    const named = { resources: { machineType: 't2a-standard-4', architecture: 'arm64' } };
    expect(zonesOf({ ...named, place: { zones: ['us-east1-b'] } })).toEqual(['us-east1-b']);
    expect(zonesOf(named)).toEqual(['us-central1-a', 'us-central1-b', 'us-central1-f']);
  });
});

describe('subnetworks', () => {
  const regions = ['us-west1', 'us-east1'];
  const settings = makeSettings({ subnetworks: {} });
  const subnetwork = (text: string) =>
    makeBody({ place: { regions, subnetworks: { 'us-west1': text } } }, settings);

  test('P40: a bare name is completed, a partial path and a URL mean the same', () => {
    const path = 'projects/host-p/regions/us-west1/subnetworks/s';
    expect(subnetwork('default-us-west1')).toMatchObject({
      networkInterfaces: [
        { subnetwork: 'projects/p/regions/us-west1/subnetworks/default-us-west1' },
      ],
    });
    for (const text of [path, `https://www.googleapis.com/compute/v1/${path}`]) {
      expect(subnetwork(text)).toMatchObject({ networkInterfaces: [{ subnetwork: path }] });
    }
    expect(subnetwork('regions/us-west1/subnetworks/s')).toMatchObject({
      networkInterfaces: [{ subnetwork: 'projects/p/regions/us-west1/subnetworks/s' }],
    });
  });

  test('P40: a subnetwork of another region is refused with the full form', () => {
    const subnetworks = { 'us-west1': 'projects/host-p/regions/us-east1/subnetworks/s' };
    const [fault] = faultsOf({ place: { regions, subnetworks } }, settings);
    expect(fault?.field).toBe('place.subnetworks.us-west1');
    expect(fault?.accepted).toBe('projects/p/regions/us-west1/subnetworks/NAME');
  });

  test('P40: a region without a known subnetwork is no candidate, and the plan says so', () => {
    const plan = makePlan({ place: { regions, subnetworks: { 'us-west1': 's' } } }, settings);
    expect(new Set(plan.candidates.map(({ region }) => region))).toEqual(new Set(['us-west1']));
    expect(plan.warnings.join()).toContain('us-east1 has no known subnetwork');
    expect(faultFields({ place: { regions } }, settings)).toEqual(['place.subnetworks']);
  });

  test.each(['', 'Upper', 'a/b', 'https://evil.example/projects/p/regions/us-west1/subnetworks/s'])(
    'P40: %j is refused',
    (text) => {
      const place = { regions, subnetworks: { 'us-west1': text } };
      expect(faultFields({ place }, settings)).toEqual(['place.subnetworks.us-west1']);
    },
  );
});

describe('order and budget', () => {
  const triples = (fields: Fields) =>
    makePlan(fields).candidates.map(
      ({ provisioningModel, machineType, zone }) => `${provisioningModel} ${machineType} ${zone}`,
    );
  const place = { zones: ['us-central1-b', 'us-central1-a'] };

  test('named machines are tried in their rank, all Spot before all on demand', () => {
    const fields = { ...on('n2d-standard-8', 'n2-standard-8'), place };
    expect(triples({ ...fields, provisioning: 'spot-then-standard' })).toEqual([
      'SPOT n2d-standard-8 us-central1-b',
      'SPOT n2d-standard-8 us-central1-a',
      'SPOT n2-standard-8 us-central1-b',
      'SPOT n2-standard-8 us-central1-a',
      'STANDARD n2d-standard-8 us-central1-b',
      'STANDARD n2d-standard-8 us-central1-a',
      'STANDARD n2-standard-8 us-central1-b',
      'STANDARD n2-standard-8 us-central1-a',
    ]);
  });

  test('a budget leaves out the dear and the unknown with a warning, and refuses nothing left', () => {
    // n2-standard-8 with its disk is about 0.40 an hour, n2-standard-80 about 3.90.
    const fields = { ...on('n2-standard-80', 'c9-standard-4', 'n2-standard-8'), place };
    const plan = makePlan({ ...fields, budgetUsd: 2, ttlSeconds: 7200 });
    expect(new Set(plan.candidates.map(({ machineType }) => machineType))).toEqual(
      new Set(['n2-standard-8']),
    );
    expect(plan.warnings.join('\n')).toMatch(/n2-standard-80 .* more than the budget of 2/);
    expect(plan.warnings.join('\n')).toMatch(/c9-standard-4 .* no known price/);
    const [fault] = faultsOf({ ...fields, budgetUsd: 0.5, ttlSeconds: 7200 });
    expect(fault).toMatchObject({ field: 'budgetUsd', accepted: expect.stringMatching(/^0\.80/) });
  });

  test('a region’s prices are higher by its factor', () => {
    const price = (zone: string) =>
      makePlan({ ...on('n2-standard-8'), place: { zones: [zone] } }).candidates[0]?.usdPerHour ?? 0;
    expect(price('europe-west1-b') / price('us-central1-a')).toBeCloseTo(1.1, 3);
  });
});

describe('what the platform is heard to offer', () => {
  const planned = (fields: Fields, offers: Offers) => {
    const result = planRun(makeRequest(fields), makeSettings(), offers);
    if (result.kind === 'invalid') throw new Error(JSON.stringify(result.faults));
    return result.plan.candidates.map(({ zone }) => zone);
  };

  test('P36: its zones hold in place of our table, new ones of a region included', () => {
    const offers = { 'e2-standard-4': ['us-central1-b', 'us-central1-z', 'us-east1-b'] };
    expect(planned(on('e2-standard-4'), offers)).toEqual(['us-central1-b', 'us-central1-z']);
  });

  test('zones that the request names are tried whatever is heard', () => {
    const place = { zones: ['us-central1-a'] };
    const offers = { 'e2-standard-4': ['us-central1-b'] };
    expect(planned({ ...on('e2-standard-4'), place }, offers)).toEqual(['us-central1-a']);
  });

  test('a region of no table is tried in the zones that were heard of', () => {
    const subnetworks = { 'mars-east1': 'projects/p/regions/mars-east1/subnetworks/s' };
    const fields = { ...on('e2-small'), place: { regions: ['mars-east1'], subnetworks } };
    expect(planned(fields, { 'e2-small': ['mars-east1-c'] })).toEqual(['mars-east1-c']);
  });

  test('GPUs that are attached: where machine and GPU are both on offer', () => {
    const fields = { resources: { machineType: 'n1-standard-4', gpu: { type: 'T4', count: 1 } } };
    const without = planned(fields, {});
    expect(without.length).toBeGreaterThan(1);
    const [first = '', second = ''] = without;
    expect(planned(fields, { 'n1-standard-4': [second, 'us-central1-z'] })).toEqual([second]);
    expect(first).not.toBe(second);
  });
});

test('more candidates than a walk may try: each provisioning model keeps its half', () => {
  const regions = ['us-central1', 'us-east1', 'us-east4', 'us-west1', 'us-west2', 'us-west3'];
  const machineTypes = ['e2-standard-4', 'n2-standard-4', 'n2d-standard-4', 'n1-standard-4'];
  const subnetworks = Object.fromEntries(
    regions.map((region) => [region, `projects/p/regions/${region}/subnetworks/s`]),
  );
  const place = { regions, subnetworks };
  const fields = { resources: { machineTypes }, place, provisioning: 'spot-then-standard' };
  const { candidates, warnings } = makePlan(fields);
  const models = candidates.map(({ provisioningModel }) => provisioningModel);
  expect(models).toEqual([...Array(50).fill('SPOT'), ...Array(50).fill('STANDARD')]);
  expect(warnings.join()).toMatch(/1\d\d candidates are cut to 100, the first of each model/);
});

describe('what a refusal or warning says', () => {
  test('a type that is offered elsewhere: rule and regions, the first named type alone', () => {
    const machineTypes = ['t2a-standard-4', 't2a-standard-8'];
    const fields = { resources: { machineTypes, architecture: 'arm64' } };
    const found = faultsOf({ ...fields, place: { regions: ['us-east1', 'us-west1'] } });
    expect(found).toEqual([
      {
        field: 'place.regions',
        value: '["us-east1","us-west1"]',
        rule: 't2a-standard-4 is on offer in no zone of us-east1, us-west1',
        // Google's page of regions and zones: T2A is in three regions.
        accepted:
          'us-central1, europe-west4, asia-southeast1; or place.zones, which are tried as they are',
      },
    ]);
  });

  test('one of several types that is offered nowhere there is left out with a warning', () => {
    const machineTypes = ['t2a-standard-4', 'c4a-standard-4'];
    const fields = { resources: { machineTypes, architecture: 'arm64' } };
    const plan = makePlan({ ...fields, place: { regions: ['us-east1'] } });
    expect(new Set(plan.candidates.map(({ machineType }) => machineType))).toEqual(
      new Set(['c4a-standard-4']),
    );
    expect(plan.warnings).toContain(
      't2a-standard-4 is on offer in no zone of these regions and is left out',
    );
  });

  test('a budget: the price at full TTL of what is left out, once for each kind and region', () => {
    const place = { zones: ['us-central1-a', 'us-central1-b'] };
    const fields = { ...on('n2-standard-80', 'n2-standard-8'), place, ttlSeconds: 7200 };
    const all = makePlan(fields).candidates;
    const dear = all.find(({ machineType }) => machineType === 'n2-standard-80');
    // Two hours and the minute of delete that every estimate has.
    const usd = ((dear?.usdPerHour ?? 0) * (7200 + 60)) / 3600;
    const { warnings } = makePlan({ ...fields, budgetUsd: 2 });
    const told = warnings.filter((warning) => warning.includes('budget'));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(
      /^n2-standard-80 \(STANDARD\) in us-central1 would cost \d+\.\d\d USD at full TTL, more than the budget of 2, and is left out$/,
    );
    expect(Number(/cost (\d+\.\d\d)/.exec(told[0] ?? '')?.[1])).toBeCloseTo(usd, 0);
  });

  test('a budget exactly met is kept; nothing affordable names the cheapest', () => {
    const place = { zones: ['us-central1-a'] };
    const fields = { ...on('n2-standard-8'), place, ttlSeconds: 3600 };
    const [fault] = faultsOf({ ...fields, budgetUsd: 0.01 });
    const cheapest = Number(/^[\d.]+/.exec(fault?.accepted ?? '')?.[0]);
    expect(fault?.rule).toBe('one attempt at full TTL fits into the budget');
    expect(fault?.accepted).toMatch(/^\d+\.\d\d or more, or a shorter ttlSeconds$/);
    expect(makePlan({ ...fields, budgetUsd: cheapest + 0.01 }).candidates).toHaveLength(1);
    const [unknown] = faultsOf({ ...on('c9-standard-4'), place, budgetUsd: 5 });
    expect(unknown?.accepted).toBe(
      'no known price: a machine type of the catalogue, or a shorter ttlSeconds',
    );
  });

  test('machines of one’s need come by price, those of one’s naming by rank', () => {
    const need = { resources: { cpus: 8, memoryGiB: 32 }, place: { zones: ['us-central1-a'] } };
    const prices = makePlan(need).candidates.map(({ usdPerHour }) => usdPerHour ?? 0);
    expect(prices.length).toBeGreaterThan(2);
    expect(prices).toEqual([...prices].sort((a, b) => a - b));
    const named = makePlan({ ...on('n2-standard-80', 'e2-standard-2'), place: need.place });
    expect(named.candidates.map(({ machineType }) => machineType)).toEqual([
      'n2-standard-80',
      'e2-standard-2',
    ]);
    expect(makePlan(need).warnings.join()).not.toContain('cut to');
  });
});
