// What the outside hears about tasks: their begin with all that their container sees, the order to end,
// and the end that nobody can refuse.
import type { JobTask, JobTaskEvent } from '#scripts/local-cloud/call.ts';
import { asArray, asObject, asString, asStringMap } from '#scripts/local-cloud/json.ts';
import {
  containerOf,
  type ExecutionState,
  type TaskState,
  variablesOf,
} from '#scripts/local-cloud/run/state.ts';

function identityOf(execution: ExecutionState, task: TaskState): JobTask {
  const { project, region, shortName } = execution.job;
  return {
    execution: execution.name,
    task: task.index,
    attempt: task.attempt,
    executionName: execution.shortName,
    job: shortName,
    region,
    project,
  };
}

const texts = (value: unknown) => asArray(value).map(String);

export function startedEvent(execution: ExecutionState, task: TaskState): JobTaskEvent {
  const container = containerOf(execution.template);
  return {
    kind: 'task-started',
    ...identityOf(execution, task),
    image: asString(container.image) ?? '',
    command: texts(container.command),
    args: texts(container.args),
    env: {
      ...variablesOf(container),
      CLOUD_RUN_JOB: execution.job.shortName,
      CLOUD_RUN_EXECUTION: execution.shortName,
      CLOUD_RUN_TASK_INDEX: String(task.index),
      CLOUD_RUN_TASK_ATTEMPT: String(task.attempt),
      CLOUD_RUN_TASK_COUNT: String(execution.taskCount),
    },
    limits: asStringMap(asObject(container.resources).limits),
    principal: asString(execution.template.serviceAccount) ?? null,
  };
}

export function stoppingEvent(
  execution: ExecutionState,
  task: TaskState,
  killMs: number,
): JobTaskEvent {
  return { kind: 'task-stopping', ...identityOf(execution, task), killMs };
}

export function killedEvent(execution: ExecutionState, task: TaskState): JobTaskEvent {
  return { kind: 'task-killed', ...identityOf(execution, task) };
}
