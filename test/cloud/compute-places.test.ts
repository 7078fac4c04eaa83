// Quotas and offers: shapes of the REST reference of Compute Engine v1.
import { expect, test } from 'vitest';
import { openCompute as open, SELF } from '#test/cloud/compute-fixtures.ts';

const quotas = [
  { metric: 'CPUS', limit: 24, usage: 4.5 },
  { metric: 'NVIDIA_L4_GPUS', limit: 1, usage: 0, owner: 'x' },
];

test('A102: the quotas of a region and of the project, each by its own path', async () => {
  await using opened = await open(() => ({ status: 200, json: { name: 'x', quotas } }));
  expect(await opened.compute.getQuotas('us-central1')).toEqual([
    { metric: 'CPUS', limit: 24, usage: 4.5 },
    { metric: 'NVIDIA_L4_GPUS', limit: 1, usage: 0 },
  ]);
  await opened.compute.getQuotas('all regions');
  expect(opened.server.seen.map(({ path }) => path)).toEqual([
    '/compute/v1/projects/p1/regions/us-central1',
    '/compute/v1/projects/p1',
  ]);
});

test.each([
  {
    name: 'fetching them failed',
    answer: { status: 200, json: { quotas, quotaStatusWarning: { code: 'x' } } },
  },
  { name: '403', answer: { status: 403, json: { error: { code: 403, message: 'no' } } } },
  { name: 'no JSON', answer: { status: 200, text: '<html>' } },
])('A102: $name: nothing is known of them', async ({ answer }) => {
  await using opened = await open(() => answer);
  expect(await opened.compute.getQuotas('us-central1')).toBeNull();
});

const inZone = (zone: string) => ({
  [`zones/${zone}`]: { machineTypes: [{ name: 'e2-standard-4', zone }] },
});
const NO_RESULTS = { warning: { code: 'NO_RESULTS_ON_PAGE' } };

test('P36: the zones that offer a machine type, over all pages', async () => {
  await using opened = await open(({ query }) => ({
    status: 200,
    json: query.has('pageToken')
      ? { items: { ...inZone('us-east1-b'), 'zones/us-east1-c': NO_RESULTS } }
      : {
          items: {
            'zones/us-west1-a': {
              machineTypes: [{ name: 'e2-standard-4', zone: `${SELF}/zones/us-west1-a` }],
            },
          },
          nextPageToken: 'more',
        },
  }));
  expect(await opened.compute.zonesOffering('e2-standard-4')).toEqual(['us-east1-b', 'us-west1-a']);
  expect(opened.server.seen[0]?.query.get('filter')).toBe('name=e2-standard-4');
});

test.each([
  {
    name: 'a zone that could not be listed',
    json: { items: { ...inZone('a-b-c'), 'zones/x': { warning: { code: 'UNREACHABLE' } } } },
  },
  {
    name: 'a scope among the unreachable',
    json: { items: inZone('a-b-c'), unreachables: ['zones/x'] },
  },
  { name: 'another shape', json: { items: [] } },
])('P36: $name leaves all in doubt', async ({ json }) => {
  await using opened = await open(() => ({ status: 200, json }));
  expect(await opened.compute.zonesOffering('e2-standard-4')).toBeNull();
});
