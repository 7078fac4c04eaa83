// How a live attempt ends (design R3): by the last word of the claim's holder; or after we tried to
// take its claim, and the holder is confirmed gone and the marker was read after that; or five minutes
// after its deadline. Silence, time and absence from a list end nothing. Null: placement's turn.
import { adopt } from '#shared/lifecycle/adopt.ts';
import type { Context } from '#shared/lifecycle/context.ts';
import { decideOrdered } from '#shared/lifecycle/decide-ordered.ts';
import { deleteMachines, endAttempt, endByMarker } from '#shared/lifecycle/end-attempt.ts';
import { BOOT_ALLOWANCE_MS, SLACK_MS } from '#shared/lifecycle/limits.ts';
import { endSealed, lossOf, neverBegan, waitsTooLong } from '#shared/lifecycle/loss.ts';
import { isTerminal, type Marker, speaksFor } from '#shared/lifecycle/marker.ts';
import {
  factOf,
  intentKey,
  isStopped,
  type MachineFact,
  machineKey,
  type Observation,
  type Step,
} from '#shared/lifecycle/observation.ts';
import {
  type Attempt,
  type ClaimHolder,
  lastDeadlineMs,
  machineZones,
  type RunRecord,
  type StopOrder,
  withAttempt,
  withState,
} from '#shared/lifecycle/record.ts';

export function decideAttempt(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step | null {
  const word = lastWord(attempt, seen);
  if (word !== null && !isEnding(word)) {
    const known = withWorker(record, attempt, word);
    return endAttempt(known, endByMarker(record, word, context.nowMs), word, context);
  }
  if (word !== null && attempt.order === null) {
    const detail = word.detail === '' ? `the machine reports ${word.cause}` : word.detail;
    return order(record, attempt, { reason: 'ending', cause: null, detail }, context);
  }
  if (context.depth === 'marker')
    return running(record, attempt, seen, context) ?? { kind: 'rest' };
  if (attempt.order !== null) return decideOrdered(record, attempt, attempt.order, seen, context);
  const deadlineMs = lastDeadlineMs(attempt);
  if (deadlineMs !== null && context.nowMs >= deadlineMs) {
    const detail = `not ended by its deadline ${new Date(deadlineMs).toISOString()}`;
    return order(record, attempt, { reason: 'deadline', cause: 'ttl', detail }, context);
  }
  const placed = attempt.claim !== null || attempt.intents.some((i) => i.status === 'accepted');
  if (!placed || context.creator !== null) return null;
  return decideMachine(record, attempt, seen, context);
}

/** An execution that was quicker than the record tells its own name. */
function withWorker(record: RunRecord, attempt: Attempt, { bootId }: Marker): RunRecord {
  const intent = attempt.intents.at(-1);
  if (record.runtime === 'gce' || intent === undefined || intent.instanceId !== null) return record;
  const found = { ...intent, status: 'accepted' as const, instanceId: bootId };
  return withAttempt(record, { intents: [...attempt.intents.slice(0, -1), found] });
}

/**
 * The marker, if it is this attempt's: a pass that lost a swap goes on with the marker that it came
 * with, while the record may have gone on to a further attempt.
 */
function ownMarker(attempt: Attempt, seen: Observation): Marker | null {
  const marker = seen.marker?.marker ?? null;
  return marker !== null && speaksFor(marker, attempt) ? marker : null;
}

/** The machine's terminal marker, unless it is our own seal. */
function lastWord(attempt: Attempt, seen: Observation): Marker | null {
  const marker = ownMarker(attempt, seen);
  return marker !== null && isTerminal(marker) && !marker.sealed ? marker : null;
}

/** Interrupted and preempted order the delete; what it was is decided when the machine is gone. */
function isEnding(word: Marker): boolean {
  return word.status === 'FAILED' && (word.cause === 'interrupted' || word.cause === 'preempted');
}

/** Writes why the machines must go, then deletes them (R1). */
function order(
  record: RunRecord,
  attempt: Attempt,
  why: Omit<StopOrder, 'atMs'>,
  context: Context,
): Step {
  const ordered = withAttempt(record, { order: { ...why, atMs: context.nowMs } });
  const stopping = withState({ ...ordered, dueMs: null }, 'STOPPING', context.nowMs);
  const goes = why.reason === 'ending' && record.runtime !== 'gce';
  return { kind: 'write', record: stopping, effects: goes ? [] : deleteMachines(attempt) };
}

/** Notes that the claim's holder works; null when the record knows or the marker does not say so. */
function running(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step | null {
  const marker = ownMarker(attempt, seen);
  if (marker?.status !== 'RUNNING' || record.state !== 'PROVISIONING') return null;
  const runningMs = marker.bootEpoch === null ? context.nowMs : marker.bootEpoch * 1000;
  const next = withState(withAttempt(record, { runningMs }), 'RUNNING', context.nowMs);
  return { kind: 'write', record: { ...next, dueMs: null }, effects: [] };
}

/** An execution writes no marker before its end: what tells that it works is its claim. */
function working(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step | null {
  if (record.runtime === 'gce' || record.state !== 'PROVISIONING') return null;
  const started = Object.values(seen.machines).find(
    (fact) => fact.kind === 'there' && fact.startedMs !== null,
  );
  if (started?.kind !== 'there') return null;
  if (attempt.claim === null) return seen.claim === null ? { kind: 'read-claim' } : null;
  if (attempt.claim.by === 'control') return null;
  const runningMs = started.startedMs ?? context.nowMs;
  const next = withState(withAttempt(record, { runningMs }), 'RUNNING', context.nowMs);
  return { kind: 'write', record: { ...next, dueMs: null }, effects: [] };
}

/** A live attempt without an order: machines first, the marker after them, the claim when in doubt. */
function decideMachine(
  record: RunRecord,
  attempt: Attempt,
  seen: Observation,
  context: Context,
): Step | null {
  const zones = machineZones(attempt);
  for (const zone of zones) {
    if (seen.machines[machineKey(attempt.instance, zone)] === undefined) {
      return { kind: 'read-machine', instance: attempt.instance, zone };
    }
  }
  if (seen.marker === null) return { kind: 'read-marker' };
  const write = running(record, attempt, seen, context) ?? working(record, attempt, seen, context);
  if (write !== null) return write;
  const holder = attempt.claim ?? (seen.claim?.kind === 'held' ? seen.claim.holder : null);
  if (holder !== null) return decideHeld(record, attempt, holder, seen, context);
  // Two machines of one attempt: the claim says which of them works, the other one is the sweep's.
  if (seen.claim === null && machinesThere(attempt, seen) > 1) return { kind: 'read-claim' };
  return decideUnclaimed(record, attempt, zones, seen, context);
}

/** Machines of the attempt that were seen, in whatever zone. */
function machinesThere(attempt: Attempt, seen: Observation): number {
  const ours = machineKey(attempt.instance, '');
  const facts = Object.entries(seen.machines).filter(([key]) => key.startsWith(ours));
  return facts.filter(([, fact]) => fact.kind === 'there').length;
}

/** Nobody is known to hold the claim: a healthy young machine is left alone. */
function decideUnclaimed(
  record: RunRecord,
  attempt: Attempt,
  zones: readonly string[],
  seen: Observation,
  context: Context,
): Step | null {
  const facts = zones.map((zone) => factOf(attempt, zone, seen));
  // How it is going is told by operations: a machine that is taken back ends its attempt at once.
  for (const [index, zone] of zones.entries()) {
    const fact = facts[index];
    if (fact?.kind === 'there' && isLeaving(fact) && seen.endings[fact.id] === undefined) {
      return { kind: 'read-ending', zone, instanceId: fact.id };
    }
  }
  const begun = seen.marker?.marker?.status === 'RUNNING';
  const isLate = (fact: MachineFact) => !begun && isOverdue(fact, context.nowMs);
  const late = zones.find((zone) => isLate(factOf(attempt, zone, seen)));
  // What it said of its boot goes with the machine: it is read before anything is decided.
  if (late !== undefined && seen.bootReports[machineKey(attempt.instance, late)] === undefined) {
    return { kind: 'read-boot-report', instance: attempt.instance, zone: late };
  }
  const stuck = waitsTooLong(record, attempt, seen, context.nowMs) !== null;
  if (stuck || facts.some((fact) => hasStopped(fact) || isTakenBack(fact, seen) || isLate(fact))) {
    return claimOrEnd(record, seen, context);
  }
  if (facts.some((fact) => fact.kind !== 'gone')) return { kind: 'rest' };
  for (const intent of attempt.intents) {
    if (intent.status !== 'accepted' || intent.operation === null) continue;
    const key = intentKey(attempt.number, intent.number);
    const operation = seen.operations[key];
    if (operation === undefined) {
      const zone = intent.candidate.zone;
      return { kind: 'read-operation', key, zone, operation: intent.operation };
    }
    // Refused by the platform: submit's alone (R4). Pending or unknown: it may still appear.
    if (operation.kind !== 'succeeded') return null;
    const instanceId = intent.instanceId ?? operation.instanceId;
    if (instanceId === null || seen.endings[instanceId] !== undefined) continue;
    return { kind: 'read-ending', zone: intent.candidate.zone, instanceId };
  }
  return claimOrEnd(record, seen, context);
}

const hasStopped = (fact: MachineFact) => fact.kind === 'there' && isStopped(fact.status);
const isLeaving = (fact: MachineFact) =>
  hasStopped(fact) || (fact.kind === 'there' && fact.status === 'STOPPING');

/** On its way out by the platform's own doing: it never comes back, and only its end is waited for. */
function isTakenBack(fact: MachineFact, seen: Observation): boolean {
  const ending = fact.kind === 'there' && isLeaving(fact) ? seen.endings[fact.id] : undefined;
  return ending === 'preempted' || ending === 'host-error';
}

/** RUNNING for longer than any boot takes. */
function isOverdue(fact: MachineFact, nowMs: number): boolean {
  if (fact.kind !== 'there' || fact.status !== 'RUNNING' || fact.startedMs === null) return false;
  return nowMs - fact.startedMs > BOOT_ALLOWANCE_MS;
}

/** Takes the claim first (E9); only when it was free does the attempt end as lost. */
function claimOrEnd(record: RunRecord, seen: Observation, context: Context): Step {
  if (seen.claim === null || seen.claim.kind === 'free') return { kind: 'take-claim' };
  return endSealed(record, seen, context, () => neverBegan(record, seen, context));
}

function decideHeld(
  record: RunRecord,
  attempt: Attempt,
  holder: ClaimHolder,
  seen: Observation,
  context: Context,
): Step {
  if (holder.by === 'control') {
    return endSealed(record, seen, context, () => neverBegan(record, seen, context));
  }
  if (attempt.claim === null) return adopt(record, attempt, holder, context);
  const fact = factOf(attempt, holder.zone, seen);
  if (fact.kind === 'unknown') return { kind: 'rest' };
  if (fact.kind === 'there' && fact.id === holder.instanceId) {
    if (!isLeaving(fact)) return { kind: 'rest' };
    if (!hasStopped(fact) && seen.endings[fact.id] === undefined) {
      return { kind: 'read-ending', zone: holder.zone, instanceId: fact.id };
    }
    // One that somebody deletes is theirs: an order of ours would hide that.
    if (!hasStopped(fact) && !isTakenBack(fact, seen)) return { kind: 'rest' };
    const detail = `its machine was found ${fact.status}`;
    return order(record, attempt, { reason: 'stopped', cause: null, detail }, context);
  }
  const ending = seen.endings[holder.instanceId];
  if (ending === undefined) {
    return { kind: 'read-ending', zone: holder.zone, instanceId: holder.instanceId };
  }
  if (ending === 'unknown' && context.nowMs < (lastDeadlineMs(attempt) ?? 0) + SLACK_MS) {
    return { kind: 'rest' };
  }
  const detail = 'its machine is gone without a last word';
  return endSealed(record, seen, context, () => lossOf(record, seen, context, detail));
}
