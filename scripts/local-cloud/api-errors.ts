// Refusals in Google's two JSON shapes: the older one of Storage and Compute, with `errors[].reason`,
// and the newer one of Pub/Sub and Scheduler, with a `status` word.
import type { Reply } from '#scripts/local-cloud/call.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

/** The older shape. `reason` is what clients key on: `notFound`, `conditionNotMet`, `invalid` … */
export function refuse(status: number, reason: string, message: string, location?: string): Reply {
  const detail: JsonObject = { message, domain: 'global', reason };
  if (location !== undefined) {
    detail.locationType = 'parameter';
    detail.location = location;
  }
  return {
    status,
    body: { error: { code: status, message, errors: [detail] } },
    headers: {},
  };
}

const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ALREADY_EXISTS',
  412: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The newer shape; `word` only where the code alone does not say it (400 FAILED_PRECONDITION). */
export function refuseRpc(code: number, message: string, word?: string): Reply {
  const status = word ?? STATUS_WORDS[code] ?? 'UNKNOWN';
  return { status: code, body: { error: { code, message, status } }, headers: {} };
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'badRequest',
  401: 'authError',
  403: 'forbidden',
  404: 'notFound',
  408: 'requestTimeout',
  409: 'conflict',
  412: 'conditionNotMet',
  429: 'rateLimitExceeded',
  500: 'backendError',
  502: 'backendError',
  503: 'backendError',
};

/** A planted status in the shape of the service that the method belongs to. */
export function plantedRefusal(
  method: string,
  fault: {
    readonly status?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly retryAfterSeconds?: number;
  },
): Reply {
  const { status = 503, reason, retryAfterSeconds } = fault;
  const message = fault.message ?? `Planted fault: ${method} answers ${status}.`;
  const older = method.startsWith('storage.') || method.startsWith('compute.');
  const refusal = older
    ? refuse(status, reason ?? REASONS[status] ?? 'backendError', message)
    : refuseRpc(status, message, reason);
  return retryAfterSeconds === undefined
    ? refusal
    : { ...refusal, headers: { 'retry-after': String(retryAfterSeconds) } };
}
