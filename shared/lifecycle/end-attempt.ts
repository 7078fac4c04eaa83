// Ending an attempt, and what follows for the run: a further attempt on its own counter, or the end.
import type { Context } from '#shared/lifecycle/context.ts';
import type { ExecutionEnding } from '#shared/lifecycle/execution-ending.ts';
import {
  type Cause,
  endingOf,
  type RetryCounter,
  retryCounter,
} from '#shared/lifecycle/failures.ts';
import { keepMachine } from '#shared/lifecycle/kept.ts';
import {
  ABANDONED_MAX,
  DETAIL_CHARACTERS_MAX,
  FINISHING_MS,
  pauseMs,
  RETRY_PAUSE_MS,
} from '#shared/lifecycle/limits.ts';
import type { Step as MachineStep, Marker } from '#shared/lifecycle/marker.ts';
import type { Effect, Step } from '#shared/lifecycle/observation.ts';
import {
  type Attempt,
  type AttemptEnd,
  type MachineFacts,
  type RunRecord,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';
import { ATTEMPTS_MAX } from '#shared/plan/limits.ts';

/** The end that the machine's own terminal marker gives, a cancel that was ordered considered. */
export function endByMarker(record: RunRecord, marker: Marker, nowMs: number): AttemptEnd {
  const succeeded = marker.status === 'SUCCEEDED';
  const cause: Cause =
    record.cancel !== null && !succeeded ? 'cancelled' : (marker.cause ?? unnamedCause(marker));
  const transient = !succeeded && cause === 'step-failed' && marker.permanent === false;
  return {
    ...endingOf(succeeded ? 'exit' : cause, succeeded),
    ...(transient ? { transient } : {}),
    step: succeeded ? null : marker.step,
    exitCode: marker.exitCode,
    detail: marker.detail.slice(-DETAIL_CHARACTERS_MAX),
    atMs: nowMs,
  };
}

/** A marker of another version may lack the cause: an exit code means that the container ended. */
function unnamedCause(marker: Marker): Cause {
  return marker.exitCode === null ? 'step-failed' : 'exit';
}

/** An end that the machine did not report itself. */
export function endWithout(
  cause: Cause,
  fields: { step?: MachineStep | null; detail: string; atMs: number },
): AttemptEnd {
  return {
    ...endingOf(cause),
    step: fields.step ?? null,
    exitCode: null,
    detail: fields.detail.slice(-DETAIL_CHARACTERS_MAX),
    atMs: fields.atMs,
  };
}

/** The end that an execution's tasks give together. */
export function endByTasks(ending: ExecutionEnding, nowMs: number): AttemptEnd {
  const { cause, succeeded, step, exitCode, detail, tasks, taskSeconds, transient } = ending;
  return {
    ...endingOf(cause, succeeded),
    ...(transient ? { transient } : {}),
    step: succeeded ? null : step,
    exitCode,
    detail: detail.slice(-DETAIL_CHARACTERS_MAX),
    atMs: nowMs,
    tasks,
    taskSeconds,
  };
}

export function factsOf(marker: Marker | null): MachineFacts | null {
  if (marker === null || marker.status === 'PROVISIONING') return null;
  return {
    bootEpoch: marker.bootEpoch,
    pullEndEpoch: marker.pullEndEpoch,
    execStartEpoch: marker.execStartEpoch,
    endEpoch: marker.endEpoch,
    imageDigest: marker.imageDigest,
    peakMemoryBytes: marker.peakMemoryBytes,
    gpuCount: marker.gpuCount,
    // Of a step that failed, its own words, though the container may have run before.
    logTail:
      marker.execStartEpoch === null || marker.cause === 'step-failed' ? null : marker.detail,
    outputs: marker.outputs,
  };
}

/** What is known of the work beside its end: the machine's marker, or the joined ones of tasks. */
type Told = Marker | { readonly facts: MachineFacts | null } | null;

/** The write that ends the current attempt; `counter` overrides the one that the cause uses. */
export function endAttempt(
  record: RunRecord,
  end: AttemptEnd,
  told: Told,
  context: Context,
  counter: RetryCounter | null = retryCounter(end),
): Step {
  const attempt = record.attempts.at(-1);
  if (attempt === undefined) throw new Error(`run ${record.runId} has no attempt to end`);
  const facts = told !== null && 'facts' in told ? told.facts : factsOf(told);
  const ended = withAttempt(record, { end, facts: facts ?? attempt.facts });
  // An execution that has said its last word ends by itself, and would be called cancelled else.
  const spoke = told !== null && record.runtime !== 'gce';
  const deletes = spoke ? [] : deleteMachines(attempt);
  if (counter !== null && mayRetry(record, counter)) {
    const n = record.used[counter];
    // Due at once, the first one is told to submit by a look; later ones wait for the sweep's.
    const waitMs = n === 0 ? 0 : pauseMs(RETRY_PAUSE_MS, n - 1, context.fraction);
    const dueMs = context.nowMs + waitMs;
    const used = { ...record.used, [counter]: n + 1 };
    const waiting = withState({ ...ended, used, dueMs }, 'WAITING', context.nowMs);
    return { kind: 'write', record: waiting, effects: deletes };
  }
  const kept = keepMachine(record, attempt, end);
  if (kept === null) return endRun(ended, end, context, deletes);
  const now = deletes.filter(({ zone }) => zone !== kept.zone);
  return endRun(withAttempt(ended, { kept }), end, context, now);
}

/** The write that ends the run. */
export function endRun(
  record: RunRecord,
  end: AttemptEnd,
  context: Pick<Context, 'nowMs'>,
  effects: readonly Effect[] = [],
): Step {
  const ended = withState({ ...record, end, dueMs: null }, end.status, context.nowMs);
  return { kind: 'write', record: ended, effects };
}

function mayRetry(record: RunRecord, counter: RetryCounter): boolean {
  if (record.cancel !== null || record.attempts.length >= ATTEMPTS_MAX) return false;
  const allowed = counter === 'abandoned' ? ABANDONED_MAX : record.terms.retry[counter];
  return record.used[counter] < allowed;
}

type MachineDelete = Effect & { readonly kind: 'delete-machine' };

/** A delete in the zone of each open intent: whatever of this attempt is or appears there must go. */
export function deleteMachines(attempt: Attempt): MachineDelete[] {
  const zones = new Set(attempt.intents.map((intent) => intent.candidate.zone));
  if (attempt.claim?.by === 'machine') zones.add(attempt.claim.zone);
  return [...zones].map((zone) => ({
    kind: 'delete-machine',
    instance: attempt.instance,
    zone,
  }));
}

/** An execution that is on its way out by itself: it is told to stop only when that takes too long. */
export function isFinishing(
  { runtime }: Pick<RunRecord, 'runtime'>,
  { end, order }: Attempt,
  nowMs: number,
): boolean {
  if (runtime === 'gce') return false;
  const sinceMs = order?.reason === 'ending' ? order.atMs : order === null ? end?.atMs : undefined;
  return sinceMs !== undefined && nowMs < sinceMs + FINISHING_MS;
}
