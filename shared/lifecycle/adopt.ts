// The record learns which machine holds its attempt's claim.
import type { Context } from '#shared/lifecycle/context.ts';
import type { Step } from '#shared/lifecycle/observation.ts';
import { calledBefore } from '#shared/lifecycle/places.ts';
import {
  type Attempt,
  type ClaimHolder,
  type Intent,
  type RunRecord,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';
import { deadlineOf } from '#shared/lifecycle/walk.ts';

/** Notes who holds the claim, so that every later pass asks after that machine and no other. */
export function adopt(
  record: RunRecord,
  attempt: Attempt,
  holder: ClaimHolder & { readonly by: 'machine' },
  context: Context,
): Step {
  const own = attempt.intents.find((intent) => isIntentOf(holder, intent, record, attempt));
  const intents =
    own === undefined
      ? [...attempt.intents, strayIntent(record, holder, context)]
      : attempt.intents.map((intent) =>
          intent === own
            ? { ...intent, status: 'accepted' as const, instanceId: holder.instanceId }
            : intent,
        );
  const held = withAttempt(record, { claim: holder, intents });
  const placing = record.state === 'PLACING' || record.state === 'WAITING';
  const next = placing ? withState(held, 'PROVISIONING', context.nowMs) : held;
  return { kind: 'write', record: { ...next, dueMs: null }, effects: [] };
}

/**
 * An intent of which nothing is known is the holder's if the attempt tried that zone only once. Else
 * the machine may be an earlier call's that landed late, and this intent's may still land: it stays open.
 */
function isIntentOf(
  holder: ClaimHolder & { readonly by: 'machine' },
  { candidate, instanceId }: Intent,
  record: RunRecord,
  attempt: Attempt,
): boolean {
  if (candidate.zone !== holder.zone) return false;
  if (instanceId !== null) return instanceId === holder.instanceId;
  return !calledBefore(record, attempt, holder.zone);
}

/** A machine that works although its place was noted as refused: its creation, as far as known. */
function strayIntent(
  record: RunRecord,
  holder: ClaimHolder & { readonly by: 'machine' },
  context: Context,
): Intent {
  const attempt = record.attempts.at(-1);
  const place = record.places.findLast((tried) => tried.zone === holder.zone);
  const there = attempt?.intents.find(({ candidate }) => candidate.zone === holder.zone);
  const createdSeconds = Math.floor(context.nowMs / 1000);
  return {
    number: attempt?.intentCount ?? 1,
    candidate: there?.candidate ?? {
      region: holder.zone.replace(/-[a-z]$/, ''),
      zone: holder.zone,
      subnetwork: '',
      machineType: place?.machineType ?? '',
      provisioningModel: place?.provisioningModel === 'SPOT' ? 'SPOT' : 'STANDARD',
      usdPerHour: null,
    },
    createdSeconds,
    deadlineSeconds: deadlineOf(record, createdSeconds),
    requestId: '',
    status: 'accepted',
    operation: null,
    instanceId: holder.instanceId,
  };
}
