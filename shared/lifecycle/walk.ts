// The walk over an attempt's candidates: which place is tried next, when a walk pauses, and when it
// has been going on for as long as the request waits. Positions are in the record, so that any
// delivery continues where another one stopped.
import { attemptCandidates } from '#shared/lifecycle/attempt-candidates.ts';
import type { Context, Creator } from '#shared/lifecycle/context.ts';
import {
  INTENTS_MAX,
  PLACEMENT_LEASE_MS,
  pauseMs,
  WALK_PAUSE_MS,
} from '#shared/lifecycle/limits.ts';
import type { PlatformError, Step } from '#shared/lifecycle/observation.ts';
import {
  type Attempt,
  type Intent,
  PLACES_MAX,
  type Place,
  type RunRecord,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';
import { deadlineSeconds } from '#shared/plan/deadline.ts';
import type { Candidate } from '#shared/plan/model.ts';
import { instanceName, requestId } from '#shared/plan/names.ts';

const MESSAGE_CHARACTERS_MAX = 300;

export function newAttempt(record: RunRecord, context: Context, creator: Creator): Attempt {
  const number = record.attempts.length + 1;
  return {
    number,
    nonce: creator.nonce,
    instance: instanceName(context.deployment, record.runId, number),
    startedMs: context.nowMs,
    cursor: 0,
    intents: [],
    intentCount: 0,
    claim: null,
    runningMs: null,
    order: null,
    facts: null,
    end: null,
  };
}

/** The write that orders the next creation, or pauses the walk; null when the walk is over. */
export function walkOn(
  record: RunRecord,
  attempt: Attempt,
  context: Context,
  creator: Creator,
): Step | null {
  const candidates = attemptCandidates(record, creator.plan);
  const candidate = candidates[attempt.cursor];
  if (candidate !== undefined && attempt.intentCount < INTENTS_MAX) {
    if (context.nowMs >= creator.untilMs) return pause(record, context, attempt.cursor, 0);
    return orderIntent(record, attempt, candidate, context);
  }
  const walks = Math.ceil(attempt.intentCount / Math.max(1, candidates.length));
  const pauseFor = pauseMs(WALK_PAUSE_MS, Math.max(0, walks - 1), context.fraction);
  const endsMs = attempt.startedMs + record.terms.waitForCapacitySeconds * 1000;
  const mayWait = attempt.intentCount < INTENTS_MAX && context.nowMs + pauseFor <= endsMs;
  return mayWait ? pause(record, context, 0, pauseFor) : null;
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
    deadlineSeconds: deadlineSeconds(createdSeconds, record.terms.ttlSeconds),
    requestId: requestId(context.deployment, record.runId, attempt.number, number),
    status: 'ordered',
    operation: null,
    instanceId: null,
  };
  const ordered = withAttempt(record, {
    intents: [...attempt.intents, intent],
    intentCount: number,
    cursor: attempt.cursor + 1,
  });
  const placing = withState(ordered, 'PLACING', context.nowMs);
  const dueMs = context.nowMs + PLACEMENT_LEASE_MS;
  return {
    kind: 'write',
    record: { ...placing, dueMs },
    effects: number === 1 ? [{ kind: 'provisioning-marker' }] : [],
  };
}

function pause(record: RunRecord, context: Context, cursor: number, milliseconds: number): Step {
  const waiting = withState(withAttempt(record, { cursor }), 'WAITING', context.nowMs);
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
  const { zone, machineType, provisioningModel } = intent.candidate;
  const place: Place = {
    attempt: attempt.number,
    zone,
    machineType,
    provisioningModel,
    code: error.code,
    message: error.message.slice(0, MESSAGE_CHARACTERS_MAX),
    atMs: context.nowMs,
  };
  return {
    ...withAttempt(record, { intents: attempt.intents.slice(0, -1) }),
    places: [...record.places, place].slice(-PLACES_MAX),
    placesCount: record.placesCount + 1,
  };
}
