// Follows one run through the bucket until it has a result, its message was rejected, or the person
// has seen enough. Reads only; leaving changes nothing about the run.
import { type BootFailure, BootWatch, type BootWatchDeps } from '#scripts/mayfly/boot-watch.ts';
import { CommandError, EXIT_NOT_FOUND, EXIT_REFUSED } from '#scripts/mayfly/exit-codes.ts';
import { LogTail } from '#scripts/mayfly/log-tail.ts';
import { elapsed, lineOf, stepLine, stepsOf } from '#scripts/mayfly/progress.ts';
import { readStoredResult, type StoredResult } from '#scripts/mayfly/stored-result.ts';
import { TaskProgressWatch } from '#scripts/mayfly/task-progress.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { type RunRecord, readRecord } from '#shared/lifecycle/record.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import {
  REJECTED_PREFIX,
  recordObject,
  rejectedObject,
  resultObject,
} from '#shared/plan/objects.ts';

export const POLL_MS_DEFAULT = 2000;
/** How long a run that nothing is known of may take to show up. */
const APPEAR_MS_MAX = 60_000;
/** Tasks tell through the log, their report does not: how long after the end their last words may come. */
const LAST_WORDS_MS_MAX = 5_000;

export interface FollowDeps extends BootWatchDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** A line that stays. */
  readonly note: (line: string) => void;
  /** The moving line. */
  readonly move: (line: string | null) => void;
  readonly interruption: AbortSignal;
}

export interface FollowTarget {
  readonly runId: string;
  /** The message that asked for it, where this call sent it: its rejection ends the wait. */
  readonly messageId: string | null;
  /** True when another request holds this id already, so that the result there is not ours. */
  readonly foreignResult: boolean;
  readonly pollMs: number;
}

export type FollowEnd =
  | { readonly kind: 'ended' | 'rejected'; readonly result: StoredResult }
  /** Its machine said that it cannot start, long before the run's own end. */
  | { readonly kind: 'boot-failed'; readonly failure: BootFailure }
  | { readonly kind: 'detached' }
  /** Nothing under that id appeared. */
  | { readonly kind: 'unknown' };

/** Polls until one of the ends; failures of the bucket that may pass are waited out. */
export async function followRun(deps: FollowDeps, target: FollowTarget): Promise<FollowEnd> {
  const startedMs = deps.clock.nowMs();
  const shown = new Set<string>();
  const boot = new BootWatch(deps);
  const tasks = new TaskProgressWatch(deps.store);
  const log = new LogTail(deps.store);
  let seen = false;
  let told = target.messageId !== null;
  while (!deps.interruption.aborted) {
    try {
      const record = target.foreignResult ? null : await loadRecord(deps.store, target.runId);
      if (record !== null) showSteps(deps, record, shown);
      if (record !== null) await showEvents(deps, record, tasks);
      const waitedMs = deps.clock.nowMs() - startedMs;
      const end = await findEnd(deps.store, { target, record, waitedMs });
      if (end !== null && record !== null) await awaitLastWords(deps, record, tasks, target.pollMs);
      if (end !== null) return end;
      const failure = record === null ? null : await boot.look(record);
      if (failure !== null) return { kind: 'boot-failed', failure };
      seen ||= record !== null;
      if (!seen && target.messageId === null && waitedMs > APPEAR_MS_MAX) {
        return { kind: 'unknown' };
      }
      if (!seen && !told) deps.note(awaited(target.runId));
      told = true;
      deps.move(
        record === null ? notYet(target, waitedMs) : await nowLine(deps, record, { tasks, log }),
      );
    } catch (error) {
      if (!(error instanceof CloudError) || !mayPass(error)) throw error;
      deps.move(`the bucket does not answer (${error.code}); trying again`);
    }
    await deps.clock.sleep(target.pollMs, deps.interruption);
  }
  return { kind: 'detached' };
}

/** A bucket that is not there is a wrong name far more often than a fault of the service. */
function mayPass(error: CloudError): boolean {
  return error.retriable && error.reason !== 'bucket-missing';
}

function showSteps(deps: FollowDeps, record: RunRecord, shown: Set<string>): void {
  for (const step of stepsOf(record)) {
    if (shown.has(step.key)) continue;
    shown.add(step.key);
    deps.note(stepLine(record, step));
  }
}

async function showEvents(
  deps: FollowDeps,
  record: RunRecord,
  tasks: TaskProgressWatch,
): Promise<void> {
  for (const line of await tasks.look(record)) deps.note(line);
}

/** Of a run whose tasks have begun; the log may bring their words after the result is there. */
async function awaitLastWords(
  deps: FollowDeps,
  record: RunRecord,
  tasks: TaskProgressWatch,
  pollMs: number,
): Promise<void> {
  const last = record.attempts.at(-1);
  // A report may come before anybody has read the claim.
  const begun = last?.claim?.by === 'machine' || (last?.facts ?? null) !== null;
  if (record.runtime !== 'cloudrun-jobs' || !begun) return;
  const endMs = deps.clock.nowMs() + LAST_WORDS_MS_MAX;
  while (!tasks.isOver() && deps.clock.nowMs() < endMs && !deps.interruption.aborted) {
    await deps.clock.sleep(Math.min(pollMs, LAST_WORDS_MS_MAX), deps.interruption);
    await showEvents(deps, record, tasks);
  }
}

async function nowLine(
  { clock }: FollowDeps,
  record: RunRecord,
  { tasks, log }: { readonly tasks: TaskProgressWatch; readonly log: LogTail },
): Promise<string> {
  const nowMs = clock.nowMs();
  const more = [tasks.stalled(record, nowMs), await log.look(record, nowMs)];
  return [lineOf(record, nowMs), ...more.filter((part) => part !== null)].join(' · ');
}

function notYet({ messageId }: FollowTarget, waitedMs: number): string {
  const what = messageId === null ? 'not known yet' : 'published, not yet taken up';
  return `${what} · ${elapsed(waitedMs)}`;
}

const awaited = (runId: string) =>
  `nothing is known of a run ${runId} yet: a request for it may be on its way, ` +
  `${APPEAR_MS_MAX / 1000} seconds are waited for it`;

/**
 * While a run lives its record is all that is read; its result is the last thing to be written. Only at
 * first may a live run be one of another message, which took the id while ours was on its way.
 */
async function findEnd(
  store: ObjectStore,
  now: {
    readonly target: FollowTarget;
    readonly record: RunRecord | null;
    readonly waitedMs: number;
  },
): Promise<FollowEnd | null> {
  const { target, record } = now;
  const alive = record !== null && !isFinal(record.state);
  if (alive && (target.messageId === null || now.waitedMs > APPEAR_MS_MAX)) return null;
  const rejection = await rejectionOf(store, target, record);
  if (rejection !== null) return { kind: 'rejected', result: rejection };
  if (alive || target.foreignResult) return null;
  const result = await loadResult(store, resultObject(target.runId));
  return result === null ? null : { kind: 'ended', result };
}

/** A run outlives the rejection of another message with its id, so then none is looked for. */
async function rejectionOf(store: ObjectStore, target: FollowTarget, record: RunRecord | null) {
  if (target.messageId !== null) {
    return loadResult(store, rejectedObject(target.runId, target.messageId));
  }
  return record === null ? findRejection(store, target.runId) : null;
}

/** The newest rejection of a message with that id. */
export async function findRejection(
  store: ObjectStore,
  runId: string,
): Promise<StoredResult | null> {
  const page = await store.list(`${REJECTED_PREFIX}${runId}/`);
  const last = page.objects.toSorted((a, b) => a.updatedMs - b.updatedMs).at(-1);
  return last === undefined ? null : loadResult(store, last.name);
}

/** For a run of which the bucket holds neither record nor result nor rejection. */
export function unknownRun(runId: string, bucket: string): CommandError {
  const what = 'no record, no result, no rejection';
  return new CommandError(
    EXIT_NOT_FOUND,
    `nothing is known of a run ${runId} in ${bucket}: ${what}`,
  );
}

/** Null: there is none. Throws a CommandError for a record that another version wrote. */
export async function loadRecord(store: ObjectStore, runId: string): Promise<RunRecord | null> {
  const reply = await store.read(recordObject(runId));
  if (reply.kind === 'absent') return null;
  const reading = readRecord(reply.bytes);
  if (reading.kind === 'record') return reading.record;
  throw new CommandError(EXIT_REFUSED, `${recordObject(runId)}: ${reading.reason}; update mayfly`);
}

export async function loadResult(store: ObjectStore, name: string): Promise<StoredResult | null> {
  const reply = await store.read(name);
  return reply.kind === 'absent' ? null : readStoredResult(name, reply.bytes);
}
