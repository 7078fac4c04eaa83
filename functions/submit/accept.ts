// A request's way into the bucket, and the continuation of a run from its record. Accepted means that
// `request.json` exists; from then on any delivery can go on where another one stopped.
import { missingBuckets } from '#functions/submit/buckets.ts';
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { keepInputs, type ResolvedInputs, resolveInputs } from '#functions/submit/inputs.ts';
import { offersOf } from '#functions/submit/offers.ts';
import { reject, type Told } from '#functions/submit/refuse.ts';
import { sameJson } from '#functions/submit/same-json.ts';
import { decideUnplannable } from '#shared/lifecycle/decide-refused.ts';
import { RECORD_SCHEMA, type RunRecord } from '#shared/lifecycle/record.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import type { Fault, ResolvedInput, RunPlan, RunRequest } from '#shared/plan/model.ts';
import { activeObject, requestObject, resultObject } from '#shared/plan/objects.ts';
import { planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';
import type { Traceparent } from '#shared/plan/trace-context.ts';
import { advance } from '#shared/runs/advance.ts';
import { topicOf } from '#shared/runs/deps.ts';
import { type LoadedRecord, loadRecord } from '#shared/runs/record-store.ts';

/** New work is not started after this much of a delivery; far below the 600 s of its deadline. */
export const DELIVERY_BUDGET_MS = 240_000;

const JSON_TYPE = 'application/json';

type Judged =
  | { readonly kind: 'planned'; readonly plan: RunPlan }
  | { readonly kind: 'invalid'; readonly runId: string | null; readonly faults: readonly Fault[] };

/** A request: refused with its faults, or stored once and taken as far as it goes now. */
export async function acceptRequest(
  deps: SubmitDeps,
  value: Readonly<Record<string, unknown>>,
  told: Told,
): Promise<void> {
  const judged = await judge(deps, value, `run-${told.messageId}`);
  if (judged.kind === 'invalid') return await reject(deps, { ...judged, ...told });
  const { request } = judged.plan;
  const { runId } = request;
  const missing = await missingBuckets(deps, request);
  if (missing.length > 0 && !(await isStored(deps, runId))) {
    return await reject(deps, { runId, ...told, faults: missing });
  }
  const resolved = await resolveInputs(deps, request);
  if (resolved.kind === 'invalid' && !(await isStored(deps, runId))) {
    return await reject(deps, { runId, ...told, faults: resolved.faults });
  }
  const stored = await storeRequest(deps, runId, value);
  if (stored === 'conflict') return await rejectConflict(deps, runId, told);
  const loaded = stored === 'known' ? await loadRecord(deps.store, runId) : null;
  if (loaded !== null && isFinal(loaded.record.state)) return await tellAgain(deps, loaded.record);
  await begin(deps, judged.plan, loaded, resolved, told.traceparent);
}

async function isStored(deps: SubmitDeps, runId: string): Promise<boolean> {
  return (await deps.store.read(requestObject(runId))).kind === 'found';
}

/** A look, or a repeat: continues a run from its stored request and its record. */
export async function continueRun(deps: SubmitDeps, runId: string): Promise<void> {
  const stored = await deps.store.read(requestObject(runId));
  if (stored.kind === 'absent') {
    deps.log('INFO', 'look-without-request', `${runId}: no request is stored`, { runId });
    return;
  }
  const loaded = await loadRecord(deps.store, runId);
  if (loaded !== null && isFinal(loaded.record.state)) return;
  const value = JSON.parse(new TextDecoder().decode(stored.bytes));
  const judged = await judge(deps, value, runId);
  if (judged.kind === 'invalid') {
    return await endUnplannable(deps, runId, judged.faults, loaded);
  }
  await begin(deps, judged.plan, loaded, await resolveInputs(deps, judged.plan.request));
}

async function judge(deps: SubmitDeps, value: unknown, defaultRunId: string): Promise<Judged> {
  const settings = deps.settings.plan;
  const parsed = parseRequest(value, { defaultRunId, settings });
  if (parsed.kind === 'invalid') return parsed;
  const { runId } = parsed.request;
  const planned = planRun(parsed.request, settings, await offersOf(deps, parsed.request));
  return planned.kind === 'invalid' ? { kind: 'invalid', runId, faults: planned.faults } : planned;
}

async function storeRequest(
  deps: SubmitDeps,
  runId: string,
  value: unknown,
): Promise<'new' | 'known' | 'conflict'> {
  const reply = await deps.store.write(requestObject(runId), JSON.stringify(value), {
    ifGeneration: '0',
    contentType: JSON_TYPE,
  });
  if (reply.kind === 'written') return 'new';
  const stored = await deps.store.read(requestObject(runId));
  if (stored.kind === 'absent') return 'conflict';
  const known: unknown = JSON.parse(new TextDecoder().decode(stored.bytes));
  return sameJson(known, value) ? 'known' : 'conflict';
}

async function rejectConflict(deps: SubmitDeps, runId: string, told: Told): Promise<void> {
  const rule = 'a run of this id was asked for with other content';
  const accepted = 'the very same request, or an id that is not taken';
  const faults = [{ field: 'runId', value: JSON.stringify(runId), rule, accepted }];
  await reject(deps, { runId, ...told, faults, cause: 'conflict' });
}

/** The run has ended: its result is announced once more, in the bucket notification's shape. */
async function tellAgain(deps: SubmitDeps, record: RunRecord): Promise<void> {
  const { bucket, deployment } = deps.settings.plan;
  await deps.publisher.publish(topicOf(deployment, 'run-results'), '', {
    bucketId: bucket,
    eventType: 'OBJECT_FINALIZE',
    objectId: resultObject(record.runId),
  });
}

/** Active entry and inputs before the record, the record before the first call. */
async function begin(
  deps: SubmitDeps,
  plan: RunPlan,
  loaded: LoadedRecord | null,
  resolved: ResolvedInputs,
  traceparent: Traceparent | null = null,
): Promise<void> {
  const { request } = plan;
  if (resolved.kind === 'invalid') {
    return await endUnplannable(deps, request.runId, resolved.faults, loaded, request);
  }
  const [inputs] = await Promise.all([
    keepInputs(deps, request.runId, resolved),
    loaded === null ? markActive(deps, request.runId) : undefined,
  ]);
  await place(deps, plan, inputs, loaded ?? unwritten(deps, request, traceparent));
}

export async function markActive(deps: SubmitDeps, runId: string): Promise<void> {
  await deps.store.write(activeObject(runId), '', { ifGeneration: '0' });
}

async function place(
  deps: SubmitDeps,
  plan: RunPlan,
  inputs: readonly ResolvedInput[],
  loaded: LoadedRecord,
): Promise<void> {
  const untilMs = deps.clock.nowMs() + DELIVERY_BUDGET_MS;
  const creator = { plan, scripts: deps.scripts, inputs, openBucket: deps.openBucket, untilMs };
  await advance(deps, loaded, { depth: 'full', creator });
}

/** The record as it begins; it is written together with its first intent. */
function unwritten(
  deps: SubmitDeps,
  request: RunRequest,
  traceparent: Traceparent | null,
): LoadedRecord {
  const terms = { ...termsOf(request), ...(traceparent === null ? {} : { traceparent }) };
  return { record: newRecord(deps, request.runId, terms, request.runtime), generation: '0' };
}

export function newRecord(
  deps: Pick<SubmitDeps, 'clock' | 'entropy'>,
  runId: string,
  terms: RunRecord['terms'],
  runtime: RunRecord['runtime'] = 'gce',
): RunRecord {
  const nowMs = deps.clock.nowMs();
  return {
    schema: RECORD_SCHEMA,
    runId,
    runtime,
    state: 'ACCEPTED',
    writer: '',
    acceptedMs: nowMs,
    changedMs: nowMs,
    dueMs: nowMs,
    terms,
    used: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0, abandoned: 0 },
    attempts: [],
    places: [],
    placesCount: 0,
    cancel: null,
    end: null,
    history: [{ state: 'ACCEPTED', attempt: 0, atMs: nowMs }],
  };
}

function termsOf(request: RunRequest): RunRecord['terms'] {
  const { retry, ttlSeconds, waitForCapacitySeconds, keepOnFailureSeconds } = request;
  const { budgetUsd, labels, annotations, tasks } = request;
  return {
    retry,
    ttlSeconds,
    waitForCapacitySeconds,
    keepOnFailureSeconds,
    budgetUsd,
    labels,
    annotations,
    ...(tasks === 1 ? {} : { tasks }),
  };
}

/** A run that is ended before its request was understood. */
export const NO_TERMS: RunRecord['terms'] = {
  retry: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 },
  ttlSeconds: 0,
  waitForCapacitySeconds: 0,
  keepOnFailureSeconds: 0,
  budgetUsd: null,
  labels: {},
  annotations: {},
};

/** An accepted request that cannot be planned: an input that is gone, settings that changed since. */
async function endUnplannable(
  deps: SubmitDeps,
  runId: string,
  faults: readonly Fault[],
  loaded: LoadedRecord | null,
  request: RunRequest | null = null,
): Promise<void> {
  const detail = faults.map(({ field, value, rule }) => `${field} is ${value}: ${rule}`).join('; ');
  deps.log('ERROR', 'unplannable', `${runId}: ${detail}`, { runId });
  const terms = request === null ? NO_TERMS : termsOf(request);
  const fresh = newRecord(deps, runId, terms, request?.runtime);
  const begun = loaded ?? { record: fresh, generation: '0' };
  if (loaded === null) await markActive(deps, runId);
  await advance(deps, begun, {
    depth: 'full',
    before: (record, seen, context) => decideUnplannable(record, seen, context, detail),
  });
}
