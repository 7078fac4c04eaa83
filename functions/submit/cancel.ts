// Cancel: the order stands in the record whatever its state, over any other reason. A cancel that comes
// before its request leaves a cancelled run, which the request then finds.
import { markActive, NO_TERMS, newRecord } from '#functions/submit/accept.ts';
import type { SubmitDeps } from '#functions/submit/deps.ts';
import type { Context } from '#shared/lifecycle/context.ts';
import { deleteMachines, endRun, endWithout } from '#shared/lifecycle/end-attempt.ts';
import type { Step } from '#shared/lifecycle/observation.ts';
import {
  currentAttempt,
  type RunRecord,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { advance } from '#shared/runs/advance.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

export async function cancelRun(
  deps: SubmitDeps,
  runId: string,
  reason: string | null,
): Promise<void> {
  const known = await loadRecord(deps.store, runId);
  if (known !== null && isFinal(known.record.state)) return;
  if (known === null) await markActive(deps, runId);
  const loaded = known ?? { record: newRecord(deps, runId, NO_TERMS), generation: '0' };
  await advance(deps, loaded, {
    depth: 'full',
    before: (record, _seen, context) => cancelStep(record, reason ?? 'no reason given', context),
  });
}

/** The write that orders the cancel; null when it is ordered already or came too late. */
export function cancelStep(record: RunRecord, reason: string, context: Context): Step | null {
  if (isFinal(record.state) || record.cancel !== null) return null;
  const { nowMs } = context;
  const cancelled = { ...record, cancel: { reason, atMs: nowMs } };
  const attempt = currentAttempt(record);
  const detail = `cancelled: ${reason}`;
  if (attempt === null || attempt.end !== null) {
    return endRun(cancelled, endWithout('cancelled', { detail, atMs: nowMs }), context);
  }
  const order = { reason: 'cancelled' as const, cause: 'cancelled' as const, detail, atMs: nowMs };
  const ordered = withState(withAttempt(cancelled, { order }), 'STOPPING', nowMs);
  return { kind: 'write', record: { ...ordered, dueMs: null }, effects: deleteMachines(attempt) };
}
