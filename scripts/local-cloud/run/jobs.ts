// Jobs of the Cloud Run Admin API (v2): made, shown, listed, deleted.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, copyJson, durationMs } from '#scripts/local-cloud/json.ts';
import { removeExecution } from '#scripts/local-cloud/run/lifecycle.ts';
import { pageReply } from '#scripts/local-cloud/run/paging.ts';
import { jobResource } from '#scripts/local-cloud/run/resources.ts';
import { containerOf, hasGpu, type JobState, placeName } from '#scripts/local-cloud/run/state.ts';

const NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const TASK_SECONDS_MAX = 7 * 24 * 3600;
const GPU_TASK_SECONDS_MAX = 3600;

const placeOf = ({ params }: Call) => placeName(params.project ?? '', params.location ?? '');

export const jobNameOf = (call: Call) => `${placeOf(call)}/jobs/${call.params.job}`;

export const noSuch = (name: string) => refuseRpc(404, `Resource '${name}' was not found.`);

/** What is wrong with a task's time; null when nothing is. */
export function timeoutFault(timeout: unknown, gpu: boolean): string | null {
  const milliseconds = durationMs(timeout);
  const max = gpu ? GPU_TASK_SECONDS_MAX : TASK_SECONDS_MAX;
  return milliseconds === undefined || milliseconds <= 0 || milliseconds > max * 1000
    ? `timeout: must be more than 0 and at most ${max} seconds, got ${JSON.stringify(timeout)}.`
    : null;
}

function faultOf(jobId: string, body: unknown): string | null {
  const template = asObject(asObject(asObject(body).template).template);
  const container = containerOf(template);
  if (!NAME.test(jobId)) {
    return `job_id: must match ${NAME.source}, got '${jobId}'.`;
  }
  if (asString(container.image) === undefined) {
    return 'job.template.template.containers[0].image: must be set.';
  }
  return template.timeout === undefined ? null : timeoutFault(template.timeout, hasGpu(container));
}

function createJob(context: Context, call: Call): Reply {
  const { world, nowMs } = context;
  const { project = '', location: region = '', jobId = '' } = call.params;
  const name = `${placeOf(call)}/jobs/${jobId}`;
  const refusal = denied(context, call.principal, 'run.jobs.create', name);
  const fault = faultOf(jobId, call.body);
  if (refusal !== null) {
    return refusal;
  }
  if (fault !== null) {
    return refuseRpc(400, fault);
  }
  if (world.run.jobs.has(name)) {
    return refuseRpc(409, `Resource '${jobId}' already exists.`);
  }
  const job: JobState = {
    name,
    project,
    region,
    shortName: jobId,
    uid: world.random.uuid(),
    body: copyJson(asObject(call.body)),
    createdMs: nowMs,
    executions: [],
    ended: [],
  };
  world.run.jobs.set(name, job);
  return doneOperation(context, call, job);
}

/** Making and deleting a Job takes no time here: their operations are done when they are told. */
function doneOperation({ world }: Context, call: Call, job: JobState): Reply {
  const shown = { '@type': 'type.googleapis.com/google.cloud.run.v2.Job', ...jobResource(job) };
  const name = `${placeOf(call)}/operations/${world.random.uuid()}`;
  return ok({ name, metadata: shown, done: true, response: copyJson(shown) });
}

function getJob(context: Context, call: Call): Reply {
  const name = jobNameOf(call);
  const job = context.world.run.jobs.get(name);
  return (
    denied(context, call.principal, 'run.jobs.get', name) ??
    (job === undefined ? noSuch(name) : ok(jobResource(job)))
  );
}

function listJobs(context: Context, call: Call): Reply {
  const place = placeOf(call);
  const refusal = denied(context, call.principal, 'run.jobs.list', place);
  const jobs = [...context.world.run.jobs.values()].filter(({ name }) =>
    name.startsWith(`${place}/`),
  );
  return (
    refusal ??
    pageReply(call, {
      field: 'jobs',
      items: jobs.sort((left, right) => (left.name < right.name ? -1 : 1)),
      keyOf: ({ name }) => name,
      before: (left, right) => left < right,
      show: jobResource,
    })
  );
}

/** Its executions go with it. */
function deleteJob(context: Context, call: Call): Reply {
  const { run } = context.world;
  const name = jobNameOf(call);
  const job = run.jobs.get(name);
  const refusal = denied(context, call.principal, 'run.jobs.delete', name);
  if (refusal !== null) {
    return refusal;
  }
  if (job === undefined) {
    return noSuch(name);
  }
  run.jobs.delete(name);
  for (const execution of [...job.executions]) {
    const state = run.executions.get(execution);
    if (state !== undefined) {
      removeExecution(context, state);
    }
  }
  return doneOperation(context, call, job);
}

export const jobMethods: Methods = {
  'run.projects.locations.jobs.create': createJob,
  'run.projects.locations.jobs.get': getJob,
  'run.projects.locations.jobs.list': listJobs,
  'run.projects.locations.jobs.delete': deleteJob,
};
