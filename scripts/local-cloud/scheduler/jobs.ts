// Cloud Scheduler: jobs with an HTTP target, run by their cron slots and by `jobs.run`.
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
  asObject,
  asString,
  copyJson,
  durationMs,
  type JsonObject,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import { attemptEvent } from '#scripts/local-cloud/scheduler/attempt.ts';
import { nextSlotMs, parseCron } from '#scripts/local-cloud/scheduler/cron.ts';
import type { SchedulerJob } from '#scripts/local-cloud/scheduler/state.ts';

const ATTEMPT_DEADLINE_MS_DEFAULT = 180_000;
const ATTEMPT_DEADLINE_MS_MIN = 15_000;
const ATTEMPT_DEADLINE_MS_MAX = 1_800_000;
const TIME_ZONES = ['', 'UTC', 'Etc/UTC'];

/** `params.job` is the full name, or the short one beside project and location. */
const nameIn = ({ project = '', location = '', job = '' }: Call['params']) =>
  job.includes('/') ? job : `projects/${project}/locations/${location}/jobs/${job}`;

function jobResource(job: SchedulerJob): JsonObject {
  const resource: JsonObject = { ...copyJson(job.resource), name: job.name, state: job.state };
  if (job.nextSlotMs !== null) {
    resource.scheduleTime = timestamp(job.nextSlotMs);
  }
  if (job.lastAttemptMs !== null) {
    resource.lastAttemptTime = timestamp(job.lastAttemptMs);
  }
  if (job.status !== null) {
    resource.status = copyJson(job.status);
  }
  return resource;
}

/** Plans the next slot after `afterMs`; none while the job is paused. */
function planSlot(context: Context, job: SchedulerJob, afterMs: number): void {
  job.nextSlotMs = job.state === 'ENABLED' ? nextSlotMs(job.schedule, afterMs) : null;
  if (job.nextSlotMs !== null) {
    const { name, epoch } = job;
    context.world.timers.add(job.nextSlotMs, { kind: 'job-slot', job: name, epoch });
  }
}

export function runSlot(context: Context, name: string, epoch: number): void {
  const job = context.world.scheduler.jobs.get(name);
  if (job === undefined || job.epoch !== epoch || job.state !== 'ENABLED') {
    return;
  }
  const slotMs = job.nextSlotMs ?? context.nowMs;
  // Scheduled runs of a job never overlap: a slot that comes meanwhile is delayed.
  if (job.attempt === null) {
    job.attempt = attempt(context, job, slotMs);
  } else {
    job.lateSlotMs = slotMs;
  }
  planSlot(context, job, slotMs);
}

function attempt(context: Context, job: SchedulerJob, slotMs: number): string {
  const { scheduler } = context.world;
  scheduler.attemptsMade += 1;
  const id = `attempt-${scheduler.attemptsMade}`;
  scheduler.attempts.set(id, job.name);
  job.lastAttemptMs = context.nowMs;
  context.world.timers.add(context.nowMs + job.attemptDeadlineMs, {
    kind: 'attempt-deadline',
    attempt: id,
  });
  context.emit(attemptEvent(context, job, id, slotMs));
  return id;
}

/** What an attempt came back with; 0 for no answer. False when no such attempt is open. */
export function settleAttempt(context: Context, id: string, status: number): boolean {
  const { attempts, jobs } = context.world.scheduler;
  const job = jobs.get(attempts.get(id) ?? '');
  if (!attempts.delete(id) || job === undefined) {
    return false;
  }
  const success = status >= 200 && status < 300;
  job.status = success ? {} : { code: status === 0 ? 4 : 13, message: `HTTP status ${status}` };
  if (job.attempt === id) {
    job.attempt = job.lateSlotMs === null ? null : attempt(context, job, job.lateSlotMs);
    job.lateSlotMs = null;
  }
  return true;
}

function createJob(context: Context, call: Call): Reply {
  const body = asObject(call.body);
  const { project = '', location = '' } = call.params;
  const name = asString(body.name) ?? nameIn({ ...call.params, job: 'job' });
  const schedule = parseCron(asString(body.schedule) ?? '');
  const attemptDeadlineMs = durationMs(body.attemptDeadline) ?? ATTEMPT_DEADLINE_MS_DEFAULT;
  const refusal =
    denied(context, call.principal, 'cloudscheduler.jobs.create', name) ??
    checkJob(context, name, `projects/${project}/locations/${location}/jobs/`, body);
  if (refusal !== null || schedule === null) {
    return refusal ?? refuseRpc(400, `Schedule or time zone is invalid: ${body.schedule}`);
  }
  const job: SchedulerJob = {
    name,
    resource: copyJson(body),
    schedule,
    attemptDeadlineMs,
    state: 'ENABLED',
    epoch: 0,
    nextSlotMs: null,
    lastAttemptMs: null,
    status: null,
    attempt: null,
    lateSlotMs: null,
  };
  context.world.scheduler.jobs.set(name, job);
  planSlot(context, job, context.nowMs);
  return ok(jobResource(job));
}

function checkJob(context: Context, name: string, parent: string, body: JsonObject): Reply | null {
  const deadlineMs = durationMs(body.attemptDeadline) ?? ATTEMPT_DEADLINE_MS_DEFAULT;
  if (context.world.scheduler.jobs.has(name)) {
    return refuseRpc(409, `Job ${name} already exists.`);
  }
  if (!name.startsWith(parent) || !/^[\w-]{1,500}$/.test(name.slice(parent.length))) {
    return refuseRpc(400, `Job name must be formatted: "${parent}<JOB_ID>", not "${name}".`);
  }
  if (!TIME_ZONES.includes(asString(body.timeZone) ?? '')) {
    return refuseRpc(
      400,
      `The local cloud knows the time zone Etc/UTC alone, not ${body.timeZone}.`,
    );
  }
  if (deadlineMs < ATTEMPT_DEADLINE_MS_MIN || deadlineMs > ATTEMPT_DEADLINE_MS_MAX) {
    return refuseRpc(400, 'attemptDeadline is 15 seconds to 30 minutes for HTTP targets.');
  }
  return asString(asObject(body.httpTarget).uri) === undefined
    ? refuseRpc(400, 'A job needs httpTarget.uri.')
    : null;
}

/** A call about one job: the refusal, or what `act` answers. */
function withJob(verb: string, act: (context: Context, job: SchedulerJob) => Reply) {
  return (context: Context, call: Call): Reply => {
    const name = nameIn(call.params);
    const job = context.world.scheduler.jobs.get(name);
    const refusal = denied(context, call.principal, `cloudscheduler.jobs.${verb}`, name);
    return (
      refusal ?? (job === undefined ? refuseRpc(404, `Job not found: ${name}`) : act(context, job))
    );
  };
}

/** Pause only from ENABLED, resume only from PAUSED. */
function switchTo(state: SchedulerJob['state']) {
  return (context: Context, job: SchedulerJob): Reply => {
    if (job.state === state) {
      return refuseRpc(400, `The job is already ${state}.`, 'FAILED_PRECONDITION');
    }
    job.state = state;
    job.lateSlotMs = null;
    job.epoch += 1;
    planSlot(context, job, context.nowMs);
    return ok(jobResource(job));
  };
}

function listJobs(context: Context, call: Call): Reply {
  const parent = nameIn({ ...call.params, job: '' });
  const jobs = [...context.world.scheduler.jobs.values()]
    .filter(({ name }) => name.startsWith(parent))
    .map(jobResource);
  return denied(context, call.principal, 'cloudscheduler.jobs.list', parent) ?? ok({ jobs });
}

export const schedulerMethods: Methods = {
  'cloudscheduler.jobs.create': createJob,
  'cloudscheduler.jobs.list': listJobs,
  'cloudscheduler.jobs.get': withJob('get', (_, job) => ok(jobResource(job))),
  'cloudscheduler.jobs.pause': withJob('pause', switchTo('PAUSED')),
  'cloudscheduler.jobs.resume': withJob('enable', switchTo('ENABLED')),
  'cloudscheduler.jobs.delete': withJob('delete', (context, job) => {
    context.world.scheduler.jobs.delete(job.name);
    return ok({});
  }),
  // A forced run carries the next slot's time, and is made even when another is on its way.
  'cloudscheduler.jobs.run': withJob('run', (context, job) => {
    attempt(context, job, job.nextSlotMs ?? context.nowMs);
    return ok(jobResource(job));
  }),
};
