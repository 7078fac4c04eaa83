// Jobs, executions, tasks and operations as the v2 API shows them. As in all JSON of Google's APIs a
// number that is 0, a text that is empty and a condition that is false are left out.
import { copyJson, type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import {
  conditionResource,
  countsOf,
  executionConditions,
  taskConditions,
} from '#scripts/local-cloud/run/conditions.ts';
import type { ExecutionState, JobState, TaskState } from '#scripts/local-cloud/run/state.ts';

const TYPE = 'type.googleapis.com/google.cloud.run.v2.Execution';

/** Fields that have a value. */
function present(fields: JsonObject): JsonObject {
  const entries = Object.entries(fields).filter(
    ([, value]) => value !== 0 && value !== '' && value !== false && value !== null,
  );
  return Object.fromEntries(entries);
}

const instant = (epochMs: number | null) => (epochMs === null ? null : timestamp(epochMs));

export function jobResource(job: JobState): JsonObject {
  const { name, uid, body, createdMs } = job;
  return {
    ...copyJson(body),
    name,
    uid,
    generation: '1',
    createTime: timestamp(createdMs),
    updateTime: timestamp(createdMs),
    launchStage: 'GA',
    observedGeneration: '1',
    terminalCondition: {
      type: 'Ready',
      state: 'CONDITION_SUCCEEDED',
      lastTransitionTime: timestamp(createdMs),
    },
    etag: `"${uid}"`,
  };
}

export function executionResource(execution: ExecutionState): JsonObject {
  const { name, uid, creator, job, createdMs, startedMs, completedMs, deletedMs } = execution;
  const { running, succeeded, failed, cancelled } = countsOf(execution);
  const { project, region, shortName } = job;
  return present({
    name,
    uid,
    creator,
    generation: '1',
    createTime: timestamp(createdMs),
    startTime: instant(startedMs),
    completionTime: instant(completedMs),
    deleteTime: instant(deletedMs),
    updateTime: timestamp(completedMs ?? startedMs ?? createdMs),
    launchStage: 'GA',
    job: shortName,
    parallelism: execution.parallelism,
    taskCount: execution.taskCount,
    template: copyJson(execution.template),
    reconciling: completedMs === null,
    conditions: executionConditions(execution).map(conditionResource),
    observedGeneration: '1',
    runningCount: running,
    succeededCount: succeeded,
    failedCount: failed,
    cancelledCount: cancelled,
    retriedCount: execution.retried,
    logUri: `https://console.cloud.google.com/run/jobs/executions/details/${region}/${execution.shortName}?project=${project}`,
    etag: `"${uid}"`,
  });
}

/** google.rpc.Code: ABORTED, where an attempt failed. */
const ABORTED = 10;

function attemptResource({ result }: TaskState): JsonObject | null {
  if (result === null) {
    return null;
  }
  const { exitCode, termSignal, message } = result;
  const status = message === '' ? {} : { code: ABORTED, message };
  return { status, ...present({ exitCode, termSignal }) };
}

export function taskResource(execution: ExecutionState, task: TaskState): JsonObject {
  const { template, shortName, job, createdMs } = execution;
  return present({
    name: `${execution.name}/tasks/${shortName}-task${task.index}`,
    uid: `${execution.uid}-${task.index}`,
    generation: '1',
    createTime: timestamp(createdMs),
    scheduledTime: instant(execution.startedMs),
    startTime: instant(task.startedMs),
    completionTime: instant(task.completedMs),
    updateTime: timestamp(task.completedMs ?? task.startedMs ?? createdMs),
    job: job.shortName,
    execution: shortName,
    containers: copyJson(template.containers),
    maxRetries: execution.retriesMax,
    timeout: `${execution.timeoutMs / 1000}s`,
    serviceAccount: template.serviceAccount ?? null,
    reconciling: task.completedMs === null,
    conditions: taskConditions(execution, task).map(conditionResource),
    observedGeneration: '1',
    index: task.index,
    retried: task.attempt,
    lastAttemptResult: attemptResource(task),
  });
}

/** Of `jobs.run`: its end is the execution's, whatever became of it. */
export function operationResource(execution: ExecutionState): JsonObject {
  const shown = { '@type': TYPE, ...executionResource(execution) };
  const done = execution.completedMs !== null;
  return {
    name: execution.operation,
    metadata: shown,
    ...(done ? { done, response: copyJson(shown) } : {}),
  };
}
