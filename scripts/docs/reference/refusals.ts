// Requests that their schema takes and the code refuses, each with the code's own words. Nothing here says
// what a rule is: it shows one being broken.
import { readSettings } from '#shared/cloud/config.ts';
import { parseJsonText, readMessage } from '#shared/plan/message.ts';
import type { Fault, PlanSettings } from '#shared/plan/model.ts';
import { planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';

/** A deployment as `mayfly deploy` makes it. */
const ENVIRONMENT = {
  MAYFLY_PROJECT: 'my-project',
  MAYFLY_BUCKET: 'my-project-mayfly',
  MAYFLY_REGIONS: 'europe-west1,europe-west4',
  MAYFLY_WORKER_SERVICE_ACCOUNTS: 'mayfly-worker@my-project.iam.gserviceaccount.com',
  MAYFLY_JOBS_READER_SERVICE_ACCOUNT: 'mayfly-jobs-reader@my-project.iam.gserviceaccount.com',
  MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT: 'mayfly-jobs-uploader@my-project.iam.gserviceaccount.com',
  MAYFLY_PUSH_AUDIENCE: 'https://submit.example',
  MAYFLY_PUSH_SERVICE_ACCOUNTS: 'mayfly-push@my-project.iam.gserviceaccount.com',
};

export type Environment = Readonly<Record<string, string>>;

export function planSettings(environment: Environment = {}): PlanSettings {
  return readSettings({ ...ENVIRONMENT, ...environment }).plan;
}

/** What submit would say against a request. */
export function refusalsOf(request: object, environment: Environment = {}): readonly Fault[] {
  const settings = planSettings(environment);
  const message = readMessage(request);
  if (message.kind !== 'request') return message.kind === 'invalid' ? message.faults : [];
  const parsed = parseRequest(message.value, { defaultRunId: 'run-1', settings });
  if (parsed.kind === 'invalid') return parsed.faults;
  const planned = planRun(parsed.request, settings);
  return planned.kind === 'invalid' ? planned.faults : [];
}

/** Why bytes never become a message; null: they do. */
export function unreadable(bytes: Uint8Array): string | null {
  const read = parseJsonText(bytes);
  return read.kind === 'unreadable' ? read.reason : null;
}
