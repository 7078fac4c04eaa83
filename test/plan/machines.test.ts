import { describe, expect, test } from 'vitest';
import { FAMILIES, MACHINES, machineFacts } from '#shared/plan/machines/catalogue.ts';
import { faultFields, faultsOf, machineTypesOf, makeBody, makePlan } from '#test/plan/fixtures.ts';

describe('catalogue', () => {
  /** Sizes and GPUs of Google's pages on machine families, and prices of its list. */
  test.each([
    { type: 'e2-standard-4', cpus: 4, memoryGiB: 16, usd: 0.134, gpu: null },
    { type: 'n1-standard-4', cpus: 4, memoryGiB: 15, usd: 0.19, gpu: null },
    { type: 'n2-highmem-128', cpus: 128, memoryGiB: 864, usd: 7.707, gpu: null },
    { type: 'n2d-standard-224', cpus: 224, memoryGiB: 896, usd: 9.463, gpu: null },
    { type: 'n4-standard-4', cpus: 4, memoryGiB: 16, usd: 0.181, gpu: null },
    { type: 'c2-standard-60', cpus: 60, memoryGiB: 240, usd: 3.131, gpu: null },
    { type: 'c3-standard-4', cpus: 4, memoryGiB: 16, usd: 0.2016, gpu: null },
    { type: 'c3d-highcpu-360', cpus: 360, memoryGiB: 708, usd: 13.446, gpu: null },
    { type: 'c4-standard-4', cpus: 4, memoryGiB: 15, usd: 0.1977, gpu: null },
    { type: 'c4a-standard-1', cpus: 1, memoryGiB: 4, usd: 0.0449, gpu: null },
    { type: 't2a-standard-4', cpus: 4, memoryGiB: 16, usd: 0.154, gpu: null },
    { type: 'm1-ultramem-40', cpus: 40, memoryGiB: 961, usd: 6.293, gpu: null },
    { type: 'm3-megamem-128', cpus: 128, memoryGiB: 1952, usd: 14.41, gpu: null },
    { type: 'g2-standard-8', cpus: 8, memoryGiB: 32, usd: 0.85, gpu: 1 },
    { type: 'g2-standard-24', cpus: 24, memoryGiB: 96, usd: 2.0, gpu: 2 },
    { type: 'g2-standard-32', cpus: 32, memoryGiB: 128, usd: 1.73, gpu: 1 },
    { type: 'g2-standard-48', cpus: 48, memoryGiB: 192, usd: 4.0, gpu: 4 },
    { type: 'g4-standard-48', cpus: 48, memoryGiB: 180, usd: 4.5, gpu: 1 },
    { type: 'a2-highgpu-1g', cpus: 12, memoryGiB: 85, usd: 3.67, gpu: 1 },
    { type: 'a2-ultragpu-1g', cpus: 12, memoryGiB: 170, usd: 5.07, gpu: 1 },
    { type: 'a3-highgpu-8g', cpus: 208, memoryGiB: 1872, usd: 88.49, gpu: 8 },
  ])('$type has $cpus vCPU, $memoryGiB GiB and costs about $usd an hour', (known) => {
    const facts = machineFacts(known.type);
    expect(facts).toMatchObject({ cpus: known.cpus, memoryGiB: known.memoryGiB });
    expect(facts?.gpu?.count ?? null).toBe(known.gpu);
    expect(Math.abs((facts?.usdPerHour.STANDARD ?? 0) / known.usd - 1)).toBeLessThan(0.01);
  });

  test.each([
    { type: 'g2-standard-8', usd: 0.51 },
    { type: 'g2-standard-48', usd: 2.4 },
    { type: 'g4-standard-48', usd: 1.77 },
    { type: 'a2-highgpu-1g', usd: 2.2 },
    { type: 'a2-ultragpu-1g', usd: 3.04 },
    { type: 'a3-highgpu-1g', usd: 6.62 },
    { type: 'a3-highgpu-8g', usd: 52.96 },
    { type: 'a3-ultragpu-8g', usd: 50.87 },
    { type: 'a4-highgpu-8g', usd: 39.63 },
  ])('$type costs about $usd an hour as Spot', ({ type, usd }) => {
    expect(Math.abs((machineFacts(type)?.usdPerHour.SPOT ?? 0) / usd - 1)).toBeLessThan(0.01);
  });

  test('machine types are unique, well formed, and dearer on demand than as Spot', () => {
    const types = MACHINES.map(({ machineType }) => machineType);
    expect(new Set(types).size).toBe(types.length);
    for (const facts of MACHINES) {
      expect(facts.machineType).toMatch(/^[a-z0-9]+-[a-z0-9]+(-[a-z0-9]+)*$/);
      const { STANDARD, SPOT } = facts.usdPerHour;
      if (STANDARD !== null && SPOT !== null) expect(SPOT).toBeLessThan(STANDARD);
      expect(facts.diskTypes.length).toBeGreaterThan(0);
    }
  });

  test('every family that the product promises has a table', () => {
    const names = new Set(FAMILIES.flatMap(({ name }) => name.split('-')[0]));
    const promised = 'e2 n1 n2 n2d n4 c2 c2d c3 c3d c4 c4a t2a t2d m1 m2 m3 g2 g4 a2 a3 a4';
    for (const name of promised.split(' ')) expect(names).toContain(name);
  });

  test('a machine of one’s own size has its family’s facts and no price', () => {
    expect(machineFacts('n2-custom-6-20480')).toMatchObject({ cpus: 6, memoryGiB: 20 });
    expect(machineFacts('custom-4-5120')).toMatchObject({ family: 'n1', memoryGiB: 5 });
    expect(machineFacts('n2-custom-6-20480')?.usdPerHour.STANDARD).toBeNull();
    expect(machineFacts('c9-standard-4')).toBeNull();
  });
});

const named = (machineType: string, more: object = {}) => ({ resources: { machineType, ...more } });

describe('named machines', () => {
  test('P13: more GPUs than the machine has are refused with its count and who has more', () => {
    const [fault] = faultsOf(named('g2-standard-8', { gpu: { type: 'L4', count: 8 } }));
    expect(fault?.field).toBe('resources.gpu.count');
    expect(fault?.accepted).toMatch(/^1, .*g2-standard-96/);
  });

  test('P14: a GPU that cannot sit on the machine is refused with the machine that has it', () => {
    const [fault] = faultsOf(named('n1-highmem-8', { gpu: { type: 'A100', count: 1 } }));
    expect(fault?.accepted).toContain('a2-highgpu-1g');
    const body = makeBody(named('a2-highgpu-1g'));
    expect(body).not.toHaveProperty('guestAccelerators');
  });

  test('P15: a shape that is never sold on demand is refused as such, and planned as Spot', () => {
    const fields = named('a3-highgpu-1g');
    expect(faultsOf(fields)[0]).toMatchObject({ field: 'provisioning', accepted: 'spot' });
    expect(faultFields({ ...fields, provisioning: 'spot' })).toEqual([]);
    const plan = makePlan({ ...fields, provisioning: 'spot-then-standard' });
    expect(new Set(plan.candidates.map((each) => each.provisioningModel))).toEqual(
      new Set(['SPOT']),
    );
  });

  test('P16: families without Persistent Disk get Hyperdisk, and refuse what does not fit', () => {
    expect(makeBody(named('n4-standard-2'))).toMatchObject({
      disks: [
        { initializeParams: { diskType: 'zones/us-central1-a/diskTypes/hyperdisk-balanced' } },
      ],
    });
    const [fault] = faultsOf(named('c4-standard-8', { diskType: 'pd-balanced' }));
    expect(fault).toMatchObject({ field: 'resources.diskType', accepted: 'hyperdisk-balanced' });
  });

  test('D37: the boot disk’s type and image are the request’s, when the family takes them', () => {
    const bootImage = 'projects/p/global/images/family/mine';
    expect(makeBody(named('n2-standard-2', { diskType: 'pd-ssd', bootImage }))).toMatchObject({
      disks: [
        {
          initializeParams: {
            diskType: 'zones/us-central1-a/diskTypes/pd-ssd',
            sourceImage: bootImage,
          },
        },
      ],
    });
  });

  test('P18: a local SSD count that the machine does not take is refused with the legal ones', () => {
    const [fault] = faultsOf(named('n2-standard-16', { localSsdCount: 1 }));
    expect(fault).toMatchObject({
      field: 'resources.localSsdCount',
      accepted: '0, 2, 4, 8, 16, 24',
    });
    expect(faultFields(named('n2-standard-16', { localSsdCount: 2 }))).toEqual([]);
    expect(faultFields(named('e2-standard-4', { localSsdCount: 1 }))).toEqual([
      'resources.localSsdCount',
    ]);
    expect(faultFields(named('c3-standard-8-lssd', { localSsdCount: 2 }))).toEqual([]);
    expect(faultFields(named('c3-standard-8-lssd', { localSsdCount: 4 }))).toHaveLength(1);
  });

  test.each([
    { given: named('c4a-standard-4'), field: 'resources.machineType' },
    { given: named('e2-standard-4', { architecture: 'arm64' }), field: 'resources.machineType' },
    { given: named('g4-standard-6'), field: 'resources.machineType' },
    { given: named('a4x-highgpu-4g'), field: 'resources.machineType' },
    { given: named('h3-standard-88'), field: 'provisioning', provisioning: 'spot' },
    {
      given: named('n1-standard-4', { gpu: { type: 'T4', count: 3 } }),
      field: 'resources.gpu.count',
    },
    {
      given: named('n1-standard-96', { gpu: { type: 'T4', count: 1 } }),
      field: 'resources.gpu.count',
    },
    {
      given: named('g2-standard-4', { gpu: { type: 'T4', count: 1 } }),
      field: 'resources.gpu.type',
    },
    { given: named('no_such'), field: 'resources.machineType' },
  ])('$given.resources.machineType is refused at $field', ({ given, field, provisioning }) => {
    expect(faultFields({ ...given, provisioning: provisioning ?? 'standard' })).toEqual([field]);
  });

  test('an unknown but well-formed type passes with a warning, and a budget refuses it', () => {
    const plan = makePlan(named('c9-standard-4'));
    expect(plan.warnings.join()).toContain('c9-standard-4');
    expect(plan.estimate).toEqual({ attemptUsd: null, totalUsd: null });
    expect(faultFields({ ...named('c9-standard-4'), budgetUsd: 100 })).toEqual(['budgetUsd']);
  });

  test('A71: machine and GPU both given are taken as they are', () => {
    const given = { machineType: 'g2-standard-32', gpu: { type: 'l4', count: 1 } };
    expect(machineTypesOf(makePlan({ resources: given }))).toEqual(['g2-standard-32']);
  });
});

describe('machines for a need', () => {
  test('A74: the cheapest machine of each family that fits, cheapest first', () => {
    const plan = makePlan({ resources: { cpus: 4, memoryGiB: 16 } });
    // By hand, from the price list: 0.134, twice 0.169, 0.181, twice 0.182; N2 would be 0.194.
    const cheapest = 'e2-standard-4 n2d-standard-4 t2d-standard-4 n4-standard-4';
    expect(machineTypesOf(plan)).toEqual(`${cheapest} c2d-standard-4 c3d-standard-4`.split(' '));
    const prices = plan.candidates.map(({ usdPerHour }) => usdPerHour ?? 0);
    expect(prices).toEqual([...prices].sort((a, b) => a - b));
    const families = machineTypesOf(plan).map((type) => type.split('-')[0]);
    expect(new Set(families).size).toBe(families.length);
    for (const type of machineTypesOf(plan)) {
      expect(machineFacts(type)?.cpus).toBeGreaterThanOrEqual(4);
      expect(machineFacts(type)?.memoryGiB).toBeGreaterThanOrEqual(16);
    }
  });

  test('A70: what is not named is found by the need, and a name wins over the defaults', () => {
    expect(machineTypesOf(makePlan({ resources: { cpus: 30, memoryGiB: 200 } }))).not.toContain(
      'e2-standard-4',
    );
    expect(machineTypesOf(makePlan(named('n2-standard-2')))).toEqual(['n2-standard-2']);
  });

  test('A70: a need without a GPU never gets a machine that has one, however few are left', () => {
    // a3-highgpu-8g has 208 vCPU and 1872 GiB, and few machines without GPU have as much.
    const types = machineTypesOf(makePlan({ resources: { cpus: 200, memoryGiB: 1800 } }));
    expect(types.length).toBeGreaterThan(0);
    expect(types.filter((type) => machineFacts(type)?.gpu !== null)).toEqual([]);
  });

  test('A70: a GPU need finds the machine that has it, and Arm finds Arm', () => {
    const l4 = makePlan({ resources: { gpu: { type: 'L4', count: 1 }, memoryGiB: 32 } });
    expect(machineTypesOf(l4)).toEqual(['g2-standard-8']);
    const t4 = makePlan({ resources: { gpu: { type: 'T4', count: 2 }, cpus: 8, memoryGiB: 30 } });
    expect(machineTypesOf(t4)).toEqual(['n1-standard-8']);
    const arm = makePlan({ resources: { architecture: 'arm64' } });
    expect(machineTypesOf(arm)).toEqual(['t2a-standard-4', 'c4a-standard-4']);
  });

  test.each([
    { type: 'T4', accelerator: 'nvidia-tesla-t4', provisioning: 'standard' },
    { type: 'p4', accelerator: 'nvidia-tesla-p4', provisioning: 'standard' },
    { type: 'V100', accelerator: 'nvidia-tesla-v100', provisioning: 'standard' },
    { type: 'l4', accelerator: 'nvidia-l4', provisioning: 'standard' },
    { type: 'A100', accelerator: 'nvidia-tesla-a100', provisioning: 'standard' },
    { type: 'nvidia-a100-40gb', accelerator: 'nvidia-tesla-a100', provisioning: 'standard' },
    { type: 'a100_80gb', accelerator: 'nvidia-a100-80gb', provisioning: 'standard' },
    { type: 'H100', accelerator: 'nvidia-h100-80gb', provisioning: 'spot' },
    { type: 'RTX_PRO_6000', accelerator: 'nvidia-rtx-pro-6000', provisioning: 'standard' },
    { type: 'NVIDIA-L4', accelerator: 'nvidia-l4', provisioning: 'standard' },
  ])('A72: $type in any case is $accelerator', ({ type, accelerator, provisioning }) => {
    const plan = makePlan({ resources: { gpu: { type } }, provisioning });
    expect(plan.request.resources.gpu).toEqual({ type: accelerator, count: 1 });
    expect(plan.candidates.length).toBeGreaterThan(0);
  });

  test.each([
    { type: 'P100', rule: '2026-09-15' },
    { type: 'nvidia-tesla-p100', rule: '2026-09-15' },
    { type: 'K80', rule: 'no GPU of this name' },
    { type: 'constructor', rule: 'no GPU of this name' },
  ])('A75: $type is refused', ({ type, rule }) => {
    const [fault] = faultsOf({ resources: { gpu: { type } } });
    expect(fault?.field).toBe('resources.gpu.type');
    expect(fault?.rule).toContain(rule);
  });

  test.each([
    { gpu: {}, field: 'resources.gpu.type' },
    { gpu: { count: 1 }, field: 'resources.gpu.type' },
    { gpu: { type: 'L4', count: 0 }, field: 'resources.gpu.count' },
    { gpu: { type: 'L4', count: -2 }, field: 'resources.gpu.count' },
    { gpu: { type: '', count: 1 }, field: 'resources.gpu.type' },
    { gpu: null, field: 'resources.gpu' },
  ])('D30: a GPU asked for as $gpu is refused', ({ gpu, field }) => {
    expect(faultFields({ resources: { gpu } })).toEqual([field]);
  });

  test('A73: the count is the request’s, else 1', () => {
    const count = (gpu: object) => makePlan({ resources: { gpu } }).request.resources.gpu?.count;
    expect(count({ type: 'L4' })).toBe(1);
    expect(count({ type: 'L4', count: 4 })).toBe(4);
  });

  test('a need that no machine meets is refused', () => {
    expect(faultFields({ resources: { cpus: 900 } })).toEqual(['resources']);
    expect(faultFields({ resources: { gpu: { type: 'B200', count: 8 } } })).toEqual(['resources']);
  });
});

test('B44: A4X is refused because it is untested, not because something is missing on it', () => {
  const [fault] = faultsOf(named('a4x-highgpu-4g', { architecture: 'arm64' }));
  expect(fault?.rule).toContain('untested');
  expect(fault?.rule).not.toMatch(/docker/i);
});
