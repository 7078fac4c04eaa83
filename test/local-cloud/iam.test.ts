// What a grant covers, which of several a use is put down to, and what is remembered of it.
import { describe, expect, test } from 'vitest';
import { type Grant, isAllowed, wouldBeAllowed } from '#scripts/local-cloud/iam.ts';
import { PROJECT, TestWorld } from '#test/local-cloud/fixtures.ts';

const CALLER = 'caller@local-project.iam.gserviceaccount.com';
const DELETE = 'compute.instances.delete';
const MACHINES = `projects/${PROJECT}/zones/*/instances/mayfly-`;

function granted(...grants: readonly Omit<Grant, 'principal'>[]) {
  const test = new TestWorld({ grants: grants.map((grant) => ({ principal: CALLER, ...grant })) });
  const context = { world: test.world, nowMs: test.nowMs, emit: () => {} };
  const { iam } = test.world;
  return {
    may: (permission: string, resource: string) => isAllowed(context, CALLER, permission, resource),
    could: (permission: string, resource: string) =>
      wouldBeAllowed(context, CALLER, permission, resource),
    used: () => [...iam.used].map(([{ resourcePrefix }, used]) => [resourcePrefix, ...used]),
    refused: () => [...iam.refused],
    call: (method: string, params: Record<string, string>) =>
      test.call(method, params, undefined, CALLER),
  };
}

describe('a star in a name', () => {
  const { may } = granted({ permissions: [DELETE], resourcePrefix: MACHINES });

  test.each([
    { zone: 'us-central1-a', name: 'mayfly-r-1', allowed: true },
    { zone: 'europe-west1-b', name: 'mayfly-', allowed: true },
    { zone: 'us-central1-a', name: 'other', allowed: false },
    { zone: 'us-central1-a', name: 'my-mayfly-r', allowed: false },
    { zone: '', name: 'mayfly-r-1', allowed: false },
    { zone: 'a/instances/x/b', name: 'mayfly-r-1', allowed: false },
  ])('is one part of it: $name in "$zone": $allowed', ({ zone, name, allowed }) => {
    expect(may(DELETE, `projects/${PROJECT}/zones/${zone}/instances/${name}`)).toBe(allowed);
  });

  test('and what stands before it counts', () => {
    expect(may(DELETE, 'projects/other/zones/us-central1-a/instances/mayfly-r-1')).toBe(false);
  });
});

test('a use is put down to the grant for the fewest names that has the permission', () => {
  const bucket = { permissions: ['storage.objects.get'], resourcePrefix: 'b/objects/' };
  const data = { permissions: ['storage.objects.get'], resourcePrefix: 'b/objects/data/' };
  const write = { permissions: ['storage.objects.create'], resourcePrefix: 'b/objects/data/in/' };
  for (const order of [
    [bucket, data, write],
    [write, data, bucket],
  ]) {
    const { may, used } = granted(...order);
    expect(may('storage.objects.get', 'b/objects/data/in/a')).toBe(true);
    expect(used()).toEqual([['b/objects/data/', 'storage.objects.get']]);
    expect(may('storage.objects.get', 'b/objects/runs/a')).toBe(true);
    expect(used()).toContainEqual(['b/objects/', 'storage.objects.get']);
  }
});

test('a use is remembered once, a refusal with its name; a question of somebody else is neither', () => {
  const { may, could, used, refused } = granted({ permissions: ['a.b.*'], resourcePrefix: 'p/' });
  expect([could('a.b.c', 'p/1'), could('a.b.c', 'q/1'), could('a.c', 'p/1')]).toEqual([
    true,
    false,
    false,
  ]);
  expect([used(), refused()]).toEqual([[], []]);
  expect([may('a.b.c', 'p/1'), may('a.b.c', 'p/2'), may('a.b.d', 'q/1')]).toEqual([
    true,
    true,
    false,
  ]);
  expect(used()).toEqual([['p/', 'a.b.c']]);
  expect(refused()).toEqual([`${CALLER} a.b.d q/1`]);
});

test('where rights are not looked at, whoever asks could', () => {
  const world = new TestWorld();
  const context = { world: world.world, nowMs: world.nowMs, emit: () => {} };
  expect(wouldBeAllowed(context, CALLER, 'a.b', 'c')).toBe(true);
});

test.each([
  { method: 'compute.machineTypes.list', permission: 'compute.machineTypes.list' },
  { method: 'compute.machineTypes.aggregatedList', permission: 'compute.machineTypes.list' },
  { method: 'compute.instances.aggregatedList', permission: 'compute.instances.list' },
  { method: 'compute.disks.aggregatedList', permission: 'compute.disks.list' },
  { method: 'compute.regions.get', permission: 'compute.regions.get' },
  { method: 'compute.projects.get', permission: 'compute.projects.get' },
])('$method demands $permission on the project', ({ method, permission }) => {
  const params = { project: PROJECT, zone: 'us-central1-a', region: 'us-central1' };
  const resourcePrefix = `projects/${PROJECT}`;
  const others = granted({ permissions: ['compute.zones.list'], resourcePrefix });
  expect(others.call(method, params).status).toBe(403);
  expect(others.refused()).toEqual([`${CALLER} ${permission} ${resourcePrefix}`]);
  const right = granted({ permissions: [permission], resourcePrefix });
  expect(right.call(method, params).status).toBe(200);
});
