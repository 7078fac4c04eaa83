// The v1 paths of Cloud Run (Knative) that gcloud uses for executions: listed, shown, cancelled, deleted,
// their tasks and Jobs listed. They name no region; a call's `location` is that of the host, if any.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import { cancelled, visible } from '#scripts/local-cloud/run/executions.ts';
import { noSuch } from '#scripts/local-cloud/run/jobs.ts';
import { knativeExecution, knativeJob, knativeTask } from '#scripts/local-cloud/run/knative.ts';
import { removeExecution } from '#scripts/local-cloud/run/lifecycle.ts';
import type { ExecutionState, JobState } from '#scripts/local-cloud/run/state.ts';

const listOf = (kind: string, items: readonly JsonObject[]): Reply =>
  ok({ apiVersion: 'run.googleapis.com/v1', kind, metadata: {}, items });

/** The value that a `labelSelector` wants for that label, with or without blanks around `=`. */
function selected({ params }: Call, label: string): string | null {
  const terms = (params.labelSelector ?? '').split(',').map((term) => term.split('='));
  return terms.find(([name]) => name?.trim() === label)?.[1]?.trim() ?? null;
}

const isHere = ({ params }: Call, { project, region }: JobState) =>
  project === params.namespace && (params.location ?? region) === region;

function refusalOf(context: Context, call: Call, permission: string): Reply | null {
  return denied(context, call.principal, permission, `projects/${call.params.namespace}`);
}

function executionsOf(context: Context, call: Call): ExecutionState[] {
  const job = selected(call, 'run.googleapis.com/job');
  return visible(
    context,
    (execution) =>
      isHere(call, execution.job) && (job ?? execution.job.shortName) === execution.job.shortName,
  );
}

function onExecution(permission: string, act: (context: Context, one: ExecutionState) => Reply) {
  return (context: Context, call: Call): Reply => {
    const { namespace, execution: name } = call.params;
    const refusal = refusalOf(context, call, permission);
    const found = executionsOf(context, call).find(({ shortName }) => shortName === name);
    return (
      refusal ??
      (found === undefined
        ? noSuch(`namespaces/${namespace}/executions/${name}`)
        : act(context, found))
    );
  };
}

const listExecutions = (context: Context, call: Call) =>
  refusalOf(context, call, 'run.executions.list') ??
  listOf('ExecutionList', executionsOf(context, call).map(knativeExecution));

function listTasks(context: Context, call: Call): Reply {
  const wanted = selected(call, 'run.googleapis.com/execution');
  const executions = executionsOf(context, call).filter(
    ({ shortName }) => wanted === null || shortName === wanted,
  );
  const tasks = executions.flatMap((one) => one.tasks.map((task) => knativeTask(one, task)));
  return refusalOf(context, call, 'run.tasks.list') ?? listOf('TaskList', tasks);
}

const jobsOf = ({ world }: Context, call: Call) =>
  [...world.run.jobs.values()].filter((job) => isHere(call, job));

const listJobs = (context: Context, call: Call) =>
  refusalOf(context, call, 'run.jobs.list') ??
  listOf('JobList', jobsOf(context, call).map(knativeJob));

function getJob(context: Context, call: Call): Reply {
  const job = jobsOf(context, call).find(({ shortName }) => shortName === call.params.job);
  const refusal = refusalOf(context, call, 'run.jobs.get');
  return refusal ?? (job === undefined ? refuseRpc(404, 'No such Job.') : ok(knativeJob(job)));
}

const cancel = onExecution('run.executions.cancel', (context, execution) => {
  const reply = cancelled(context, execution);
  return reply.status === 200 ? ok(knativeExecution(execution)) : reply;
});

const remove = onExecution('run.executions.delete', (context, execution) => {
  removeExecution(context, execution);
  return ok({ apiVersion: 'v1', kind: 'Status', status: 'Success' });
});

export const namespaceMethods: Methods = {
  'run.namespaces.executions.list': listExecutions,
  'run.namespaces.executions.get': onExecution('run.executions.get', (_, execution) =>
    ok(knativeExecution(execution)),
  ),
  'run.namespaces.executions.cancel': cancel,
  'run.namespaces.executions.delete': remove,
  'run.namespaces.tasks.list': listTasks,
  'run.namespaces.jobs.list': listJobs,
  'run.namespaces.jobs.get': getJob,
};
