// After a run's end: its result first, then whatever it left on the platform, and its active entry
// last (R4): only when no intent is open, no machine and no disk is left.
import type { Context } from '#shared/lifecycle/context.ts';
import { isFinishing } from '#shared/lifecycle/end-attempt.ts';
import { isKept } from '#shared/lifecycle/kept.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import {
  intentKey,
  machineKey,
  type Observation,
  type Step,
} from '#shared/lifecycle/observation.ts';
import type { Attempt, Intent, RunRecord } from '#shared/lifecycle/record.ts';
import { diskName } from '#shared/plan/names.ts';

export function decideEnded(record: RunRecord, seen: Observation, context: Context): Step {
  if (!seen.finished) return { kind: 'finish' };
  if (context.depth === 'marker') return { kind: 'rest' };
  let open = false;
  for (const attempt of record.attempts) {
    for (const intent of attempt.intents) {
      const step = settle(record, attempt, intent, seen, context);
      if (step !== null && step.kind !== 'rest') return step;
      open ||= step !== null;
    }
  }
  return open ? { kind: 'rest' } : { kind: 'forget' };
}

/** The next step towards an intent's settlement; `rest` while it is open, null when it is settled. */
function settle(
  record: RunRecord,
  attempt: Attempt,
  intent: Intent,
  seen: Observation,
  context: Context,
): Step | null {
  const zone = intent.candidate.zone;
  const key = machineKey(attempt.instance, zone);
  const fact = seen.machines[key];
  if (fact === undefined) return { kind: 'read-machine', instance: attempt.instance, zone };
  if (fact.kind === 'there' && fact.ours && !seen.deleted.includes(key)) {
    if (isKept(attempt, { ...fact, zone }, context.nowMs)) return { kind: 'rest' };
    if (isFinishing(record, attempt, context.nowMs)) return { kind: 'rest' };
    return { kind: 'delete-machine', instance: attempt.instance, zone };
  }
  if (fact.kind === 'unknown' || (fact.kind === 'there' && fact.ours)) return { kind: 'rest' };
  if (record.runtime !== 'gce') {
    // One call starts one execution at most: the one that was seen to end is the intent's only one.
    const known = intent.instanceId !== null || (fact.kind === 'gone' && fact.id !== undefined);
    const late = context.nowMs >= intent.deadlineSeconds * 1000 + SLACK_MS;
    return late || (known && intent.repeated !== true) ? null : { kind: 'rest' };
  }
  const step = landing(attempt, intent, seen, context);
  if (step !== null) return step;
  const disk = diskName(context.deployment, record.runId, attempt.number, intent.number);
  if (seen.disks[disk] === undefined) return { kind: 'delete-disk', zone, disk };
  return seen.disks[disk] === 'gone' ? null : { kind: 'rest' };
}

/** Can the intent's machine still appear? Null: no. */
function landing(
  attempt: Attempt,
  intent: Intent,
  seen: Observation,
  context: Context,
): Step | null {
  const zone = intent.candidate.zone;
  if (attempt.claim?.by === 'machine' && attempt.claim.instanceId === intent.instanceId)
    return null;
  if (context.nowMs >= intent.deadlineSeconds * 1000 + SLACK_MS) return null;
  if (intent.operation === null) return { kind: 'rest' };
  const key = intentKey(attempt.number, intent.number);
  const operation = seen.operations[key];
  if (operation === undefined) {
    return { kind: 'read-operation', key, zone, operation: intent.operation };
  }
  const done = operation.kind === 'succeeded' || operation.kind === 'failed';
  return done ? null : { kind: 'rest' };
}
