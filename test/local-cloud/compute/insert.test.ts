// instances.insert: what is refused at once, what an operation refuses later, and how a repeat is seen.
import { describe, expect, test } from 'vitest';
import { PROJECT, reasonOf, TestWorld, ZONE } from '#test/local-cloud/fixtures.ts';

const REQUEST_ID = '11111111-1111-4111-8111-111111111111';
const DISKS = [{ boot: true, autoDelete: true, initializeParams: {} }];
const machineType = (name: string) => ({ machineType: `zones/${ZONE}/machineTypes/${name}` });

describe('refused at once', () => {
  test.each([
    { name: 'a capital in the name', fields: { name: 'Vm' } },
    { name: 'a name of 64 characters', fields: { name: 'a'.repeat(64) } },
    { name: 'a name that ends with a hyphen', fields: { name: 'vm-' } },
    { name: 'a capital in a label', fields: { labels: { app: 'Test' } } },
    { name: 'a label value of 64 characters', fields: { labels: { app: 'a'.repeat(64) } } },
    { name: 'a label key that begins with a digit', fields: { labels: { '1a': 'x' } } },
    {
      name: '65 labels',
      fields: { labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v'])) },
    },
    {
      name: 'a metadata value above 262,144 bytes',
      fields: { metadata: { items: [{ key: 'k', value: 'ä'.repeat(131_073) }] } },
    },
    {
      name: 'metadata of 512 KB in all',
      fields: {
        metadata: { items: ['a', 'b'].map((key) => ({ key, value: 'x'.repeat(262_144) })) },
      },
    },
    {
      name: 'a space in a metadata key',
      fields: { metadata: { items: [{ key: 'a b', value: '' }] } },
    },
    { name: 'an unknown machine type', fields: machineType('n2-standard-5') },
    { name: 'no boot disk', fields: { disks: [] } },
    {
      name: 'a disk of 9 GB',
      fields: { disks: [{ boot: true, initializeParams: { diskSizeGb: '9' } }] },
    },
    { name: 'a TTL of 29 s', fields: { scheduling: { maxRunDuration: { seconds: '29' } } } },
    {
      name: 'a TTL above 120 days',
      fields: { scheduling: { maxRunDuration: { seconds: '10368001' } } },
    },
    {
      name: 'a termination action without any limit',
      fields: { scheduling: { instanceTerminationAction: 'STOP' } },
    },
    {
      name: 'E2 that is to be terminated for maintenance',
      fields: { ...machineType('e2-standard-4'), scheduling: { onHostMaintenance: 'TERMINATE' } },
    },
    {
      name: 'a GPU machine that is to migrate',
      fields: { ...machineType('g2-standard-4'), scheduling: {} },
    },
    {
      name: 'Spot that is to be restarted',
      fields: { scheduling: { provisioningModel: 'SPOT', automaticRestart: true } },
    },
  ])('400: $name', ({ fields }) => {
    const world = new TestWorld();
    expect(world.insert('vm', fields).status).toBe(400);
    expect(world.world.compute.machines.size).toBe(0);
  });

  test.each([
    { name: 'a name of 63 characters', fields: { name: 'a'.repeat(63) } },
    {
      name: 'a metadata value of 262,144 bytes',
      fields: { metadata: { items: [{ key: 'k', value: 'x'.repeat(262_144) }] } },
    },
    {
      name: 'E2 Spot, terminated',
      fields: {
        ...machineType('e2-standard-4'),
        scheduling: { provisioningModel: 'SPOT', onHostMaintenance: 'TERMINATE' },
      },
    },
    {
      name: 'a GPU machine, terminated',
      fields: { ...machineType('g2-standard-4'), scheduling: { onHostMaintenance: 'TERMINATE' } },
    },
  ])('taken: $name', ({ fields }) => {
    expect(new TestWorld().insert('vm', fields).status).toBe(200);
  });

  test('an unknown zone, and a machine type that this zone does not offer', () => {
    const zones = { 'r-a': { machineTypes: ['n2-standard-4'] }, 'r-b': { machineTypes: [] } };
    const world = new TestWorld({ compute: { zones } });
    const [offered, missing, unknown] = ['r-a', 'r-b', 'r-c'].map((zone) =>
      world.insert('vm', {}, { zone }),
    );
    expect([offered?.status, missing?.status, unknown?.status]).toEqual([200, 400, 400]);
  });

  test('a name that is taken, by a stopped machine too', () => {
    const world = new TestWorld();
    world.insert('vm');
    expect(reasonOf(world.insert('vm'))).toBe('alreadyExists');
    world.pass(5000);
    world.instance('stop', 'vm');
    world.pass(60_000);
    expect(world.insert('vm').status).toBe(409);
    expect(world.insert('vm', {}, { zone: 'us-central1-b' }).status).toBe(200);
  });
});

describe('a repeated requestId', () => {
  test('gives the first operation again, a failed one too, until the window is over', () => {
    const world = new TestWorld({ compute: { requestIdWindowMs: 3_600_000 } });
    world.call('local.compute.stock', { zone: ZONE, machineType: 'n2-standard-4', available: '0' });
    const first = world.insert('vm', {}, { requestId: REQUEST_ID });
    world.pass(10_000);
    world.call('local.compute.stock', { zone: ZONE, machineType: 'n2-standard-4', available: '1' });
    const again = world.insert('vm', {}, { requestId: REQUEST_ID });
    expect(again.body).toMatchObject({
      name: first.body?.name,
      status: 'DONE',
      error: expect.anything(),
    });
    expect(world.world.compute.machines.size).toBe(0);
    world.pass(3_600_000);
    const late = world.insert('vm', {}, { requestId: REQUEST_ID });
    expect(late.body?.name).not.toBe(first.body?.name);
    expect(world.world.compute.machines.size).toBe(1);
  });

  test('of a delete is the first delete, not one of a later machine of that name', () => {
    const world = new TestWorld();
    world.insert('vm');
    world.pass(5000);
    const first = world.instance('delete', 'vm', { requestId: REQUEST_ID });
    world.pass(60_000);
    world.insert('vm');
    const again = world.instance('delete', 'vm', { requestId: REQUEST_ID });
    expect(again.body).toMatchObject({ name: first.body?.name, status: 'DONE' });
    expect(world.instance('get', 'vm').status).toBe(200);
  });

  test('must be a UUID, and not the zero one', () => {
    const world = new TestWorld();
    const zero = '00000000-0000-0000-0000-000000000000';
    expect(world.insert('vm', {}, { requestId: zero }).status).toBe(400);
    expect(world.insert('vm', {}, { requestId: 'x' }).status).toBe(400);
  });
});

describe('refused by the operation', () => {
  const operationOf = (world: TestWorld, fields = {}, zone = ZONE) => {
    const inserted = world.insert('vm', fields, { zone });
    expect(inserted.status).toBe(200);
    const seen = [
      world.call('compute.instances.get', { project: PROJECT, zone, instance: 'vm' }).status,
    ];
    world.pass(10_000);
    seen.push(
      world.call('compute.instances.get', { project: PROJECT, zone, instance: 'vm' }).status,
    );
    return { seen, operation: world.operation(inserted) };
  };

  test('P25: a stock-out names the zones of the region that have stock', () => {
    const zones = Object.fromEntries(['r-a', 'r-b', 'r-c', 'r-d', 's-a'].map((zone) => [zone, {}]));
    const world = new TestWorld({ compute: { zones } });
    for (const [zone, available] of [
      ['r-b', '0'],
      ['r-c', '0'],
      ['r-a', '3'],
      ['r-d', '1'],
    ] as const) {
      world.call('local.compute.stock', { zone, machineType: 'n2-standard-4', available });
    }
    const { seen, operation } = operationOf(world, {}, 'r-b');
    expect(seen).toEqual([200, 404]);
    expect(operation.error).toMatchObject({
      errors: [
        {
          code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
          errorDetails: [
            {
              errorInfo: {
                reason: 'resource_availability',
                metadatas: { zone: 'r-b', vmType: 'n2-standard-4', zonesAvailable: 'r-a,r-d' },
              },
            },
          ],
        },
      ],
    });
    expect(world.world.compute.disks.size).toBe(0);
    expect(world.machineEvents()).toEqual([]);
  });

  test('without stock in the region there is no hint; a machine that goes gives its place back', () => {
    const world = new TestWorld({ compute: { zones: { 'r-a': {} } } });
    world.call('local.compute.stock', {
      zone: 'r-a',
      machineType: 'n2-standard-4',
      available: '1',
    });
    world.insert('first', {}, { zone: 'r-a' });
    world.pass(5000);
    expect(operationOf(world, {}, 'r-a').operation.error).toMatchObject({
      errors: [{ code: 'ZONE_RESOURCE_POOL_EXHAUSTED' }],
    });
    world.call('compute.instances.delete', { project: PROJECT, zone: 'r-a', instance: 'first' });
    world.pass(60_000);
    expect(operationOf(world, {}, 'r-a').operation).not.toHaveProperty('error');
  });

  test('a quota tells its metric, limit and whether it is global', () => {
    const world = new TestWorld();
    world.call('local.compute.quota', { scope: 'global', metric: 'GPUS_ALL_REGIONS', limit: '0' });
    world.call('local.compute.quota', { scope: 'us-central1', metric: 'N2_CPUS', limit: '7' });
    const gpu = { ...machineType('g2-standard-4'), scheduling: { onHostMaintenance: 'TERMINATE' } };
    expect(operationOf(world, gpu).operation).toMatchObject({
      httpErrorStatusCode: 403,
      error: {
        errors: [
          {
            code: 'QUOTA_EXCEEDED',
            errorDetails: [
              {
                quotaInfo: {
                  metricName: 'compute.googleapis.com/gpus_all_regions',
                  limit: 0,
                  dimensions: { global: 'global' },
                },
              },
            ],
          },
        ],
      },
    });
    world.insert('one');
    world.pass(5000);
    expect(operationOf(world).operation.error).toMatchObject({
      errors: [
        { errorDetails: [{ quotaInfo: { limit: 7, dimensions: { region: 'us-central1' } } }] },
      ],
    });
    const region = world.call('compute.regions.get', { project: PROJECT, region: 'us-central1' });
    expect(region.body?.quotas).toEqual([{ metric: 'N2_CPUS', limit: 7, usage: 4 }]);
  });

  test('a caller who may not act as the account learns it from the operation', () => {
    const world = new TestWorld();
    world.world.compute.actAsDenied.add('worker@local-project.iam.gserviceaccount.com');
    expect(operationOf(world).operation.error).toMatchObject({
      errors: [{ code: 'SERVICE_ACCOUNT_ACCESS_DENIED' }],
    });
  });

  test('a planted outcome may fail the operation while the machine lives', () => {
    const world = new TestWorld();
    world.call('local.compute.outcome', {}, { code: 'RESOURCE_NOT_FOUND', machineLives: true });
    const { seen, operation } = operationOf(world);
    expect(operation.error).toMatchObject({ errors: [{ code: 'RESOURCE_NOT_FOUND' }] });
    expect(seen).toEqual([200, 200]);
    expect(world.machineEvents()).toEqual(['machine-started']);
  });
});

test('a disk of the wanted name that is left over is attached instead of a new one', () => {
  const world = new TestWorld();
  const place = { project: PROJECT, zone: ZONE };
  world.call('compute.disks.insert', place, { name: 'vm', sizeGb: '77', labels: { old: 'yes' } });
  world.insert('vm', { disks: DISKS });
  expect(world.call('compute.disks.get', { ...place, disk: 'vm' }).body).toMatchObject({
    sizeGb: '77',
    labels: { old: 'yes' },
  });
});

test('what the caller does with his body afterwards does not reach the machine', () => {
  const world = new TestWorld();
  const labels = { app: 'test' };
  world.insert('vm', { labels });
  labels.app = 'changed';
  const read = world.instance('get', 'vm').body ?? {};
  expect(read.labels).toEqual({ app: 'test' });
  Object.assign(read.labels as object, { app: 'changed' });
  expect(world.instance('get', 'vm').body?.labels).toEqual({ app: 'test' });
});
