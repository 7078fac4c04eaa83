// Placement, submit's alone (R5): one ordered creation after another, each written before it is
// called. A definite refusal moves on in the same attempt; an outcome that cannot be learnt is
// repeated with the same requestId, then abandoned, and only the claim decides what follows.
import { adopt } from '#shared/lifecycle/adopt.ts';
import { attemptCandidates, spentUsd } from '#shared/lifecycle/attempt-candidates.ts';
import type { Context, Creator } from '#shared/lifecycle/context.ts';
import {
  decideAbandoned,
  decideForeign,
  decideNoCapacity,
  decideRefused,
} from '#shared/lifecycle/decide-refused.ts';
import { endRun } from '#shared/lifecycle/end-attempt.ts';
import {
  DETAIL_CHARACTERS_MAX,
  LISTING_GRACE_MS,
  PLACEMENT_LEASE_MS,
  POLL_MS,
  pauseMs,
  REPEAT_WINDOW_MS,
} from '#shared/lifecycle/limits.ts';
import {
  factOf,
  type InsertFact,
  intentKey,
  machineKey,
  type Observation,
  type Step,
} from '#shared/lifecycle/observation.ts';
import { calledBefore } from '#shared/lifecycle/places.ts';
import {
  type Attempt,
  type AttemptEnd,
  type Intent,
  type RunRecord,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';
import { awaitTurn, newAttempt, walkOn } from '#shared/lifecycle/walk.ts';
import type { RunPlan } from '#shared/plan/model.ts';

const REST: Step = { kind: 'rest' };

/** The write that begins the next attempt with its first intent, or ends a run that must not have one. */
export function startAttempt(
  record: RunRecord,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  const attempt = newAttempt(record, context, creator);
  const begun = { ...record, attempts: [...record.attempts, attempt] };
  const last = record.attempts.at(-1)?.end;
  if (last && attemptCandidates(begun, creator.plan).length === 0) {
    return endRun(record, noFurther(begun, last, creator.plan), context);
  }
  const next = walkOn(begun, attempt, seen, context, creator);
  if (next.kind !== 'over') return next;
  // It is in the record before its claim is taken and it ends.
  const placing = withState(next.record, 'PLACING', context.nowMs);
  return { kind: 'write', record: placing, effects: [] };
}

/** The end of the attempt before stands as the run's, with the reason why none follows it. */
function noFurther(begun: RunRecord, end: AttemptEnd, plan: RunPlan): AttemptEnd {
  const spent = spentUsd(begun)?.toFixed(4) ?? 'an unknown amount of';
  const unbounded = { ...begun, terms: { ...begun.terms, budgetUsd: null } };
  const why =
    attemptCandidates(unbounded, plan).length === 0
      ? 'no further attempt: there is no class with more memory'
      : `no further attempt: after ${spent} USD none fits the budget of ${begun.terms.budgetUsd} USD`;
  return { ...end, detail: `${end.detail}\n${why}`.slice(-DETAIL_CHARACTERS_MAX) };
}

export function decidePlacement(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step {
  const creator = context.creator;
  if (creator === null) return decideElsewhere(record, attempt, seen, context);
  const intent = attempt.intents.at(-1);
  if (intent === undefined) return decideWalk(record, attempt, seen, context, creator);
  switch (intent.status) {
    case 'ordered':
      return decideInsert(record, attempt, intent, seen, context, creator);
    case 'accepted':
      return decideOperation(record, attempt, intent, seen, context, creator);
    case 'abandoned':
      return decideAbandoned(record, attempt, seen, context);
  }
}

/** Not the creator: say that something is due, or that an accepted machine did not come. */
function decideElsewhere(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step {
  const intent = attempt.intents.at(-1);
  const failed =
    intent?.status === 'accepted' &&
    seen.operations[intentKey(attempt.number, intent.number)]?.kind === 'failed';
  const due = record.dueMs !== null && record.dueMs <= context.nowMs;
  return (failed || due) && !seen.looked ? { kind: 'publish-look' } : REST;
}

/** All intents so far were refused: the next candidate when it is due, or the end of the walk. */
function decideWalk(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  // Another delivery waits for its turn until then; with the turn in hand it is this one.
  const waits = record.dueMs !== null && record.dueMs > context.nowMs;
  if (waits && seen.turn?.kind !== 'granted') return REST;
  const next = walkOn(record, attempt, seen, context, creator);
  return next.kind === 'over' ? decideNoCapacity(next.record, attempt, seen, context) : next;
}

function decideInsert(
  record: RunRecord,
  attempt: Attempt,
  intent: Intent,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  const key = intentKey(attempt.number, intent.number);
  const reply = seen.inserts[key];
  if (reply === undefined) {
    if (creator.ownIntent === key) return { kind: 'insert', intent: intent.number };
    // Another delivery is at it until then.
    const waits = record.dueMs !== null && record.dueMs > context.nowMs;
    if (record.runtime !== 'gce' && waits && !seen.wrote) return REST;
    if (seen.claim === null) return { kind: 'read-claim' };
    if (seen.claim.kind === 'held') return decideAbandoned(record, attempt, seen, context);
    const found = lookForExecution(record, attempt, intent, seen, context, creator);
    if (found !== null) return found;
    const ageMs = context.nowMs - intent.createdSeconds * 1000;
    if (ageMs >= REPEAT_WINDOW_MS) {
      return changeIntent(record, attempt, { ...intent, status: 'abandoned' }, context);
    }
    // Two calls start two executions: whoever makes a further one has its time for it in the record.
    const mine = record.runtime === 'gce' || waits;
    if (intent.repeated === true && mine) return { kind: 'insert', intent: intent.number };
    // Said before it is done (R1): from here on the first call's refusal is no longer the whole truth.
    return changeIntent(record, attempt, { ...intent, repeated: true }, context);
  }
  switch (reply.kind) {
    case 'accepted':
      return accept(record, attempt, intent, reply, context);
    case 'refused':
      if (!reply.definite && record.runtime !== 'gce') return REST;
      if (!reply.definite) return repeat(seen, context, creator);
      return decideRefused(record, attempt, reply.error, seen, context, creator);
    case 'conflict':
      return decideConflict(record, attempt, intent, seen, context, creator);
    case 'rate-limited':
      if (reply.untilMs === undefined) return repeat(seen, context, creator);
      return decideThrottled(
        record,
        attempt,
        { ...reply, untilMs: reply.untilMs },
        seen,
        context,
        creator,
      );
    case 'unknown':
      // What a second call made is looked for by a later delivery, when the list has had its time.
      if (record.runtime !== 'gce' && intent.repeated === true) return REST;
      return repeat(seen, context, creator);
  }
}

/**
 * No key makes a second start of an execution the same as the first: before another delivery starts
 * one it looks for the first one's, and gives the list the time to show it. Null: start it.
 */
function lookForExecution(
  record: RunRecord,
  attempt: Attempt,
  intent: Intent,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step | null {
  if (record.runtime === 'gce') return null;
  const { zone } = intent.candidate;
  const fact = seen.machines[machineKey(attempt.instance, zone)];
  if (fact === undefined) return { kind: 'read-machine', instance: attempt.instance, zone };
  if (fact.kind === 'there') {
    // Whether it was taken up is told by itself, as the operation of an answered call would.
    const found = {
      ...intent,
      status: 'accepted' as const,
      instanceId: fact.id,
      operation: fact.id,
    };
    return changeIntent(record, attempt, found, context);
  }
  const ageMs = context.nowMs - intent.createdSeconds * 1000;
  if (fact.kind === 'unknown' || ageMs < LISTING_GRACE_MS) return repeat(seen, context, creator);
  return intent.repeated === true ? awaitTurn(record, intent.candidate, seen, context) : null;
}

/**
 * Too many executions are being started. The answer to the first call of an intent says that nothing was
 * made: the intent is withdrawn, and with the turn in hand this delivery goes on; else the run waits
 * outside. No attempt and no retry is used up.
 */
function decideThrottled(
  record: RunRecord,
  attempt: Attempt,
  reply: Omit<InsertFact & { readonly kind: 'rate-limited' }, 'kind' | 'error'> & {
    readonly untilMs: number;
  },
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  const throttled = (attempt.throttled ?? 0) + (reply.asked === false ? 0 : 1);
  const intents = reply.definite === true ? attempt.intents.slice(0, -1) : attempt.intents;
  const turn = throttled > creator.throttlesMax ? null : seen.turn;
  const withdrawn = withAttempt(record, { intents, throttled: turn === null ? 0 : throttled });
  const dueMs =
    turn === null ? reply.untilMs : turn.atMs + (turn.kind === 'granted' ? PLACEMENT_LEASE_MS : 0);
  // An intent that stays open is called again by the delivery that comes when it is due.
  const noted = record.state === 'WAITING' && record.dueMs === dueMs;
  if (noted && intents === attempt.intents) return REST;
  const waiting = withState(withdrawn, 'WAITING', context.nowMs);
  return { kind: 'write', record: { ...waiting, dueMs }, effects: [] };
}

/** Repeats within this delivery; beyond it the record's due time brings a look. */
function repeat(seen: Observation, context: Context, creator: Creator): Step {
  const milliseconds = pauseMs(POLL_MS, seen.tries, context.fraction);
  if (context.nowMs + milliseconds >= creator.untilMs) return REST;
  return { kind: 'pause', milliseconds, again: 'insert' };
}

function accept(
  record: RunRecord,
  attempt: Attempt,
  intent: Intent,
  reply: InsertFact & { readonly kind: 'accepted' },
  context: Context,
): Step {
  const { operation, instanceId } = reply;
  return changeIntent(
    record,
    attempt,
    { ...intent, status: 'accepted', operation, instanceId },
    context,
  );
}

/** Writes the newest intent's new status; accepted means that the machine is on its way. */
function changeIntent(record: RunRecord, attempt: Attempt, intent: Intent, context: Context): Step {
  const intents = [...attempt.intents.slice(0, -1), intent];
  const changed = withAttempt(record, { intents });
  const accepted = intent.status === 'accepted';
  const next = accepted ? withState(changed, 'PROVISIONING', context.nowMs) : changed;
  const dueMs = accepted ? null : context.nowMs + PLACEMENT_LEASE_MS;
  return { kind: 'write', record: { ...next, dueMs }, effects: [] };
}

/** 409: ours when deployment, attempt and nonce match; else the name is taken by somebody else. */
function decideConflict(
  record: RunRecord,
  attempt: Attempt,
  intent: Intent,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  const zone = intent.candidate.zone;
  const fact = factOf(attempt, zone, seen);
  if (fact.kind === 'unknown' && seen.machines[machineKey(attempt.instance, zone)] === undefined) {
    return { kind: 'read-machine', instance: attempt.instance, zone };
  }
  if (fact.kind !== 'there') return repeat(seen, context, creator);
  if (fact.ours) {
    const found = { ...intent, status: 'accepted' as const, instanceId: fact.id };
    if (!calledBefore(record, attempt, zone)) return changeIntent(record, attempt, found, context);
    // It may be an earlier call's that landed late, and this intent's may still land: it stays open.
    const beside = { ...attempt, intents: [...attempt.intents, intent] };
    return changeIntent(record, beside, { ...found, requestId: '' }, context);
  }
  return decideForeign(record, attempt, zone, seen, context);
}

function decideOperation(
  record: RunRecord,
  attempt: Attempt,
  intent: Intent,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  // Once a machine holds the claim, what becomes of it is not placement's affair.
  if (intent.operation === null || attempt.claim?.by === 'machine') return REST;
  const zone = intent.candidate.zone;
  const key = intentKey(attempt.number, intent.number);
  const operation = seen.operations[key];
  if (operation === undefined) {
    return { kind: 'read-operation', key, zone, operation: intent.operation };
  }
  if (operation.kind === 'pending') {
    const milliseconds = pauseMs(POLL_MS, seen.tries, context.fraction);
    if (context.nowMs + milliseconds >= creator.untilMs) return REST;
    return { kind: 'pause', milliseconds, again: 'operation' };
  }
  if (operation.kind !== 'failed') return REST;
  const fact = seen.machines[machineKey(attempt.instance, zone)];
  if (fact === undefined) return { kind: 'read-machine', instance: attempt.instance, zone };
  if (fact.kind === 'there' && !fact.ours)
    return decideForeign(record, attempt, zone, seen, context);
  if (fact.kind !== 'gone') return REST;
  if (seen.claim === null) return { kind: 'read-claim' };
  if (seen.claim.kind === 'held' && seen.claim.holder.by === 'machine') {
    return adopt(record, attempt, seen.claim.holder, context);
  }
  return decideRefused(record, attempt, operation.error, seen, context, creator);
}
