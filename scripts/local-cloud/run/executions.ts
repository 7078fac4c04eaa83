// Executions, tasks and operations of the Cloud Run Admin API (v2). Source of each method's right: "Cloud Run
// IAM permissions".
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { jobNameOf, noSuch } from '#scripts/local-cloud/run/jobs.ts';
import { cancelExecution, removeExecution } from '#scripts/local-cloud/run/lifecycle.ts';
import { pageReply } from '#scripts/local-cloud/run/paging.ts';
import {
  executionResource,
  operationResource,
  taskResource,
} from '#scripts/local-cloud/run/resources.ts';
import { type ExecutionState, placeName } from '#scripts/local-cloud/run/state.ts';

const nameOf = (call: Call) => `${jobNameOf(call)}/executions/${call.params.execution}`;

/** The execution that a call names, if it may be touched. */
function find(
  context: Context,
  call: Call,
  permission: string,
): { readonly execution: ExecutionState } | { readonly refusal: Reply } {
  const name = nameOf(call);
  const refusal = denied(context, call.principal, permission, name);
  const execution = context.world.run.executions.get(name);
  if (refusal !== null) {
    return { refusal };
  }
  return execution === undefined || execution.deletedMs !== null
    ? { refusal: noSuch(name) }
    : { execution };
}

function onExecution(
  permission: string,
  act: (context: Context, execution: ExecutionState, call: Call) => Reply,
) {
  return (context: Context, call: Call): Reply => {
    const found = find(context, call, permission);
    return 'refusal' in found ? found.refusal : act(context, found.execution, call);
  };
}

/** By the instant of creation, then by name: what `pageToken` counts in. */
const orderKey = ({ createdMs, name }: ExecutionState) =>
  `${String(createdMs).padStart(16, '0')} ${name}`;

/** Those that a list shows, newest first; `-` takes all Jobs of the region. */
export function visible(context: Context, belongs: (execution: ExecutionState) => boolean) {
  const { run, options } = context.world;
  return [...run.executions.values()]
    .filter(
      (execution) =>
        belongs(execution) &&
        execution.deletedMs === null &&
        context.nowMs - execution.createdMs >= options.run.listLagMs,
    )
    .sort((left, right) => (orderKey(left) > orderKey(right) ? -1 : 1));
}

function listExecutions(context: Context, call: Call): Reply {
  const { project = '', location = '', job } = call.params;
  const jobName = jobNameOf(call);
  const place = placeName(project, location);
  const refusal = denied(context, call.principal, 'run.executions.list', jobName);
  if (refusal !== null) {
    return refusal;
  }
  if (job !== '-' && !context.world.run.jobs.has(jobName)) {
    return noSuch(jobName);
  }
  const prefix = job === '-' ? `${place}/` : `${jobName}/`;
  return pageReply(call, {
    field: 'executions',
    items: visible(context, ({ name }) => name.startsWith(prefix)),
    keyOf: orderKey,
    before: (left, right) => left > right,
    show: executionResource,
  });
}

const taskKey = (index: number) => String(index).padStart(8, '0');

const listTasks = onExecution('run.tasks.list', (_, execution, call) =>
  pageReply(call, {
    field: 'tasks',
    items: execution.tasks,
    keyOf: ({ index }) => taskKey(index),
    before: (left, right) => left < right,
    show: (task) => taskResource(execution, task),
  }),
);

export function cancelled(context: Context, execution: ExecutionState): Reply {
  if (execution.completedMs !== null) {
    const message = `Execution ${execution.shortName} has already completed.`;
    return refuseRpc(400, message, 'FAILED_PRECONDITION');
  }
  if (execution.cancelledMs === null) {
    cancelExecution(context, execution);
  }
  return ok(operationResource(execution));
}

const cancel = onExecution('run.executions.cancel', cancelled);

const remove = onExecution('run.executions.delete', (context, execution) => {
  removeExecution(context, execution);
  return ok(operationResource(execution));
});

function getOperation(context: Context, call: Call): Reply {
  const { project = '', location = '', operation } = call.params;
  const name = `${placeName(project, location)}/operations/${operation}`;
  const refusal = denied(context, call.principal, 'run.operations.get', name);
  const { operations, executions } = context.world.run;
  const execution = executions.get(operations.get(name) ?? '');
  return refusal ?? (execution === undefined ? noSuch(name) : ok(operationResource(execution)));
}

export const executionMethods: Methods = {
  'run.projects.locations.jobs.executions.get': onExecution('run.executions.get', (_, execution) =>
    ok(executionResource(execution)),
  ),
  'run.projects.locations.jobs.executions.list': listExecutions,
  'run.projects.locations.jobs.executions.cancel': cancel,
  'run.projects.locations.jobs.executions.delete': remove,
  'run.projects.locations.jobs.executions.tasks.list': listTasks,
  'run.projects.locations.operations.get': getOperation,
};
