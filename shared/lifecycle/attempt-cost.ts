// What an attempt was billed for, how much of that its container ran, and what it cost. Unknown is null,
// never 0; 0 says that there was nothing to bill.
import { type Attempt, type RunRecord, workingIntent } from '#shared/lifecycle/record.ts';
import { machineUsd } from '#shared/plan/cost.ts';
import { BILLED_SECONDS_MIN } from '#shared/plan/limits.ts';

/** What a machine may still cost after the decision: the time its delete takes. */
export const DELETE_ALLOWANCE_SECONDS = 60;

/** What of its run decides how an attempt is billed. */
type Work = Pick<RunRecord, 'runtime'> & { readonly terms: Pick<RunRecord['terms'], 'tasks'> };

/**
 * Of a machine from its boot, else from its order, to the decision that ended it, or that lets it go, and
 * its delete; of an execution all its tasks together. One minute at least, whole seconds after that.
 */
export function billedSeconds(attempt: Attempt, { runtime, terms }: Work): number | null {
  const intent = workingIntent(attempt);
  const worked = hasWorked(attempt);
  // A creation whose outcome was never learnt may have made a machine.
  if (intent === null) return worked || attempt.intents.length > 0 ? null : 0;
  // An execution that never started is not billed.
  if (runtime !== 'gce' && !worked) return 0;
  if (attempt.end === null) return null;
  if ((terms.tasks ?? 1) > 1) return attempt.end.taskSeconds?.billed ?? null;
  const lastSeconds = (attempt.kept?.untilMs ?? attempt.end.atMs) / 1000;
  const seconds =
    runtime === 'gce'
      ? lastSeconds - bootSeconds(attempt, intent, lastSeconds) + DELETE_ALLOWANCE_SECONDS
      : lastSeconds - (attempt.runningMs ?? intent.createdSeconds * 1000) / 1000;
  return Math.max(BILLED_SECONDS_MIN, Math.ceil(seconds));
}

/** The candidate's price is that of all tasks side by side. */
export function attemptCost(attempt: Attempt, work: Work): number | null {
  const seconds = billedSeconds(attempt, work);
  if (seconds === null || seconds === 0) return seconds;
  const usdPerHour = workingIntent(attempt)?.candidate.usdPerHour ?? null;
  return machineUsd(usdPerHour === null ? null : usdPerHour / (work.terms.tasks ?? 1), seconds);
}

/** How long the container ran, by its machine's own word; of several tasks all together. */
export function executeSeconds({ facts, claim, end }: Attempt): number | null {
  if ((end?.tasks?.count ?? 1) > 1) return end?.taskSeconds?.executed ?? null;
  if (facts === null) return claim?.by === 'machine' ? null : 0;
  if (facts.endEpoch === null) return null;
  if (facts.execStartEpoch === null) return 0;
  return Math.max(0, Math.round((facts.endEpoch - facts.execStartEpoch) * 10) / 10);
}

/** Billed without a running container. */
export function wasteSeconds(attempt: Attempt, work: Work): number | null {
  const billed = billedSeconds(attempt, work);
  const executed = billed === 0 ? 0 : executeSeconds(attempt);
  if (billed === null || executed === null) return null;
  return Math.max(0, Math.round((billed - executed) * 10) / 10);
}

const hasWorked = ({ runningMs, claim, facts }: Attempt) =>
  runningMs !== null || claim?.by === 'machine' || facts !== null;

/** The machine's clock is another one: a boot outside the attempt's own time is not believed. */
function bootSeconds(
  { facts }: Attempt,
  { createdSeconds }: { readonly createdSeconds: number },
  lastSeconds: number,
): number {
  const boot = facts?.bootEpoch ?? null;
  return boot !== null && boot > createdSeconds && boot < lastSeconds ? boot : createdSeconds;
}
