// What a platform error says about other places. Keyed on codes and reasons, never on messages; an
// unknown code moves on to the next place, bounded by the list of candidates.
// Source: Compute Engine REST errors and the resource availability troubleshooting page.
import type { PlatformError } from '#shared/lifecycle/observation.ts';

/** `stop`: no other place can help. */
export type Refusal = 'next-place' | 'stop';

const PERMANENT: ReadonlySet<string> = new Set([
  'INVALID_FIELD_VALUE',
  'FIELD_SIZE_TOO_LARGE',
  'MISSING_REQUIRED_FIELD',
  'INVALID_USAGE',
  'invalid',
  'badRequest',
  'required',
  'PERMISSIONS_ERROR',
  'forbidden',
  'insufficientPermissions',
  'IAM_PERMISSION_DENIED',
  'SERVICE_ACCOUNT_ACCESS_DENIED',
  'PROJECT_NOT_FOUND',
  'authError',
  'accessNotConfigured',
  'ALREADY_EXISTS',
]);

export function classifyRefusal(error: PlatformError): Refusal {
  return PERMANENT.has(error.code) ? 'stop' : 'next-place';
}
