// Refusals of places for every row of the placement error table, as Compute Engine words them: at once,
// or by the operation.

import type { Reply } from '#scripts/local-cloud/call.ts';
import type { Random } from '#scripts/local-cloud/random.ts';
import { PLACEMENT_ERRORS, placementError } from '#shared/lifecycle/placement-errors.ts';
import type { Refusal } from '#test/simulation/refusals.ts';
import { pick } from '#test/simulation/swarm/draws.ts';

export interface PlaceError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

const MESSAGES: Readonly<Record<string, string>> = {
  'global quota': "Quota 'CPUS_ALL_REGIONS' exceeded.  Limit: 0.0 globally.",
  'regional quota': "Quota 'CPUS' exceeded.  Limit: 0.0 in region us-central1.",
  'machine or GPU type not offered there':
    "Invalid value for field 'resource.machineType': 'e2-standard-4'. It is not offered here.",
  'no such zone': "Invalid value for field 'zone': 'us-central1-a'. Unknown zone.",
  'no such subnetwork':
    "The resource 'projects/p/regions/us-central1/subnetworks/default' was not found",
  'location closed to the project':
    'Location us-central1-a is not found or access is unauthorized.',
};
const STATUSES: Readonly<Record<string, number>> = {
  'zone out of stock': 503,
  'region out of stock': 503,
  'rate limit': 429,
  'name taken': 409,
  'server error': 503,
  'no permission': 403,
};
const PASSING = PLACEMENT_ERRORS.filter(({ verdict }) => verdict !== 'stop');
const NO_CODE: Readonly<Record<string, string>> = {
  'server error': 'backendError',
  'unknown code': 'SOMETHING_NEW',
};

/** One of any row; mostly of those that are not the end of a run. */
export function drawPlaceError(random: Random): PlaceError {
  const rows = random.chance(0.7) ? PASSING : PLACEMENT_ERRORS;
  const { name, codes } = pick(random, rows);
  return {
    status: STATUSES[name] ?? 400,
    code: codes.length === 0 ? (NO_CODE[name] ?? '') : pick(random, codes),
    message: MESSAGES[name] ?? 'Planted refusal.',
  };
}

/** The answer to a call that is refused so. */
export function refusalOf({ status, code, message }: PlaceError): Reply {
  const errors = [{ message, domain: 'global', reason: code }];
  return { status, headers: {}, body: { error: { code: status, message, errors } } };
}

/** An operation has no HTTP status of its own. */
export const PLACE_ROWS: readonly string[] = PLACEMENT_ERRORS.flatMap(({ name }) => [
  `place ${name}, at once`,
  ...(name === 'server error' ? [] : [`place ${name}, by the operation`]),
]);

/** The row that an answer of Compute is taken for; null: there was none. */
export function placeRow({ how, code, message, status }: Refusal): string | null {
  if (how === 'at once' && status === null) return null;
  const error = { code, message, details: {}, ...(status === null ? {} : { status }) };
  return `place ${placementError(error).name}, ${how}`;
}
