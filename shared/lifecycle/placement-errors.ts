// What a platform error says about this place and others: one closed table, first match wins. Keyed on
// codes, reasons and quota metrics; a message counts only for the resource, field or constraint that it
// names. Source: Compute Engine REST errors, the resource availability page, google.rpc.Code and ErrorInfo
// for Cloud Run, and the error tables of tools that walk zones for a living.
import type { PlatformError } from '#shared/lifecycle/observation.ts';

export type PlacementVerdict =
  | 'next-zone'
  | 'next-region' // of this machine type and provisioning model
  | 'next-machine-type' // a limit that holds in every region
  | 'wait' // the same place again, a little later
  | 'stop' // no place and no waiting can help
  | 'unknown'; // the machine may appear all the same

export interface PlacementError {
  readonly name: string;
  readonly verdict: PlacementVerdict;
  /** What the attempt ends with when every place said this. */
  readonly cause: 'stock-out' | 'quota' | 'refused';
  readonly codes: readonly string[];
  /** In what the message quotes: a resource's path or a field's; or in the constraint that it names. */
  readonly about?: RegExp;
  readonly metric?: RegExp;
  /** A definite no also as HTTP 5xx. */
  readonly definite?: boolean;
  /** What the reader is to do. */
  readonly advice?: string;
}

const QUOTA = ['QUOTA_EXCEEDED', 'quotaExceeded'];
const NOT_THERE = [
  'invalid',
  'badRequest',
  'notFound',
  'INVALID_FIELD_VALUE',
  'RESOURCE_NOT_FOUND',
];

const CONDITION = ['conditionNotMet', 'CONDITION_NOT_MET'];

const RATE_LIMIT: PlacementError = {
  name: 'rate limit',
  verdict: 'wait',
  cause: 'stock-out',
  codes: [
    'rateLimitExceeded',
    'userRateLimitExceeded',
    'RATE_LIMIT_EXCEEDED',
    'RESOURCE_OPERATION_RATE_EXCEEDED',
    'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
  ],
};
const SERVER_ERROR: PlacementError = {
  name: 'server error',
  verdict: 'unknown',
  cause: 'refused',
  codes: [],
};
const UNKNOWN_CODE: PlacementError = {
  name: 'unknown code',
  verdict: 'next-zone',
  cause: 'stock-out',
  codes: [],
};

export const PLACEMENT_ERRORS: readonly PlacementError[] = [
  {
    name: 'zone out of stock',
    verdict: 'next-zone',
    cause: 'stock-out',
    codes: [
      'ZONE_RESOURCE_POOL_EXHAUSTED',
      'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
      'RESOURCE_POOL_EXHAUSTED',
      'STOCKOUT',
      'GPU_STOCKOUT',
      'insufficientCapacity',
    ],
    definite: true,
  },
  {
    name: 'region out of stock',
    verdict: 'next-region',
    cause: 'stock-out',
    codes: ['REGION_RESOURCE_POOL_EXHAUSTED', 'REGION_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'],
    definite: true,
  },
  {
    name: 'global quota',
    verdict: 'next-machine-type',
    cause: 'quota',
    codes: QUOTA,
    metric: /all_regions/i,
    advice:
      'this limit holds in all regions together: ask for more of it under IAM & Admin, Quotas',
  },
  {
    name: 'regional quota',
    verdict: 'next-region',
    cause: 'quota',
    codes: QUOTA,
    advice: 'ask for more of it under IAM & Admin, Quotas, or name more regions',
  },
  {
    name: 'no addresses left',
    verdict: 'next-region',
    cause: 'quota',
    codes: ['IP_SPACE_EXHAUSTED', 'IP_SPACE_EXHAUSTED_WITH_DETAILS'],
    advice: 'widen the subnetwork, or name more regions',
  },
  RATE_LIMIT,
  {
    name: 'not ready',
    verdict: 'wait',
    cause: 'stock-out',
    codes: ['RESOURCE_NOT_READY', 'resourceNotReady'],
  },
  {
    name: 'taken back while it was made',
    verdict: 'next-zone',
    cause: 'stock-out',
    codes: ['UNSUPPORTED_OPERATION'],
  },
  {
    name: 'service not available there',
    verdict: 'next-zone',
    cause: 'stock-out',
    codes: ['SERVICE_UNAVAILABLE_FOR_LOCATION'],
  },
  {
    name: 'internal error',
    verdict: 'next-zone',
    cause: 'stock-out',
    codes: ['INTERNAL_ERROR'],
  },
  {
    name: 'machine or GPU type not offered there',
    verdict: 'next-zone',
    cause: 'refused',
    codes: NOT_THERE,
    about: /machineType|acceleratorType/,
    advice: 'name zones or regions that offer it',
  },
  {
    name: 'no such zone',
    verdict: 'next-zone',
    cause: 'refused',
    codes: NOT_THERE,
    about: /^zone$|\/zones\/[^/]+$/,
    advice: 'correct place.zones or place.regions',
  },
  {
    name: 'no such subnetwork',
    verdict: 'next-region',
    cause: 'refused',
    codes: NOT_THERE,
    about: /subnetwork/,
    advice: 'correct place.subnetworks, or the setting MAYFLY_SUBNETWORKS',
  },
  {
    name: 'location closed to the project',
    verdict: 'next-zone',
    cause: 'refused',
    codes: ['forbidden', 'PERMISSION_DENIED'],
    about: /^Location /,
  },
  {
    name: 'place closed by an organisation policy',
    verdict: 'next-region',
    cause: 'refused',
    codes: CONDITION,
    about: /^constraints\/(?:gcp\.resourceLocations|compute\.restrictSharedVpcSubnetworks)$/,
    advice: 'name regions and subnetworks that the policy allows',
  },
  {
    name: 'machine closed by an organisation policy',
    verdict: 'next-machine-type',
    cause: 'refused',
    codes: CONDITION,
    about: /^customConstraints\//,
    advice: 'name machine types that the policy allows',
  },
  {
    name: 'organisation policy',
    verdict: 'stop',
    cause: 'refused',
    codes: CONDITION,
    about: /^constraints\//,
    advice: 'see docs/security.md on that constraint, or exempt the project from it',
  },
  {
    name: 'not found, and no machine',
    verdict: 'next-zone',
    cause: 'stock-out',
    codes: ['RESOURCE_NOT_FOUND'],
  },
  {
    name: 'no such Job',
    verdict: 'next-region',
    cause: 'refused',
    codes: ['NOT_FOUND'],
    advice: 'the Job of the inventory is missing there: apply the Terraform of this deployment',
  },
  {
    name: 'Job not ready',
    verdict: 'next-region',
    cause: 'refused',
    codes: ['FAILED_PRECONDITION'],
    advice: "see the Job's conditions; most often its image or account cannot be used",
  },
  {
    name: 'worker account out of reach',
    verdict: 'stop',
    cause: 'refused',
    codes: ['SERVICE_ACCOUNT_ACCESS_DENIED'],
    advice: "grant roles/iam.serviceAccountUser on the worker account to submit's own account",
  },
  {
    name: 'no permission',
    verdict: 'stop',
    cause: 'refused',
    codes: [
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
  },
  {
    name: 'wrong request',
    verdict: 'stop',
    cause: 'refused',
    codes: [
      'INVALID_FIELD_VALUE',
      'FIELD_SIZE_TOO_LARGE',
      'MISSING_REQUIRED_FIELD',
      'INVALID_USAGE',
      'invalid',
      'badRequest',
      'required',
      'INVALID_ARGUMENT',
    ],
  },
  {
    name: 'project, network or image missing',
    verdict: 'stop',
    cause: 'refused',
    codes: ['PROJECT_NOT_FOUND', 'NETWORK_NOT_FOUND', 'notFound'],
  },
  { name: 'name taken', verdict: 'stop', cause: 'refused', codes: ['ALREADY_EXISTS'] },
  SERVER_ERROR,
  UNKNOWN_CODE,
];

/** The row of an error. An HTTP 5xx or 408 is no answer, unless it says that there is no stock. */
export function placementError(error: PlatformError): PlacementError {
  const status = error.status ?? 0;
  const noAnswer = status >= 500 || status === 408;
  const row = PLACEMENT_ERRORS.find((one) => matches(one, error) && (!noAnswer || one.definite));
  if (row !== undefined) return row;
  if (status === 429) return RATE_LIMIT;
  return noAnswer ? SERVER_ERROR : UNKNOWN_CODE;
}

function matches({ codes, about, metric }: PlacementError, error: PlatformError): boolean {
  if (!codes.includes(error.code)) return false;
  if (about !== undefined && !about.test(quotedIn(error.message))) return false;
  return metric === undefined || metric.test(quotaMetric(error) ?? '');
}

/**
 * What the message is about: `Invalid value for field 'resource.machineType': …`, `The resource
 * 'projects/p/zones/z/machineTypes/m' was not found`, `Location us-x is not found …`, or `Constraint
 * constraints/compute.requireShieldedVm violated …`.
 */
function quotedIn(message: string): string {
  const constraint = /\b(?:constraints|customConstraints)\/[\w.]+\w/.exec(message)?.[0];
  if (constraint !== undefined) return constraint;
  if (/^Location \S+ is not found/.test(message)) return message;
  return /'([^']*)'/.exec(message)?.[1] ?? '';
}

/** The quota that is short, in the platform's own spelling; null when the error does not name it. */
export function quotaMetric({ details, message }: PlatformError): string | null {
  return details.metricName ?? /[Qq]uota '?([\w.:/]+)/.exec(message)?.[1] ?? null;
}

/** Zones that the platform says have stock, by a refusal's details. */
export function zonesWithStock({ details }: PlatformError): readonly string[] {
  const zones = (details.zonesAvailable ?? '').split(',').map((zone) => zone.trim());
  return zones.filter((zone) => /^[a-z0-9-]{1,63}$/.test(zone)).slice(0, 20);
}
