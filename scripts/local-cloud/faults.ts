// Planted faults as data: what goes wrong, for whom, how often, and whether the call took effect before
// its answer was lost.
import { plantedRefusal } from '#scripts/local-cloud/api-errors.ts';
import type { Call, Disturbance, Reply } from '#scripts/local-cloud/call.ts';
import { nameOf } from '#scripts/local-cloud/call-log.ts';

export interface FaultMatch {
  /** The API's method name; a trailing `*` takes all that begin so. */
  readonly method?: string;
  readonly principal?: string | null;
  readonly nameIncludes?: string;
  /** So many matching calls pass first. */
  readonly after?: number;
}

export interface Fault {
  readonly match: FaultMatch;
  /** Before: nothing was done. After: all was done, and the answer is lost. */
  readonly effect: 'before' | 'after';
  readonly kind: 'status' | 'wrong-hash' | Disturbance;
  /** With `status`: the code, and the reason where the code alone does not say it. */
  readonly status?: number;
  readonly reason?: string;
  readonly message?: string;
  /** Sent as the header Retry-After. */
  readonly retryAfterSeconds?: number;
  /** How many calls it hits; `Infinity` until it is taken away. */
  readonly times: number;
}

interface PlantedFault {
  readonly fault: Fault;
  passed: number;
  hit: number;
}

function matches(match: FaultMatch, call: Call): boolean {
  const { method } = match;
  const named = method?.endsWith('*')
    ? call.method.startsWith(method.slice(0, -1))
    : method === undefined || method === call.method;
  return (
    named &&
    (match.principal === undefined || match.principal === call.principal) &&
    (match.nameIncludes === undefined || nameOf(call).includes(match.nameIncludes))
  );
}

export class FaultPlan {
  #planted: PlantedFault[] = [];

  plant(...faults: readonly Fault[]): void {
    this.#planted.push(...faults.map((fault) => ({ fault, passed: 0, hit: 0 })));
  }

  /** Takes every fault away: the world is healed. */
  clear(): void {
    this.#planted = [];
  }

  /** The first fault that hits this call; counts it. The world's own controls are never hit. */
  take(call: Call): Fault | null {
    if (this.#planted.length === 0 || call.method.startsWith('local.')) {
      return null;
    }
    for (const planted of this.#planted) {
      if (planted.hit >= planted.fault.times || !matches(planted.fault.match, call)) {
        continue;
      }
      if (planted.passed < (planted.fault.match.after ?? 0)) {
        planted.passed += 1;
        continue;
      }
      planted.hit += 1;
      return planted.fault;
    }
    return null;
  }
}

/** Runs the call under a fault. `perform` is the call itself. */
export function disturb(fault: Fault, call: Call, perform: () => Reply): Reply {
  if (fault.kind === 'slow') {
    return { ...perform(), disturbance: 'slow' };
  }
  if (fault.kind === 'wrong-hash') {
    return withWrongHash(perform());
  }
  if (fault.effect === 'after') {
    perform();
  }
  if (fault.kind === 'status') {
    return plantedRefusal(call.method, fault);
  }
  return { status: fault.kind === 'garbage' ? 200 : 0, headers: {}, disturbance: fault.kind };
}

/** Checksums of no content at all, in each place where a reply of Storage tells them. */
function withWrongHash(reply: Reply): Reply {
  const wrong = { crc32c: 'AAAAAA==', md5Hash: '1B2M2Y8AsgTpgAmY7PhCfg==' };
  const hash = `crc32c=${wrong.crc32c},md5=${wrong.md5Hash}`;
  const { body, headers } = reply;
  return {
    ...reply,
    headers: headers['x-goog-hash'] === undefined ? headers : { ...headers, 'x-goog-hash': hash },
    ...(body?.md5Hash === undefined ? {} : { body: { ...body, ...wrong } }),
  };
}
