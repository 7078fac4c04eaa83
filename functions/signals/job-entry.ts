// Log entries of Cloud Run Jobs that are for `signals`: what a task's supervisor prints, and the
// platform's own note that an execution has ended.
// Source: Cloud Logging's LogEntry; the labels of container logs of Cloud Run. The note (system_event,
// method `/Jobs.RunJob`) stands in published logs and in no documentation, so nothing but its names is read.
import * as z from 'zod';
import type { SignedEvent } from '#shared/lifecycle/task-event.ts';
import { jobKinds, jobName } from '#shared/plan/jobs-inventory.ts';
import type { PlanSettings } from '#shared/plan/model.ts';

export interface JobEntry {
  readonly region: string;
  readonly job: string;
  /** Short. */
  readonly execution: string;
}

type JobNames = Pick<PlanSettings, 'deployment' | 'jobs'>;

const jobNames = ({ deployment, jobs }: JobNames) =>
  jobKinds(jobs).map((kind) => jobName(deployment, jobs, kind));

const oneOfJobs = (settings: JobNames) =>
  `(${jobNames(settings)
    .map((name) => `resource.labels.job_name="${name}"`)
    .join(' OR ')})`;

/** The part of the log sink's filter that takes event lines, in the Logging query language. */
export const taskEventFilter = (settings: JobNames): string =>
  ['resource.type="cloud_run_job"', oneOfJobs(settings), 'jsonPayload.mayfly_event:*'].join(
    ' AND ',
  );

const COMPLETION_METHOD = '/Jobs.RunJob';

/** The part that takes the platform's notes. The call that starts an execution has a longer method name. */
export const completionFilter = (settings: JobNames): string =>
  [
    'resource.type="cloud_run_job"',
    oneOfJobs(settings),
    'protoPayload.serviceName="run.googleapis.com"',
    `protoPayload.methodName="${COMPLETION_METHOD}"`,
    'logName:"%2Fsystem_event"',
  ].join(' AND ');

const NAME = /^[a-z][a-z0-9-]{0,62}$/;
const resourceShape = z.object({
  type: z.literal('cloud_run_job'),
  labels: z.object({
    job_name: z.string().regex(NAME),
    location: z.string().regex(/^[a-z0-9-]{1,40}$/),
  }),
});
const eventShape = z.object({
  resource: resourceShape,
  labels: z.object({ 'run.googleapis.com/execution_name': z.string().regex(NAME) }),
  jsonPayload: z.object({
    mayfly_event: z.object({
      payload: z.string().max(8192),
      hmac: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  }),
});
const completionShape = z.object({
  resource: resourceShape,
  protoPayload: z.object({
    serviceName: z.literal('run.googleapis.com'),
    methodName: z.literal(COMPLETION_METHOD),
    resourceName: z.string(),
  }),
});

/** An event line, whoever has printed it; null: the entry is something else. */
export function readEventEntry(
  entry: unknown,
): (JobEntry & { readonly signed: SignedEvent }) | null {
  const { success, data } = eventShape.safeParse(entry);
  if (!success) return null;
  const { job_name: job, location: region } = data.resource.labels;
  const execution = data.labels['run.googleapis.com/execution_name'];
  return { region, job, execution, signed: data.jsonPayload.mayfly_event };
}

/** A note about an execution of one of our Jobs; null: the entry is something else. */
export function readCompletionEntry(entry: unknown, settings: JobNames): JobEntry | null {
  const { success, data } = completionShape.safeParse(entry);
  if (!success) return null;
  const { job_name: job, location: region } = data.resource.labels;
  const [, execution = ''] = /\/executions\/([^/]+)$/.exec(data.protoPayload.resourceName) ?? [];
  return NAME.test(execution) && jobNames(settings).includes(job)
    ? { region, job, execution }
    : null;
}
