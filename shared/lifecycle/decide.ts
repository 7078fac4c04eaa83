// The one truth about what to do next for a run: a pure function of the record, of what was read in
// this pass, and of the time. It returns one step; the driver does it and asks again until `rest`.
import type { Context } from '#shared/lifecycle/context.ts';
import { decideAttempt } from '#shared/lifecycle/decide-attempt.ts';
import { decideEnded } from '#shared/lifecycle/decide-ended.ts';
import { decidePlacement, startAttempt } from '#shared/lifecycle/decide-placement.ts';
import { endRun, endWithout } from '#shared/lifecycle/end-attempt.ts';
import type { Observation, Step } from '#shared/lifecycle/observation.ts';
import { currentAttempt, type RunRecord } from '#shared/lifecycle/record.ts';

export function decide(record: RunRecord, seen: Observation, context: Context): Step {
  if (record.end !== null) return decideEnded(record, seen, context);
  const attempt = currentAttempt(record);
  if (attempt === null || attempt.end !== null) return decideBetween(record, seen, context);
  return (
    decideAttempt(record, attempt, seen, context) ?? decidePlacement(record, attempt, seen, context)
  );
}

/** Between two attempts nothing runs: a cancel ends the run, else the next attempt starts when due. */
function decideBetween(record: RunRecord, seen: Observation, context: Context): Step {
  if (record.cancel !== null) {
    const detail = `cancelled before attempt ${record.attempts.length + 1}: ${record.cancel.reason}`;
    return endRun(record, endWithout('cancelled', { detail, atMs: context.nowMs }), context);
  }
  if (record.dueMs === null || record.dueMs > context.nowMs) return { kind: 'rest' };
  if (context.creator === null) return seen.looked ? { kind: 'rest' } : { kind: 'publish-look' };
  return startAttempt(record, seen, context, context.creator);
}
