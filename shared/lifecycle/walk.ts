// The walk over an attempt's candidates: which place is tried next, when a walk pauses, and when it
// has been going on for as long as the request waits. Positions are in the record, so that any
// delivery continues where another one stopped.
import { attemptCandidates } from '#shared/lifecycle/attempt-candidates.ts';
import type { Context, Creator } from '#shared/lifecycle/context.ts';
import {
  INTENTS_MAX,
  PLACE_PAUSE_MS,
  PLACE_WAITS_MAX,
  PLACEMENT_LEASE_MS,
  pauseMs,
  WALK_PAUSE_MS,
} from '#shared/lifecycle/limits.ts';
import type { Observation, PlatformError, Step } from '#shared/lifecycle/observation.ts';
import {
  nextCandidate,
  placesOfWalk,
  withPlace,
  withShortPlaces,
} from '#shared/lifecycle/places.ts';
import {
  type Attempt,
  type Intent,
  type RunRecord,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';
import { deadlineSeconds, executionDeadlineSeconds } from '#shared/plan/deadline.ts';
import type { Candidate } from '#shared/plan/model.ts';
import { instanceName, requestId } from '#shared/plan/names.ts';
import { quotaScopes, shortQuota } from '#shared/plan/quota.ts';

/** The walk is over, and waiting for capacity is, too. */
export interface WalkOver {
  readonly kind: 'over';
  readonly record: RunRecord;
}

export function newAttempt(record: RunRecord, context: Context, creator: Creator): Attempt {
  const number = record.attempts.length + 1;
  return {
    number,
    nonce: creator.nonce,
    instance: instanceName(context.deployment, record.runId, number),
    startedMs: context.nowMs,
    walk: 1,
    walkFrom: record.placesCount,
    intents: [],
    intentCount: 0,
    claim: null,
    runningMs: null,
    order: null,
    facts: null,
    end: null,
    ...(record.runtime === 'gce' ? {} : { eventKey: creator.eventKey }),
  };
}

/** The next of the walk: the quotas are read where it begins, a creation is ordered, or it pauses. */
export function walkOn(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step | WalkOver {
  const candidates = attemptCandidates(record, creator.plan);
  const { gpu } = creator.plan.request.resources;
  const begins = attempt.walkFrom === record.placesCount;
  const scopes = begins && seen.quotas === null ? quotaScopes(candidates, gpu) : [];
  if (scopes.length > 0) return { kind: 'read-quotas', scopes };
  const open = begins
    ? withShortPlaces(record, attempt, candidates, context.nowMs, (candidate) =>
        shortQuota(candidate, gpu, seen.quotas ?? {}),
      )
    : record;
  const candidate = nextCandidate(open, attempt, candidates, context.nowMs);
  if (candidate === null || attempt.intentCount >= INTENTS_MAX) {
    return walkAgain(open, attempt, context);
  }
  if (context.nowMs >= creator.untilMs) return pause(open, context, 0);
  const waits = awaitTurn(open, candidate, seen, context);
  return waits ?? orderIntent(open, attempt, candidate, context);
}

/**
 * Executions are started at a bounded rate: the next step towards the turn, which is in the record
 * before it is waited for, so that nobody else takes the run up meanwhile. Null: go ahead.
 */
export function awaitTurn(
  record: RunRecord,
  { region }: Candidate,
  { turn }: Observation,
  context: Context,
): Step | null {
  if (record.runtime === 'gce') return null;
  if (turn === null) return { kind: 'take-turn', region };
  if (turn.kind === 'granted' && turn.atMs <= context.nowMs) return null;
  const dueMs = turn.kind === 'granted' ? turn.atMs + PLACEMENT_LEASE_MS : turn.atMs;
  if (record.state !== 'WAITING' || record.dueMs !== dueMs) {
    const waiting = withState(record, 'WAITING', context.nowMs);
    return { kind: 'write', record: { ...waiting, dueMs }, effects: [] };
  }
  if (turn.kind === 'later') return { kind: 'rest' };
  return { kind: 'pause', milliseconds: turn.atMs - context.nowMs, again: 'nothing' };
}

/** All candidates once more after a pause, for as long as the request waits and waiting may help. */
function walkAgain(record: RunRecord, attempt: Attempt, context: Context): Step | WalkOver {
  const pauseFor = pauseMs(WALK_PAUSE_MS, attempt.walk - 1, context.fraction);
  const endsMs = attempt.startedMs + record.terms.waitForCapacitySeconds * 1000;
  const mayPass = placesOfWalk(record, attempt).some((place) => place.mayPass);
  const mayWait = attempt.intentCount < INTENTS_MAX && context.nowMs + pauseFor <= endsMs;
  if (!mayPass || !mayWait) return { kind: 'over', record };
  const again = { walk: attempt.walk + 1, walkFrom: record.placesCount };
  return pause(withAttempt(record, again), context, pauseFor);
}

/** The same place is tried again in a while, if that was not done often enough. */
export function waitHere(record: RunRecord, attempt: Attempt, context: Context): Step | null {
  const tries = placesOfWalk(record, attempt).at(-1)?.tries ?? 1;
  if (tries > PLACE_WAITS_MAX) return null;
  return pause(record, context, pauseMs(PLACE_PAUSE_MS, tries - 1, context.fraction));
}

/** Epoch seconds by which a machine that is ordered now must be gone. */
export function deadlineOf({ runtime, terms }: RunRecord, createdSeconds: number): number {
  return runtime === 'gce'
    ? deadlineSeconds(createdSeconds, terms.ttlSeconds)
    : executionDeadlineSeconds(createdSeconds, terms);
}

function orderIntent(
  record: RunRecord,
  attempt: Attempt,
  candidate: Candidate,
  context: Context,
): Step {
  const number = attempt.intentCount + 1;
  const createdSeconds = Math.floor(context.nowMs / 1000);
  const intent: Intent = {
    number,
    candidate,
    createdSeconds,
    deadlineSeconds: deadlineOf(record, createdSeconds),
    requestId: requestId(context.deployment, record.runId, attempt.number, number),
    status: 'ordered',
    operation: null,
    instanceId: null,
  };
  const ordered = withAttempt(record, {
    intents: [...attempt.intents, intent],
    intentCount: number,
  });
  const placing = withState(ordered, 'PLACING', context.nowMs);
  const dueMs = context.nowMs + PLACEMENT_LEASE_MS;
  // Tasks may create their marker, and not overwrite one.
  const announced = number === 1 && record.runtime === 'gce';
  return {
    kind: 'write',
    record: { ...placing, dueMs },
    effects: announced ? [{ kind: 'provisioning-marker' }] : [],
  };
}

function pause(record: RunRecord, context: Context, milliseconds: number): Step {
  const waiting = withState(record, 'WAITING', context.nowMs);
  return {
    kind: 'write',
    record: { ...waiting, dueMs: context.nowMs + milliseconds },
    effects: milliseconds === 0 ? [{ kind: 'publish-look' }] : [],
  };
}

/** The record without the refused intent, its place and error noted. */
export function refusedPlace(
  record: RunRecord,
  attempt: Attempt,
  error: PlatformError,
  context: Context,
): RunRecord {
  const intent = attempt.intents.at(-1);
  if (intent === undefined) return record;
  const before = attempt.intents.slice(0, -1);
  // Of an execution that was asked for twice the other call may still land: its intent stays open.
  const open = record.runtime !== 'gce' && intent.repeated === true;
  const intents = open ? [...before, { ...intent, status: 'abandoned' as const }] : before;
  const settled = withAttempt(record, { intents });
  const refused = { candidate: intent.candidate, error, called: true, mayPass: true };
  return withPlace(settled, attempt, refused, context.nowMs);
}
