// jobs.run: judges the overrides, counts the call against the quota, and makes an execution whose name
// the platform chooses. There is no idempotency key: each accepted call makes one.
// Source: the REST reference of projects.locations.jobs.run, the message of Cloud Run's quotas, and "Cloud
// Run IAM permissions" for the two rights.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  copyJson,
  durationMs,
  type JsonObject,
} from '#scripts/local-cloud/json.ts';
import { jobNameOf, noSuch, timeoutFault } from '#scripts/local-cloud/run/jobs.ts';
import { operationResource } from '#scripts/local-cloud/run/resources.ts';
import {
  containerOf,
  type ExecutionState,
  hasGpu,
  type JobState,
  type PlantedStart,
  placeName,
  type TaskState,
} from '#scripts/local-cloud/run/state.ts';

const TASKS_MAX = 10_000;
const VARIABLES_MAX = 1000;
const VALUE_BYTES_MAX = 32 * 1024;
const RETRIES_DEFAULT = 3;
const TASK_TIMEOUT_DEFAULT = '600s';
const SUFFIX_SIGNS = 'bcdfghjklmnpqrstvwxz2456789';
const MINUTE_MS = 60_000;
const OWNER = 'owner@local';

function runJob(context: Context, call: Call): Reply {
  const { run } = context.world;
  const name = jobNameOf(call);
  const { overrides } = asObject(call.body);
  const rights = overrides === undefined ? ['run'] : ['run', 'runWithOverrides'];
  for (const right of rights) {
    const refusal = denied(context, call.principal, `run.jobs.${right}`, name);
    if (refusal !== null) {
      return refusal;
    }
  }
  const job = run.jobs.get(name);
  if (job === undefined) {
    return noSuch(name);
  }
  const fault = bodyFault(asObject(call.body)) ?? overridesFault(job, asObject(overrides));
  if (fault !== null) {
    return refuseRpc(400, fault);
  }
  const refusal = spendQuota(context, job);
  return (
    refusal ??
    ok(operationResource(makeExecution(context, job, asObject(overrides), call.principal)))
  );
}

const unknownField = (fields: JsonObject, known: readonly string[], at: string) => {
  const field = Object.keys(fields).find((name) => !known.includes(name));
  return field === undefined ? null : `Invalid JSON payload received. Unknown name "${field}"${at}`;
};

const bodyFault = (body: JsonObject) => unknownField(body, ['overrides'], ': Cannot find field.');

/** Environment, number of tasks and time-out may be another; nothing else. */
function overridesFault(job: JobState, overrides: JsonObject): string | null {
  const { containerOverrides, taskCount, timeout } = overrides;
  const containers = asArray(containerOverrides).map(asObject);
  const known = ['containerOverrides', 'taskCount', 'timeout'];
  const count = asNumber(taskCount);
  const gpu = hasGpu(containerOf(taskTemplate(job)));
  if (containers.length > 1) {
    return 'overrides.container_overrides: the Job has one container.';
  }
  if (taskCount !== undefined && !(Number.isInteger(count) && count && count <= TASKS_MAX)) {
    return `overrides.task_count: must be between 1 and ${TASKS_MAX}, got ${taskCount}.`;
  }
  const late = timeout === undefined ? null : timeoutFault(timeout, gpu);
  return (
    unknownField(overrides, known, " at 'overrides'") ??
    (late === null ? null : `overrides.${late}`) ??
    variablesFault(containers[0] ?? {})
  );
}

function variablesFault(container: JsonObject): string | null {
  const env = asArray(container.env).map(asObject);
  const at = 'overrides.container_overrides[0]';
  const wrong = env.find(
    ({ name, value, ...rest }) =>
      !/^[A-Za-z_][A-Za-z0-9_]*$/.test(asString(name) ?? '') ||
      (value !== undefined && typeof value !== 'string') ||
      Buffer.byteLength(String(value ?? '')) > VALUE_BYTES_MAX ||
      Object.keys(rest).length > 0,
  );
  if (wrong !== undefined) {
    return `${at}.env: invalid variable ${JSON.stringify(wrong).slice(0, 200)}.`;
  }
  return env.length > VARIABLES_MAX
    ? `${at}.env: at most ${VARIABLES_MAX} variables.`
    : unknownField(container, ['env'], ` at '${at}'`);
}

/** 429 when as many executions as a minute allows have been started within the last one. */
function spendQuota({ world, nowMs }: Context, { project, region }: JobState): Reply | null {
  const place = placeName(project, region);
  const limit = world.options.run.runsPerMinute;
  const recent = (world.run.startsMs.get(place) ?? []).filter((ms) => nowMs - ms < MINUTE_MS);
  if (recent.length < limit) {
    world.run.startsMs.set(place, [...recent, nowMs]);
    return null;
  }
  return quotaRefusal(world.options.compute.projectNumber, region, limit);
}

const METRIC = 'Job run requests';

export function quotaRefusal(projectNumber: string, region: string, limit: number): Reply {
  const consumer = `project_number:${projectNumber}`;
  const message = `Quota exceeded for quota metric '${METRIC}' and limit '${METRIC} per minute per region' of service 'run.googleapis.com' for consumer '${consumer}'.`;
  const refusal = refuseRpc(429, message);
  const detail = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'RATE_LIMIT_EXCEEDED',
    domain: 'googleapis.com',
    metadata: {
      service: 'run.googleapis.com',
      consumer: `projects/${projectNumber}`,
      quota_limit_value: String(limit),
      quota_location: region,
    },
  };
  return { ...refusal, body: { error: { ...asObject(refusal.body?.error), details: [detail] } } };
}

const taskTemplate = ({ body }: JobState) => asObject(asObject(body.template).template);

/** The variables of an override replace those of the same name, and stand beside the others. */
function mergedTemplate(job: JobState, overrides: JsonObject): JsonObject {
  const template = copyJson(taskTemplate(job));
  const [first, ...others] = asArray(template.containers).map(asObject);
  const [override] = asArray(overrides.containerOverrides).map(asObject);
  const added = asArray(copyJson(asObject(override).env)).map(asObject);
  const names = new Set(added.map(({ name }) => name));
  const kept = asArray(first?.env)
    .map(asObject)
    .filter(({ name }) => !names.has(name));
  return {
    ...template,
    containers: [{ ...first, env: [...kept, ...added] }, ...others],
    timeout: overrides.timeout ?? template.timeout ?? TASK_TIMEOUT_DEFAULT,
  };
}

function makeExecution(
  context: Context,
  job: JobState,
  overrides: JsonObject,
  principal: string | null,
): ExecutionState {
  const { world, nowMs } = context;
  const template = mergedTemplate(job, overrides);
  const spec = asObject(job.body.template);
  const taskCount = asNumber(overrides.taskCount) ?? asNumber(spec.taskCount) ?? 1;
  const planted = takePlanted(context, job);
  const shortName = freeName(context, job);
  const execution: ExecutionState = {
    name: `${job.name}/executions/${shortName}`,
    shortName,
    job,
    uid: world.random.uuid(),
    operation: `${placeName(job.project, job.region)}/operations/${world.random.uuid()}`,
    creator: principal ?? OWNER,
    createdMs: nowMs,
    template,
    taskCount,
    parallelism: Math.min(asNumber(spec.parallelism) ?? 0, taskCount),
    timeoutMs: durationMs(template.timeout) ?? 0,
    retriesMax: asNumber(template.maxRetries) ?? RETRIES_DEFAULT,
    tasks: Array.from({ length: taskCount }, (_, index) => freshTask(index)),
    nextTask: 0,
    overCount: 0,
    startedMs: null,
    completedMs: null,
    cancelledMs: null,
    deletedMs: null,
    stuck: planted?.stuck ?? null,
    retried: 0,
  };
  world.run.executions.set(execution.name, execution);
  world.run.operations.set(execution.operation, execution.name);
  job.executions.push(execution.name);
  planStart(context, execution, planted);
  return execution;
}

function planStart(
  { world, nowMs }: Context,
  { name, stuck }: ExecutionState,
  planted: PlantedStart | null,
): void {
  if (stuck === null || planted?.fails === true) {
    const startMs = nowMs + world.options.run.startMs + (planted?.delayMs ?? 0);
    world.timers.add(startMs, { kind: 'execution-start', execution: name });
  }
}

function freshTask(index: number): TaskState {
  return {
    index,
    attempt: 0,
    status: 'pending',
    order: null,
    startedMs: null,
    completedMs: null,
    result: null,
  };
}

function freeName({ world }: Context, job: JobState): string {
  for (;;) {
    const name = `${job.shortName}-${world.random.text(5, SUFFIX_SIGNS)}`;
    if (!world.run.executions.has(`${job.name}/executions/${name}`)) {
      return name;
    }
  }
}

function takePlanted({ world }: Context, job: JobState): PlantedStart | null {
  const found = world.run.planted.find(
    ({ start, used }) =>
      used < start.times &&
      (start.match.job ?? job.shortName) === job.shortName &&
      (start.match.region ?? job.region) === job.region,
  );
  if (found === undefined) {
    return null;
  }
  found.used += 1;
  return found.start;
}

export const startMethods: Methods = { 'run.projects.locations.jobs.run': runJob };
