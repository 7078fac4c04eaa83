import { expect, test } from 'vitest';
import { instance, NAME, openCompute as open, SELF, ZONE } from '#test/cloud/compute-fixtures.ts';

const FILTER = 'labels.managed-by=mayfly AND labels.deployment=mayfly';

test('P75: scopes with a warning and unreachable scopes are unknown, an empty one is empty', async () => {
  await using opened = await open(() => ({
    status: 200,
    json: {
      items: {
        'zones/us-east1-b': { warning: { code: 'UNREACHABLE' } },
        'zones/us-east1-c': { warning: { code: 'NO_RESULTS_ON_PAGE' } },
        [`zones/${ZONE}`]: { instances: [instance] },
      },
      unreachables: ['zones/us-west1-a'],
    },
  }));
  const page = await opened.compute.listInstances(FILTER, null);
  expect(page.items.map(({ name }) => name)).toEqual([NAME]);
  expect(page.unknownZones).toEqual(['us-east1-b', 'us-west1-a']);
  expect(page.nextPageToken).toBeNull();
});

test.each([
  {
    name: 'a warning of the page that names its scopes',
    json: {
      warning: { code: 'PARTIAL_SUCCESS', data: [{ key: 'scope', value: 'zones/us-east1-b' }] },
    },
    unknown: ['us-east1-b'],
  },
  {
    name: 'a warning of the page that names none',
    json: { warning: { code: 'LIST_OVERHEAD_QUOTA_EXCEED' } },
    unknown: ['*'],
  },
  {
    name: 'a warning in a scope that names another',
    json: {
      items: {
        'zones/us-east1-b': {
          warning: {
            code: 'EXTERNAL_API_WARNING',
            data: [{ key: 'scope', value: 'zones/us-east1-d' }],
          },
        },
      },
    },
    unknown: ['us-east1-b', 'us-east1-d'],
  },
  {
    name: 'an unreachable scope as a full path',
    json: { unreachables: ['projects/p1/zones/us-west1-a'] },
    unknown: ['us-west1-a'],
  },
  { name: 'an unreachable region', json: { unreachables: ['regions/us-west1'] }, unknown: ['*'] },
  {
    name: 'an instance that cannot be read',
    json: { items: { 'zones/us-east1-b': { instances: [{ id: 'x' }] } } },
    unknown: ['us-east1-b'],
  },
  {
    name: 'instances that are no list',
    json: { items: { 'zones/us-east1-b': { instances: {} } } },
    unknown: ['us-east1-b'],
  },
  {
    name: 'a page without a warning',
    json: { kind: 'compute#instanceAggregatedList' },
    unknown: [],
  },
])('P75: $name', async ({ json, unknown }) => {
  await using opened = await open(() => ({ status: 200, json }));
  expect((await opened.compute.listInstances(FILTER, null)).unknownZones).toEqual(unknown);
});

test('P75: a page that is no aggregated list is an error, not empty', async () => {
  for (const json of [[], { items: [] }, 'x']) {
    await using opened = await open(() => ({ status: 200, json }));
    await expect(opened.compute.listInstances(FILTER, null)).rejects.toMatchObject({
      code: 'unreadable',
    });
  }
});

test('a list asks for partial success, all scopes, 500 items, and continues by its token', async () => {
  await using opened = await open(() => ({ status: 200, json: { nextPageToken: 'n2' } }));
  expect((await opened.compute.listInstances(FILTER, 'n1')).nextPageToken).toBe('n2');
  const [request] = opened.server.seen;
  expect(request?.path).toBe('/compute/v1/projects/p1/aggregated/instances');
  expect(Object.fromEntries(request?.query ?? [])).toEqual({
    filter: FILTER,
    maxResults: '500',
    includeAllScopes: 'true',
    returnPartialSuccess: 'true',
    fields:
      'nextPageToken,unreachables,warning,items/*/warning,items/*/instances(name,id,zone,status,' +
      'machineType,labels,creationTimestamp,lastStartTimestamp,scheduling(provisioningModel,preemptible))',
    pageToken: 'n1',
  });
});

test('disks are listed with their users', async () => {
  const disk = {
    name: `${NAME}-1`,
    zone: `${SELF}/zones/${ZONE}`,
    labels: { deployment: 'mayfly' },
    users: [`${SELF}/zones/${ZONE}/instances/${NAME}`],
    type: `${SELF}/zones/${ZONE}/diskTypes/pd-balanced`,
    sizeGb: '100',
    creationTimestamp: '2025-11-30T16:00:01.000-08:00',
  };
  await using opened = await open(() => ({
    status: 200,
    json: { items: { [`zones/${ZONE}`]: { disks: [disk, { ...disk, users: undefined }] } } },
  }));
  const { items } = await opened.compute.listDisks(FILTER, null);
  expect(items[0]).toEqual({
    name: disk.name,
    zone: ZONE,
    labels: disk.labels,
    users: disk.users,
    diskType: 'pd-balanced',
    sizeGiB: 100,
    createdMs: Date.parse('2025-12-01T00:00:01Z'),
  });
  expect(items[1]?.users).toEqual([]);
});

test('an empty filter is a programming error, and nothing is sent', async () => {
  await using opened = await open(() => ({ status: 200, json: {} }));
  for (const filter of ['', '  ']) {
    await expect(opened.compute.listInstances(filter, null)).rejects.toThrow('empty filter');
    await expect(opened.compute.listDisks(filter, null)).rejects.toThrow('empty filter');
  }
  expect(opened.server.seen).toHaveLength(0);
});
