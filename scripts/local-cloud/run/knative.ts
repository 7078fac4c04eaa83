// Executions in the v1 shape (Knative): what gcloud reads, and what audit entries carry.
import {
  asObject,
  asString,
  copyJson,
  type JsonObject,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import {
  type Condition,
  type ConditionState,
  countsOf,
  executionConditions,
  taskConditions,
} from '#scripts/local-cloud/run/conditions.ts';
import type { ExecutionState, JobState, TaskState } from '#scripts/local-cloud/run/state.ts';

const API_VERSION = 'run.googleapis.com/v1';
/** Of google.rpc.Code. */
const ABORTED = 10;
const JOB_LABEL = 'run.googleapis.com/job';

const STATUSES: Readonly<Record<ConditionState, string>> = {
  PENDING: 'Unknown',
  RECONCILING: 'Unknown',
  SUCCEEDED: 'True',
  FAILED: 'False',
};

/** NON_ZERO_EXIT_CODE → NonZeroExitCode. */
const camelCase = (word: string) =>
  word.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

function conditionOf({ type, state, message, executionReason, atMs }: Condition): JsonObject {
  return {
    type,
    status: STATUSES[state],
    ...(message === '' ? {} : { message }),
    ...(executionReason === null ? {} : { reason: camelCase(executionReason) }),
    lastTransitionTime: timestamp(atMs),
  };
}

function metadataOf(execution: ExecutionState): JsonObject {
  const { shortName, uid, job, createdMs, creator } = execution;
  return {
    name: shortName,
    namespace: job.project,
    selfLink: `/apis/${API_VERSION}/namespaces/${job.project}/executions/${shortName}`,
    uid,
    generation: 1,
    creationTimestamp: timestamp(createdMs),
    labels: { [JOB_LABEL]: job.shortName, 'cloud.googleapis.com/location': job.region },
    annotations: { 'run.googleapis.com/creator': creator },
    ownerReferences: [{ apiVersion: API_VERSION, kind: 'Job', name: job.shortName, uid: job.uid }],
  };
}

function statusOf(execution: ExecutionState): JsonObject {
  const { startedMs, completedMs } = execution;
  const counts = Object.entries({ ...countsOf(execution), retried: execution.retried })
    .filter(([name, count]) => name !== 'pending' && count > 0)
    .map(([name, count]) => [`${name}Count`, count] as const);
  return {
    observedGeneration: 1,
    conditions: executionConditions(execution).map(conditionOf),
    ...(startedMs === null ? {} : { startTime: timestamp(startedMs) }),
    ...(completedMs === null ? {} : { completionTime: timestamp(completedMs) }),
    ...Object.fromEntries(counts),
  };
}

/** What a task is made of: of the execution, of its tasks, of the Job. */
function taskSpec({ template, timeoutMs, retriesMax }: ExecutionState): JsonObject {
  return {
    containers: copyJson(template.containers),
    maxRetries: retriesMax,
    timeoutSeconds: String(timeoutMs / 1000),
    ...(template.serviceAccount === undefined
      ? {}
      : { serviceAccountName: template.serviceAccount }),
  };
}

export function knativeExecution(execution: ExecutionState): JsonObject {
  const { parallelism, taskCount } = execution;
  return {
    apiVersion: API_VERSION,
    kind: 'Execution',
    metadata: metadataOf(execution),
    spec: {
      ...(parallelism === 0 ? {} : { parallelism }),
      taskCount,
      template: { spec: taskSpec(execution) },
    },
    status: statusOf(execution),
  };
}

export function knativeTask(execution: ExecutionState, task: TaskState): JsonObject {
  const { shortName, job, createdMs } = execution;
  const { startedMs, completedMs, result } = task;
  const { exitCode = null, termSignal = null, message = '' } = result ?? {};
  const attempt = {
    ...(message === '' ? {} : { status: { code: ABORTED, message } }),
    ...(exitCode === null ? {} : { exitCode }),
    ...(termSignal === null ? {} : { termSignal }),
  };
  return {
    apiVersion: API_VERSION,
    kind: 'Task',
    metadata: {
      name: `${shortName}-task${task.index}`,
      namespace: job.project,
      uid: `${execution.uid}-${task.index}`,
      generation: 1,
      creationTimestamp: timestamp(createdMs),
      labels: {
        [JOB_LABEL]: job.shortName,
        'run.googleapis.com/execution': shortName,
        'cloud.googleapis.com/location': job.region,
      },
    },
    spec: taskSpec(execution),
    status: {
      observedGeneration: 1,
      index: task.index,
      conditions: taskConditions(execution, task).map(conditionOf),
      ...(startedMs === null ? {} : { startTime: timestamp(startedMs) }),
      ...(completedMs === null ? {} : { completionTime: timestamp(completedMs) }),
      ...(result === null ? {} : { lastAttemptResult: attempt }),
    },
  };
}

export function knativeJob(job: JobState): JsonObject {
  const { shortName, project, region, uid, createdMs } = job;
  const spec = asObject(job.body.template);
  const { containers, maxRetries, timeout, serviceAccount } = asObject(spec.template);
  const template = copyJson({
    containers,
    maxRetries,
    timeoutSeconds: String(asString(timeout) ?? '600s').replace(/s$/, ''),
    serviceAccountName: serviceAccount,
  });
  return {
    apiVersion: API_VERSION,
    kind: 'Job',
    metadata: {
      name: shortName,
      namespace: project,
      uid,
      generation: 1,
      creationTimestamp: timestamp(createdMs),
      labels: { 'cloud.googleapis.com/location': region },
    },
    spec: {
      template: {
        metadata: {},
        spec: { taskCount: Number(spec.taskCount ?? 1), template: { spec: template } },
      },
    },
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(createdMs) }],
      executionCount: job.executions.length,
    },
  };
}
