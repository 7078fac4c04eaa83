// What decisions order: creations, deletes, looks, results. A plain loop that cannot decide; each act
// is idempotent, and one that is lost is done by a later pass.
import type { ApiErrorDetail, DeleteInstanceReply, InsertReply } from '#shared/cloud/compute.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { endedMetadata } from '#shared/lifecycle/ended-entry.ts';
import type { Effect, InsertFact } from '#shared/lifecycle/observation.ts';
import type { Attempt, Intent, RunRecord } from '#shared/lifecycle/record.ts';
import { buildResult } from '#shared/lifecycle/result.ts';
import type { GuestScripts, ResolvedInput, RunPlan } from '#shared/plan/model.ts';
import { deleteRequestId } from '#shared/plan/names.ts';
import { activeObject, endedObject, markerObject, resultObject } from '#shared/plan/objects.ts';
import { planIntent } from '#shared/plan/plan.ts';
import { provisioningMarker } from '#shared/runs/claim.ts';
import { type RunDeps, topicOf } from '#shared/runs/deps.ts';

const JSON_TYPE = 'application/json';

export interface Creation {
  readonly plan: RunPlan;
  readonly scripts: GuestScripts;
  readonly inputs: readonly ResolvedInput[];
  /** Any bucket that submit may read. */
  readonly openBucket: (bucket: string) => ObjectStore;
}

export async function perform(
  deps: RunDeps,
  record: RunRecord,
  effect: Exclude<Effect, { kind: 'delete-machine' }>,
): Promise<void> {
  switch (effect.kind) {
    case 'publish-look':
      await publishLook(deps, record);
      return;
    case 'provisioning-marker': {
      const attempt = record.attempts.at(-1);
      if (attempt === undefined) throw new Error(`run ${record.runId} has no attempt to mark`);
      await deps.store.write(
        markerObject(attempt.instance),
        provisioningMarker(record.runId, attempt),
        { ifGeneration: '0', contentType: JSON_TYPE },
      );
    }
  }
}

/** Sends the insert of an intent and gives its fact; `first` when no call of it was made before. */
export async function insertMachine(
  deps: RunDeps,
  creation: Creation,
  target: { readonly record: RunRecord; readonly attempt: Attempt; readonly intent: Intent },
  first: boolean,
): Promise<InsertFact> {
  const { record, attempt, intent } = target;
  const planned = planIntent({
    plan: creation.plan,
    settings: deps.settings.plan,
    scripts: creation.scripts,
    inputs: creation.inputs,
    attempt: attempt.number,
    intent: intent.number,
    nonce: attempt.nonce,
    candidate: intent.candidate,
    createdSeconds: intent.createdSeconds,
    pinnedImage: pinnedImage(record),
    traceparent: record.terms.traceparent ?? null,
  });
  const { zone } = intent.candidate;
  const reply = await deps.compute.insertInstance(zone, intent.requestId, planned.body);
  const fact = insertFact(reply, first);
  deps.log('INFO', 'insert-sent', `${attempt.instance} in ${zone}: ${reply.kind}`, {
    runId: record.runId,
    attempt: attempt.number,
    intent: intent.number,
    zone,
    machineType: intent.candidate.machineType,
    provisioningModel: intent.candidate.provisioningModel,
    ttlSeconds: record.terms.ttlSeconds,
    reply: reply.kind,
    code: 'error' in fact ? fact.error.code : null,
  });
  return fact;
}

/** Later attempts run the very image that the first one pulled. */
function pinnedImage(record: RunRecord): string | null {
  const pulled = record.attempts.find((attempt) => attempt.facts?.imageDigest);
  return pulled?.facts?.imageDigest ?? null;
}

function insertFact(reply: InsertReply, first: boolean): InsertFact {
  switch (reply.kind) {
    case 'accepted': {
      const { name, targetId } = reply.operation;
      return { kind: 'accepted', operation: name, instanceId: targetId };
    }
    case 'refused':
      return { kind: 'refused', definite: first, error: reply.error };
    case 'conflict':
      return { kind: 'conflict' };
    case 'rate-limited':
      return { kind: 'rate-limited', error: reply.error };
    case 'unknown':
      return { kind: 'unknown', error: detailOf(reply.error) };
  }
}

const detailOf = (error: { code: string; message: string }): ApiErrorDetail => ({
  code: error.code,
  message: error.message,
  details: {},
});

/** Deletes a machine by name; an answer that is not known yet is the next pass's. */
export async function deleteMachine(
  deps: RunDeps,
  runId: string | null,
  instance: string,
  zone: string,
): Promise<DeleteInstanceReply> {
  const requestId = deleteRequestId(deps.settings.plan.deployment, deps.entropy.nonce());
  const reply = await deps.compute.deleteInstance(zone, instance, requestId);
  const severity = reply.kind === 'unknown' ? 'WARNING' : 'INFO';
  const why = reply.kind === 'unknown' ? `: ${reply.error.code} ${reply.error.message}` : '';
  deps.log(severity, 'delete-sent', `${instance} in ${zone}: ${reply.kind}${why}`, { runId, zone });
  return reply;
}

export async function publishLook(
  deps: RunDeps,
  record: Pick<RunRecord, 'runId'> & { readonly attempts?: readonly Attempt[] },
): Promise<void> {
  const intent = record.attempts?.at(-1)?.intentCount ?? 0;
  const topic = topicOf(deps.settings.plan.deployment, 'run-requests');
  await deps.publisher.publish(topic, JSON.stringify({ look: record.runId, intent }));
}

/** Writes the result and its place in the index by time; whoever came first has written the same. */
export async function finish(deps: RunDeps, record: RunRecord): Promise<void> {
  const { project, fullLog } = deps.settings.plan;
  const result = buildResult(record, { project, fullLog });
  const options = { ifGeneration: '0', contentType: JSON_TYPE };
  const endedAt = result.phases.endedAt ?? '';
  const [written] = await Promise.all([
    deps.store.write(resultObject(record.runId), JSON.stringify(result), options),
    deps.store.write(endedObject(endedAt, record.runId), '', {
      ...options,
      metadata: endedMetadata(result),
    }),
  ]);
  if (written.kind !== 'written') return;
  const last = result.attempts.at(-1);
  deps.log('NOTICE', 'run-ended', `${record.runId}: ${result.status} (${result.cause})`, {
    runId: record.runId,
    status: result.status,
    cause: result.cause,
    runtime: result.runtime,
    machineType: last?.machineType ?? null,
    region: last?.region ?? null,
    provisioningModel: last?.provisioningModel ?? null,
    attempts: record.attempts.length,
    seconds: result.seconds,
    costUsd: result.costUsd,
    wasteSeconds: result.wasteSeconds,
  });
}

/** Removes the active entry: nothing of the run is left. */
export async function forget(deps: RunDeps, record: RunRecord): Promise<void> {
  await deps.store.delete(activeObject(record.runId));
}
