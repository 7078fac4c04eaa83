// The table of placement errors in full: every code in its row, what is quoted, and what is advised.
import { describe, expect, test } from 'vitest';
import {
  PLACEMENT_ERRORS,
  placementError,
  quotaMetric,
  zonesWithStock,
} from '#shared/lifecycle/placement-errors.ts';

const error = (
  code: string,
  message = '',
  details: Record<string, string> = {},
  status?: number,
) => (status === undefined ? { code, message, details } : { code, message, details, status });

// By Compute Engine's own pages on resource errors, API errors and quotas.
const ROWS: readonly (readonly [name: string, codes: readonly string[]])[] = [
  [
    'zone out of stock',
    [
      'ZONE_RESOURCE_POOL_EXHAUSTED',
      'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
      'RESOURCE_POOL_EXHAUSTED',
      'STOCKOUT',
      'GPU_STOCKOUT',
      'insufficientCapacity',
    ],
  ],
  [
    'region out of stock',
    ['REGION_RESOURCE_POOL_EXHAUSTED', 'REGION_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'],
  ],
  ['regional quota', ['QUOTA_EXCEEDED', 'quotaExceeded']],
  ['no addresses left', ['IP_SPACE_EXHAUSTED', 'IP_SPACE_EXHAUSTED_WITH_DETAILS']],
  [
    'rate limit',
    [
      'rateLimitExceeded',
      'userRateLimitExceeded',
      'RATE_LIMIT_EXCEEDED',
      'RESOURCE_OPERATION_RATE_EXCEEDED',
      'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
    ],
  ],
  ['not ready', ['RESOURCE_NOT_READY', 'resourceNotReady']],
  ['taken back while it was made', ['UNSUPPORTED_OPERATION']],
  ['service not available there', ['SERVICE_UNAVAILABLE_FOR_LOCATION']],
  ['internal error', ['INTERNAL_ERROR']],
  ['not found, and no machine', ['RESOURCE_NOT_FOUND']],
  ['no such Job', ['NOT_FOUND']],
  ['Job not ready', ['FAILED_PRECONDITION']],
  ['worker account out of reach', ['SERVICE_ACCOUNT_ACCESS_DENIED']],
  [
    'no permission',
    [
      'PERMISSIONS_ERROR',
      'forbidden',
      'insufficientPermissions',
      'IAM_PERMISSION_DENIED',
      'PERMISSION_DENIED',
      'authError',
      'accessNotConfigured',
      'SERVICE_DISABLED',
      'BILLING_DISABLED',
      'UNAUTHENTICATED',
    ],
  ],
  [
    'wrong request',
    [
      'INVALID_FIELD_VALUE',
      'FIELD_SIZE_TOO_LARGE',
      'MISSING_REQUIRED_FIELD',
      'INVALID_USAGE',
      'invalid',
      'badRequest',
      'required',
      'INVALID_ARGUMENT',
    ],
  ],
  ['project, network or image missing', ['PROJECT_NOT_FOUND', 'NETWORK_NOT_FOUND', 'notFound']],
  ['name taken', ['ALREADY_EXISTS']],
  ['unknown code', ['', 'A_CODE_OF_NEXT_YEAR', 'zone_resource_pool_exhausted']],
];

test.each(ROWS.flatMap(([name, codes]) => codes.map((code) => ({ code, name }))))(
  '$code is: $name',
  ({ code, name }) => {
    expect(placementError(error(code)).name).toBe(name);
  },
);

test.each([
  ['machine or GPU type not offered there', "'resource.machineType': 'x'"],
  ['machine or GPU type not offered there', "'resource.guestAccelerators[0].acceleratorType': 'x'"],
  ['no such zone', "'zone': 'us-x1-a'"],
  ['no such zone', "The resource 'projects/p/zones/us-x1-a' was not found"],
  ['no such subnetwork', "'resource.networkInterfaces[0].subnetwork': 'x'"],
])('%s: by what the message quotes, whichever code it has', (name, message) => {
  for (const code of [
    'invalid',
    'badRequest',
    'notFound',
    'INVALID_FIELD_VALUE',
    'RESOURCE_NOT_FOUND',
  ]) {
    expect(placementError(error(code, message)).name).toBe(name);
  }
  // What stands outside of the quotes, or another code, does not count.
  expect(placementError(error('forbidden', message)).name).toBe('no permission');
});

test('a location that is closed to the project is told by how its message begins', () => {
  const message = 'Location us-central1-x is not found or access is unauthorized.';
  for (const code of ['forbidden', 'PERMISSION_DENIED']) {
    expect(placementError(error(code, message)).name).toBe('location closed to the project');
  }
  expect(placementError(error('forbidden', `In ${message}`)).name).toBe('no permission');
});

// As Compute Engine words them, with HTTP 412.
test.each([
  [
    'organisation policy',
    "Constraint constraints/compute.requireShieldedVm violated for project projects/p. Secure Boot is not enabled in the 'shielded_instance_config' field.",
  ],
  [
    'organisation policy',
    'Constraint constraints/compute.trustedImageProjects violated for project p. Use of images from project cos-cloud is prohibited.',
  ],
  [
    'place closed by an organisation policy',
    'Location ZONE:us-east1-b violates constraint constraints/gcp.resourceLocations on the resource projects/p/zones/us-east1-b/instances/i.',
  ],
  [
    'machine closed by an organisation policy',
    'Operation denied by org policy: ["customConstraints/custom.onlyN2": "Only N2."].',
  ],
  ['unknown code', 'Unsupported TPU configuration'],
])('%s: by the constraint that the message names', (name, message) => {
  for (const code of ['conditionNotMet', 'CONDITION_NOT_MET']) {
    expect(placementError(error(code, message, {}, 412)).name).toBe(name);
  }
});

describe('HTTP status', () => {
  test('5xx and 408 are no answer, unless they say that there is no stock', () => {
    for (const status of [408, 500, 502, 503, 599]) {
      expect(placementError(error('invalid', '', {}, status)).name).toBe('server error');
      expect(placementError(error('STOCKOUT', '', {}, status)).name).toBe('zone out of stock');
      const region = error('REGION_RESOURCE_POOL_EXHAUSTED', '', {}, status);
      expect(placementError(region).name).toBe('region out of stock');
    }
    expect(placementError(error('invalid', '', {}, 499)).name).toBe('wrong request');
  });

  test('429 is a rate limit when its reason says nothing else', () => {
    expect(placementError(error('', '', {}, 429)).name).toBe('rate limit');
    expect(placementError(error('quotaExceeded', '', {}, 429)).name).toBe('regional quota');
    expect(placementError(error('', '', {}, 428)).name).toBe('unknown code');
  });
});

test.each([
  ['global quota', /all regions together.*Quotas$/],
  ['regional quota', /Quotas, or name more regions$/],
  ['no addresses left', /^widen the subnetwork/],
  ['machine or GPU type not offered there', /^name zones or regions that offer it$/],
  ['no such zone', /^correct place\.zones or place\.regions$/],
  ['no such subnetwork', /place\.subnetworks, or the setting MAYFLY_SUBNETWORKS$/],
  ['place closed by an organisation policy', /^name regions and subnetworks/],
  ['machine closed by an organisation policy', /^name machine types/],
  ['organisation policy', /docs\/security\.md/],
  ['no such Job', /Terraform/],
  ['Job not ready', /conditions/],
  ['worker account out of reach', /^grant roles\/iam\.serviceAccountUser on the worker account/],
])('%s: the reader is told what to do', (name, advice) => {
  expect(PLACEMENT_ERRORS.find((row) => row.name === name)?.advice).toMatch(advice);
});

describe('which quota is short', () => {
  test('by the details, else by the message', () => {
    const metricName = 'compute.googleapis.com/cpus';
    expect(quotaMetric(error('QUOTA_EXCEEDED', "Quota 'X' exceeded", { metricName }))).toBe(
      metricName,
    );
    expect(quotaMetric(error('QUOTA_EXCEEDED', "Quota 'GPUS_ALL_REGIONS' exceeded."))).toBe(
      'GPUS_ALL_REGIONS',
    );
    expect(quotaMetric(error('quotaExceeded', 'Quota CPUS exceeded. Limit: 24.0'))).toBe('CPUS');
    expect(quotaMetric(error('quotaExceeded', 'no more of it'))).toBeNull();
  });

  test('one in all regions is another row than a regional one', () => {
    const all = { metricName: 'compute.googleapis.com/gpus_all_regions' };
    expect(placementError(error('QUOTA_EXCEEDED', '', all)).name).toBe('global quota');
    expect(placementError(error('STOCKOUT', '', all)).name).toBe('zone out of stock');
  });
});

describe('zones with stock', () => {
  const zones = (zonesAvailable: string) =>
    zonesWithStock(error('STOCKOUT', '', { zonesAvailable }));
  test('P25: one after the other, trimmed, legal names alone, twenty at most', () => {
    expect(zones('us-central1-a, us-central1-f')).toEqual(['us-central1-a', 'us-central1-f']);
    expect(zones('')).toEqual([]);
    expect(zonesWithStock(error('STOCKOUT'))).toEqual([]);
    expect(zones("us-central1-a,'; drop,UPPER, ,x y")).toEqual(['us-central1-a']);
    expect(zones('z'.repeat(64))).toEqual([]);
    expect(zones('z'.repeat(63))).toHaveLength(1);
    expect(zones(Array.from({ length: 30 }, (_, n) => `zone-${n}`).join())).toHaveLength(20);
  });
});
