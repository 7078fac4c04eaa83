// Rights by principal and name prefix, the limit of one change a second, and preconditions in the step.
import { describe, expect, test } from 'vitest';
import { PROJECT, reasonOf, TestWorld, ZONE } from '#test/local-cloud/fixtures.ts';

const WORKER = 'worker@local-project.iam.gserviceaccount.com';
const BUCKET = 'local-bucket';
const OBJECTS = `projects/_/buckets/${BUCKET}/objects/`;

function granted(storage = {}): TestWorld {
  return new TestWorld({
    storage: { objectWriteGapMs: 0, ...storage },
    grants: [
      {
        principal: WORKER,
        permissions: ['storage.objects.get', 'storage.objects.create', 'storage.objects.delete'],
        resourcePrefix: `${OBJECTS}runs/work/`,
      },
      { principal: WORKER, permissions: ['storage.objects.*'], resourcePrefix: `${OBJECTS}open/` },
      {
        principal: WORKER,
        permissions: ['storage.objects.create'],
        resourcePrefix: `${OBJECTS}append/`,
      },
      {
        principal: WORKER,
        permissions: ['compute.instances.delete'],
        resourcePrefix: `projects/${PROJECT}/zones/${ZONE}/instances/mayfly-`,
      },
    ],
  });
}

const write = (world: TestWorld, name: string, principal: string | null = WORKER, condition = {}) =>
  world.call(
    'storage.objects.insert',
    { bucket: BUCKET, name, ...condition },
    { bytes: Buffer.from('x') },
    principal,
  );
const read = (world: TestWorld, object: string, principal: string | null = WORKER) =>
  world.call('storage.objects.get', { bucket: BUCKET, object }, undefined, principal);

test('a grant with a prefix opens that prefix alone', () => {
  const world = granted();
  expect(write(world, 'runs/work/r/1/claim.json').status).toBe(200);
  expect(read(world, 'runs/work/r/1/claim.json').status).toBe(200);
  expect(reasonOf(write(world, 'runs/state/r/record.json'))).toBe('forbidden');
  expect(write(world, 'runs/state/r/record.json', null).status).toBe(200);
  expect(read(world, 'runs/state/r/record.json').status).toBe(403);
  expect(read(world, 'open/none').status).toBe(404);
});

test('overwriting needs the right to delete', () => {
  const world = granted();
  expect(write(world, 'append/log').status).toBe(200);
  expect(write(world, 'append/log').status).toBe(403);
});

test.each([
  { first: 'rights', conditionsBeforeRights: false, status: 403 },
  { first: 'conditions', conditionsBeforeRights: true, status: 412 },
])('C147: a create-only write of what is there, where $first come first: $status', (world) => {
  const { conditionsBeforeRights, status } = world;
  const cloud = granted({ conditionsBeforeRights });
  const createOnly = { ifGenerationMatch: '0' };
  expect(write(cloud, 'append/once', WORKER, createOnly).status).toBe(200);
  expect(write(cloud, 'append/once', WORKER, createOnly).status).toBe(status);
  expect(write(cloud, 'append/once').status).toBe(403);
});

test('a caller who may not list is told 403 for what is missing, where the world says so', () => {
  const world = granted({ hideMissingObjects: true });
  expect(read(world, 'runs/work/none').status).toBe(403);
  expect(read(world, 'open/none').status).toBe(404);
});

test('a machine may delete what has its name prefix, and may not look', () => {
  const world = granted();
  world.insert('mayfly-1');
  world.insert('other');
  const act = (method: string, instance: string) => {
    const params = { project: PROJECT, zone: ZONE, instance };
    return world.call(`compute.instances.${method}`, params, undefined, WORKER).status;
  };
  expect([act('delete', 'mayfly-1'), act('delete', 'other'), act('get', 'mayfly-1')]).toEqual([
    200, 403, 403,
  ]);
});

test('a principal without any grant may do nothing, the owner everything; controls are the owner’s', () => {
  const world = granted();
  expect(write(world, 'open/a', 'stranger@p.iam.gserviceaccount.com').status).toBe(403);
  expect(world.call('local.faults.clear', {}, {}, WORKER).status).toBe(403);
  expect(world.call('local.faults.clear').status).toBe(200);
});

describe('one change a second for each name', () => {
  test('create, overwrite and delete count; a refused one does not', () => {
    const world = new TestWorld();
    expect(write(world, 'a', null).status).toBe(200);
    expect(reasonOf(write(world, 'a', null))).toBe('rateLimitExceeded');
    expect(write(world, 'b', null).status).toBe(200);
    world.pass(999);
    expect(write(world, 'a', null).status).toBe(429);
    world.pass(1);
    const object = { bucket: BUCKET, object: 'a' };
    expect(world.call('storage.objects.delete', object).status).toBe(204);
    expect(write(world, 'a', null).status).toBe(429);
    world.pass(1000);
    expect(write(world, 'a', null, { ifGenerationMatch: '7' }).status).toBe(412);
    expect(write(world, 'a', null).status).toBe(200);
  });

  test('a 412 comes before the 429, and a patch counts as a change', () => {
    const world = new TestWorld();
    write(world, 'a', null);
    expect(write(world, 'a', null, { ifGenerationMatch: '0' }).status).toBe(412);
    world.pass(1000);
    const object = { bucket: BUCKET, object: 'a' };
    const patched = world.call('storage.objects.patch', object, { metadata: { k: 'v' } });
    expect(patched.body).toMatchObject({ metageneration: '2', metadata: { k: 'v' } });
    expect(world.call('storage.objects.patch', object, {}).status).toBe(429);
  });
});

test.each([
  {
    name: 'generation holds',
    params: (generation: string) => ({ ifGenerationMatch: generation }),
    status: 200,
  },
  { name: 'another generation', params: () => ({ ifGenerationMatch: '1' }), status: 412 },
  { name: 'no such object wanted', params: () => ({ ifGenerationMatch: '0' }), status: 412 },
  {
    name: 'generation differs, as wanted',
    params: () => ({ ifGenerationNotMatch: '1' }),
    status: 200,
  },
  {
    name: 'unchanged',
    params: (generation: string) => ({ ifGenerationNotMatch: generation }),
    status: 304,
  },
  { name: 'metageneration holds', params: () => ({ ifMetagenerationMatch: '1' }), status: 200 },
  { name: 'another metageneration', params: () => ({ ifMetagenerationMatch: '2' }), status: 412 },
  { name: 'unchanged metadata', params: () => ({ ifMetagenerationNotMatch: '1' }), status: 304 },
])('a read whose condition is: $name → $status', ({ params, status }) => {
  const world = new TestWorld();
  const generation = String(write(world, 'a', null).body?.generation);
  const query = { bucket: BUCKET, object: 'a', ...params(generation) };
  expect(world.call('storage.objects.get', query).status).toBe(status);
});

test('generations rise over the whole world and have 16 digits, whatever the clock says', () => {
  const world = new TestWorld();
  world.nowMs = 0;
  const generations = ['a', 'b', 'c'].map((name) =>
    String(write(world, name, null).body?.generation),
  );
  expect(generations.every((generation) => /^[0-9]{16}$/.test(generation))).toBe(true);
  expect([...new Set(generations)].sort()).toEqual(generations);
});

test('a bucket that is away answers 503 until it is back', () => {
  const world = new TestWorld();
  world.call('local.storage.bucket', {}, { bucket: BUCKET, available: false });
  expect(write(world, 'a', null).status).toBe(503);
  world.call('local.storage.bucket', {}, { bucket: BUCKET, available: true });
  expect(write(world, 'a', null).status).toBe(200);
});

test('the call log counts by principal, method and name', () => {
  const world = granted();
  write(world, 'open/a');
  write(world, 'open/a', null);
  read(world, 'open/a');
  const { calls } = world.world;
  expect(calls.count({ method: 'storage.objects.insert', name: 'open/a' })).toBe(2);
  expect(calls.count({ principal: WORKER })).toBe(2);
  expect(calls.count({ principal: null, method: 'storage.objects.get' })).toBe(0);
  expect(calls.entries().map(({ method, status }) => [method, status])).toEqual([
    ['storage.objects.insert', 200],
    ['storage.objects.insert', 200],
    ['storage.objects.get', 200],
  ]);
});

test('an unknown method is answered, not thrown', () => {
  expect(new TestWorld().call('storage.objects.compose').status).toBe(501);
});
