// The faults of a request as a person reads them, a line each.
import { oneLine } from '#scripts/mayfly/visible.ts';
import type { Fault } from '#shared/plan/model.ts';

export function faultLines(faults: readonly Fault[]): readonly string[] {
  return faults.map(({ field, value, rule, accepted }) =>
    oneLine(
      `  ${field === '' ? 'the request' : field} is ${value}: ${rule}; accepted: ${accepted}`,
    ),
  );
}
