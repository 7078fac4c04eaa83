// What an attempt comes to that did not speak for itself: from orders, operations, boot reports and time.
import { describeBoot, failedStep } from '#shared/lifecycle/boot-report.ts';
import type { Context } from '#shared/lifecycle/context.ts';
import { endAttempt, endByTasks, endWithout } from '#shared/lifecycle/end-attempt.ts';
import type { ExecutionEnding } from '#shared/lifecycle/execution-ending.ts';
import { type Cause, causeOfLoss, type MachineEnding } from '#shared/lifecycle/failures.ts';
import { DETAIL_CHARACTERS_MAX, FINISHING_MS } from '#shared/lifecycle/limits.ts';
import { isTerminal } from '#shared/lifecycle/marker.ts';
import { factOf, machineKey, type Observation, type Step } from '#shared/lifecycle/observation.ts';
import {
  type Attempt,
  type AttemptEnd,
  currentAttempt,
  lastDeadlineMs,
  machineZones,
  type RunRecord,
} from '#shared/lifecycle/record.ts';
import { startSeconds } from '#shared/plan/deadline.ts';

/** Ends the attempt without the machine's word, after the marker is read and sealed (R3). */
export function endSealed(
  record: RunRecord,
  seen: Observation,
  context: Context,
  end: () => AttemptEnd,
): Step {
  if (seen.marker === null) return { kind: 'read-marker' };
  const marker = seen.marker.marker;
  const closed = marker !== null && isTerminal(marker);
  if (!closed && !seen.sealed) return { kind: 'seal-marker' };
  const told = marker?.sealed === true ? null : marker;
  return endAttempt(record, end(), told ?? toldByTasks(record, seen), context);
}

/** What the tasks of the attempt's execution told, where that was read. */
function toldByTasks(record: RunRecord, seen: Observation): Pick<ExecutionEnding, 'facts'> | null {
  const ending = endingOfMachine(record, seen);
  return typeof ending === 'object' ? ending : null;
}

/** What was read of how the machine went that worked, or should have. */
function endingOfMachine(
  record: RunRecord,
  seen: Observation,
): MachineEnding | ExecutionEnding | 'unknown' {
  const attempt = currentAttempt(record);
  const holder = seen.claim?.kind === 'held' ? seen.claim.holder : attempt?.claim;
  const id =
    holder?.by === 'machine'
      ? holder.instanceId
      : attempt?.intents.findLast((i) => i.instanceId)?.instanceId;
  return id ? (seen.endings[id] ?? 'none') : 'none';
}

/** The end of an attempt that did not speak for itself, from order, operations and time. */
export function lossOf(
  record: RunRecord,
  seen: Observation,
  context: Context,
  detail: string,
): AttemptEnd {
  const attempt = currentAttempt(record);
  if (attempt === null) throw new Error(`run ${record.runId} has no attempt to judge`);
  const holder = seen.claim?.kind === 'held' ? seen.claim.holder : attempt.claim;
  const told = endingOfMachine(record, seen);
  if (typeof told === 'object') return lossOfExecution(attempt, told, context);
  // Once a stop is ordered, a delete is our own.
  const ending =
    told === 'unknown' || (told === 'deleted' && attempt.order !== null) ? 'none' : told;
  const marker = seen.marker?.marker ?? null;
  const word =
    marker?.cause === 'interrupted' || marker?.cause === 'preempted' ? marker.cause : null;
  const cause: Cause = causeOfLoss({
    word: marker?.sealed === true ? null : word,
    // A machine that never began to work did not run out of its time.
    ordered: holder?.by === 'machine' ? (attempt.order?.cause ?? null) : cancelOnly(attempt),
    ending,
    timeIsUp: holder?.by === 'machine' && timeIsUp(record, attempt, context.nowMs),
  });
  const why = WHY[cause] === undefined ? detail : `${detail}: ${WHY[cause]}`;
  return endWithout(cause, { step: marker?.step ?? null, detail: why, atMs: context.nowMs });
}

/** Whose hand stopped an execution is told by our own order: its end alone does not say. */
function lossOfExecution(attempt: Attempt, ending: ExecutionEnding, context: Context): AttemptEnd {
  const { order } = attempt;
  const end = endByTasks(ending, context.nowMs);
  if (ending.succeeded || order === null) return end;
  const { detail } = order;
  const { tasks, taskSeconds } = ending;
  if (order.cause !== null) {
    return { ...endWithout(order.cause, { detail, atMs: context.nowMs }), tasks, taskSeconds };
  }
  const ours = ending.endedMs >= order.atMs + FINISHING_MS;
  if (ending.cause !== 'cancelled-outside' || !ours) return end;
  return { ...endWithout('interrupted', { detail, atMs: context.nowMs }), tasks, taskSeconds };
}

/** What the operations tell of a machine that did not speak for itself, and what may be done. */
const WHY: Partial<Readonly<Record<Cause, string>>> = {
  preempted: 'it was preempted: run it again, or with "provisioning": "standard"',
  'host-error': 'its host failed',
  'cancelled-outside': 'it was deleted by somebody',
};

/** The end of an attempt whose claim no machine took: lost, or failed at a step that it named. */
export function neverBegan(record: RunRecord, seen: Observation, context: Context): AttemptEnd {
  const attempt = currentAttempt(record);
  const waits = attempt && waitsTooLong(record, attempt, seen, context.nowMs);
  if (waits) {
    const detail = `its execution has not started within ${waits.seconds} s: ${waits.message}`;
    const cause = /quota/i.test(waits.message) ? 'quota' : 'stock-out';
    return endWithout(cause, { detail, atMs: context.nowMs });
  }
  const instance = attempt?.instance ?? '';
  const said = Object.entries(seen.bootReports).find(
    ([key, report]) => key.startsWith(machineKey(instance, '')) && report !== null,
  );
  const report = said?.[1] ?? null;
  if (report === null) return lossOf(record, seen, context, 'its machine never began to work');
  const detail = describeBoot(report, DETAIL_CHARACTERS_MAX);
  const loss = lossOf(record, seen, context, detail);
  const step = failedStep(report);
  if (step === null || loss.cause !== 'machine-lost') return loss;
  return endWithout('step-failed', { step, detail, atMs: context.nowMs });
}

/** An execution that has not started for as long as the run waits for capacity; null: there is none. */
export function waitsTooLong(
  { runtime, terms, history }: RunRecord,
  attempt: Attempt,
  seen: Observation,
  nowMs: number,
): { readonly seconds: number; readonly message: string } | null {
  const seconds = startSeconds(terms.ttlSeconds, terms.waitForCapacitySeconds);
  const accepted = history.findLast(({ state }) => state === 'PROVISIONING');
  const acceptedMs = Math.max(attempt.startedMs, accepted?.atMs ?? 0);
  // What was waited for before, a turn among others, is not capacity.
  const late = nowMs >= acceptedMs + seconds * 1000;
  if (runtime === 'gce' || attempt.order !== null || !late) return null;
  const fact = machineZones(attempt)
    .map((zone) => factOf(attempt, zone, seen))
    .find((one) => one.kind === 'there' && one.startedMs === null);
  if (fact?.kind !== 'there') return null;
  return { seconds, message: fact.waitsFor || 'the platform does not say what it waits for' };
}

const cancelOnly = (attempt: Attempt) =>
  attempt.order?.cause === 'cancelled' ? ('cancelled' as const) : null;

/** Gone at or after RUNNING + TTL, where the platform itself ends it, or after the deadline. */
function timeIsUp(record: RunRecord, attempt: Attempt, nowMs: number): boolean {
  const ttlMs = record.terms.ttlSeconds * 1000;
  if (attempt.runningMs !== null && nowMs >= attempt.runningMs + ttlMs) return true;
  return nowMs >= (lastDeadlineMs(attempt) ?? Number.POSITIVE_INFINITY);
}
