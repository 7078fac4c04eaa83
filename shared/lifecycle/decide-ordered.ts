// An attempt whose stop is ordered in the record (cancel, deadline, found stopped, its own marker says
// interrupted): take the claim; won, it ends at once; held by a machine, it ends when that machine is
// gone and the marker was read after that, or five minutes after the deadline.
import { adopt } from '#shared/lifecycle/adopt.ts';
import type { Context } from '#shared/lifecycle/context.ts';
import { isFinishing } from '#shared/lifecycle/end-attempt.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import { endSealed, lossOf } from '#shared/lifecycle/loss.ts';
import { factOf, machineKey, type Observation, type Step } from '#shared/lifecycle/observation.ts';
import {
  type Attempt,
  lastDeadlineMs,
  machineZones,
  type RunRecord,
  type StopOrder,
} from '#shared/lifecycle/record.ts';

export function decideOrdered(
  record: RunRecord,
  attempt: Attempt,
  order: StopOrder,
  seen: Observation,
  context: Context,
): Step {
  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };
  const holder = seen.claim.holder;
  const loss = () => lossOf(record, seen, context, order.detail);
  if (holder.by === 'control') return endSealed(record, seen, context, loss);
  // Of two executions the record may know the other one: it is the holder that is asked after.
  if (record.runtime !== 'gce' && attempt.claim === null) {
    return adopt(record, attempt, holder, context);
  }
  const deadlineMs = lastDeadlineMs(attempt);
  if (seen.machines[machineKey(attempt.instance, holder.zone)] === undefined) {
    return { kind: 'read-machine', instance: attempt.instance, zone: holder.zone };
  }
  const fact = factOf(attempt, holder.zone, seen);
  const gone = fact.kind === 'gone' || (fact.kind === 'there' && fact.id !== holder.instanceId);
  const late = deadlineMs !== null && context.nowMs >= deadlineMs + SLACK_MS;
  if (!gone && !late) {
    if (isFinishing(record, attempt, context.nowMs)) return { kind: 'rest' };
    return deleteAgain(attempt, seen);
  }
  if (gone) {
    const ending = seen.endings[holder.instanceId];
    if (ending === undefined) {
      return { kind: 'read-ending', zone: holder.zone, instanceId: holder.instanceId };
    }
    if (ending === 'unknown' && !late) return { kind: 'rest' };
  }
  return endSealed(record, seen, context, loss);
}

/** Sends the ordered deletes once a pass, for every machine of the attempt that is not known gone. */
export function deleteAgain(attempt: Attempt, seen: Observation): Step {
  for (const zone of machineZones(attempt)) {
    const key = machineKey(attempt.instance, zone);
    if (seen.machines[key] === undefined) {
      return { kind: 'read-machine', instance: attempt.instance, zone };
    }
    if (seen.machines[key].kind === 'there' && !seen.deleted.includes(key)) {
      return { kind: 'delete-machine', instance: attempt.instance, zone };
    }
  }
  return { kind: 'rest' };
}
