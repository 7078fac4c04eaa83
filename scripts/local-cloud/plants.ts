// Faults and outcomes as they arrive in JSON.
import type { PlantedOutcome } from '#scripts/local-cloud/compute/state.ts';
import type { Fault, FaultMatch } from '#scripts/local-cloud/faults.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
} from '#scripts/local-cloud/json.ts';

export const FAULT_KINDS = ['status', 'cut', 'hang', 'slow', 'garbage', 'wrong-hash'] as const;

/** Null when the effect or the kind is none. `times` is 1 unless given; `"always"` never ends. */
export function readFault(value: JsonObject): Fault | null {
  const kind = FAULT_KINDS.find((known) => known === value.kind);
  const { effect } = value;
  if (kind === undefined || (effect !== 'before' && effect !== 'after')) {
    return null;
  }
  const status = asNumber(value.status);
  const reason = asString(value.reason);
  const message = asString(value.message);
  const retryAfterSeconds = asNumber(value.retryAfterSeconds);
  return {
    match: readMatch(asObject(value.match)),
    effect,
    kind,
    times: value.times === 'always' ? Number.POSITIVE_INFINITY : (asNumber(value.times) ?? 1),
    ...(status === undefined ? {} : { status }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

function readMatch(value: JsonObject): FaultMatch {
  const method = asString(value.method);
  const nameIncludes = asString(value.nameIncludes);
  const after = asNumber(value.after);
  const { principal } = value;
  return {
    ...(method === undefined ? {} : { method }),
    ...(principal === null || typeof principal === 'string' ? { principal } : {}),
    ...(nameIncludes === undefined ? {} : { nameIncludes }),
    ...(after === undefined ? {} : { after }),
  };
}

/** `{ match, times, code, message, httpStatus, errorDetails, machineLives }`. */
export function readOutcome(value: JsonObject): PlantedOutcome {
  const match = asObject(value.match);
  const fields = ['zone', 'machineType', 'name'] as const;
  const error: JsonObject = {
    code: asString(value.code) ?? 'INTERNAL_ERROR',
    message: asString(value.message) ?? 'Planted outcome.',
  };
  if (value.errorDetails !== undefined) {
    error.errorDetails = asArray(value.errorDetails);
  }
  return {
    match: Object.fromEntries(
      fields.flatMap((field) => {
        const text = asString(match[field]);
        return text === undefined ? [] : [[field, text]];
      }),
    ),
    times: asNumber(value.times) ?? 1,
    error: { httpStatus: asNumber(value.httpStatus) ?? 400, errors: [error] },
    machineLives: value.machineLives === true,
  };
}
