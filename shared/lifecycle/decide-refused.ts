// A place that gave no machine: the next one, or the end of the attempt, which never comes while its
// claim is free (R3).
import { adopt } from '#shared/lifecycle/adopt.ts';
import type { Context, Creator } from '#shared/lifecycle/context.ts';
import { endAttempt, endRun, endWithout } from '#shared/lifecycle/end-attempt.ts';
import { endSealed } from '#shared/lifecycle/loss.ts';
import type { Observation, PlatformError, Step } from '#shared/lifecycle/observation.ts';
import { placementError } from '#shared/lifecycle/placement-errors.ts';
import { describeWalk, placesOfWalk } from '#shared/lifecycle/places.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import { refusedPlace, waitHere, walkOn } from '#shared/lifecycle/walk.ts';

/** Somebody else's machine has our name: it is not touched, and the attempt cannot be placed. */
export function decideForeign(
  record: RunRecord,
  attempt: Attempt,
  zone: string,
  seen: Observation,
  context: Context,
): Step {
  const message = `an instance named ${attempt.instance} that is not this run's is in ${zone}`;
  const error = { code: 'ALREADY_EXISTS', message, details: {} };
  return decidePermanent(record, attempt, error, seen, context);
}

/**
 * A definite refusal, of the call or of its operation: the next place, or the end. Once the claim is
 * ours no machine of this attempt can work, so that another place is the next attempt's.
 */
export function decideRefused(
  record: RunRecord,
  attempt: Attempt,
  error: PlatformError,
  seen: Observation,
  context: Context,
  creator: Creator,
): Step {
  const { verdict } = placementError(error);
  if (verdict === 'stop') return decidePermanent(record, attempt, error, seen, context);
  const refused = refusedPlace(record, attempt, error, context);
  const left = refused.attempts.at(-1) ?? attempt;
  const pause = verdict === 'wait' ? waitHere(refused, left, context) : null;
  const next = pause ?? walkOn(refused, left, seen, context, creator);
  if (next.kind === 'over') return decideNoCapacity(next.record, left, seen, context);
  if (seen.claim?.kind !== 'held') return next;
  const detail = `its claim was taken before it had a place: ${error.code}: ${error.message}`;
  return decideFenced(refused, seen, context, detail);
}

/**
 * Its outcome stays unknown, or an earlier pass died with the claim in hand: the claim decides.
 * Ours: nothing of this attempt can work, the next attempt begins. A machine's: it is adopted.
 */
export function decideAbandoned(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step {
  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };
  const holder = seen.claim.holder;
  if (holder.by === 'machine') return adopt(record, attempt, holder, context);
  const zone = attempt.intents.at(-1)?.candidate.zone ?? 'a zone';
  const detail = `whether ${zone} made the machine could not be learnt`;
  return decideFenced(record, seen, context, detail);
}

/** The claim is ours: nothing of the attempt can work, it ends, the next one begins elsewhere. */
function decideFenced(
  record: RunRecord,
  seen: Observation,
  context: Context,
  detail: string,
): Step {
  const end = endWithout('machine-lost', { detail, atMs: context.nowMs });
  const closed = endSealed(record, seen, context, () => end);
  return closed.kind === 'write' ? endAttempt(record, end, null, context, 'abandoned') : closed;
}

/** A no that no other place can change. No attempt ends while its claim is free (R3). */
function decidePermanent(
  record: RunRecord,
  attempt: Attempt,
  error: PlatformError,
  seen: Observation,
  context: Context,
): Step {
  const { advice } = placementError(error);
  const what = `the platform refused the machine: ${error.code}: ${error.message}`;
  const detail = advice === undefined ? what : `${what}; ${advice}`;
  const refused = refusedPlace(record, attempt, error, context);
  return decideUnplaced(refused, attempt, seen, context, () =>
    endWithout('refused', { detail, atMs: context.nowMs }),
  );
}

export function decideNoCapacity(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step {
  return decideUnplaced(record, attempt, seen, context, () => {
    const causes = new Set(placesOfWalk(record, attempt).map(({ cause }) => cause));
    const cause = WORST_FIRST.find((one) => causes.has(one)) ?? 'stock-out';
    return endWithout(cause, { detail: describeWalk(record, attempt), atMs: context.nowMs });
  });
}

/** What waits longest for: one place without stock is enough to say so, and a limit tops a mistake. */
const WORST_FIRST = ['stock-out', 'quota', 'refused'] as const;

/**
 * For a run whose request cannot be planned any more: nothing new is begun. What may have a machine goes
 * on as ever (null); an attempt that has none ends after its claim is taken.
 */
export function decideUnplannable(
  record: RunRecord,
  seen: Observation,
  context: Context,
  detail: string,
): Step | null {
  const attempt = record.attempts.at(-1);
  const end = () => endWithout('refused', { detail, atMs: context.nowMs });
  if (record.end !== null) return null;
  if (attempt === undefined || attempt.end !== null) return endRun(record, end(), context);
  const placed = attempt.intents.some(({ status }) => status === 'accepted');
  if (placed || attempt.order !== null || attempt.claim?.by === 'machine') return null;
  return decideUnplaced(record, attempt, seen, context, end);
}

/** Ends an attempt that got no machine, after taking its claim; a machine that holds it is adopted. */
function decideUnplaced(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
  end: () => ReturnType<typeof endWithout>,
): Step {
  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };
  const holder = seen.claim.holder;
  if (holder.by === 'machine') return adopt(record, attempt, holder, context);
  return endSealed(record, seen, context, end);
}
