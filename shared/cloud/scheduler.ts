// Cloud Scheduler jobs: run, pause, resume, look. Through @google-cloud/scheduler over REST, loaded
// at the first call. Used by people's commands, so nothing is repeated except looking.
import {
  REPEAT_POLICY,
  repeatWhileRetriable,
  type TimingOptions,
  timingOf,
  withDeadline,
} from '#shared/cloud/deadline.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import { translateRpcError, unreadableReply } from '#shared/cloud/errors.ts';
import { rpcCallOptions, rpcClientOptions } from '#shared/cloud/rpc-client.ts';
import { type Credentials, ensureToken } from '#shared/cloud/token.ts';

export interface SchedulerJob {
  /** `projects/P/locations/L/jobs/J`. */
  readonly name: string;
  /** ENABLED, PAUSED, DISABLED, UPDATE_FAILED. */
  readonly state: string;
  readonly lastAttemptMs: number | null;
  readonly nextRunMs: number | null;
}

/** `job` is `projects/P/locations/L/jobs/J`. All calls throw a CloudError when they are refused. */
export interface Scheduler {
  /** Starts the job now, also while an earlier run of it is under way. */
  run(job: string): Promise<SchedulerJob>;
  pause(job: string): Promise<SchedulerJob>;
  resume(job: string): Promise<SchedulerJob>;
  get(job: string): Promise<SchedulerJob>;
}

export interface SchedulerOptions extends TimingOptions {
  /** Base URL; null: Google's own. */
  readonly endpoint: string | null;
  readonly credentials: Credentials;
}

const TIMEOUT_MS = 20_000;

export function createScheduler(options: SchedulerOptions): Scheduler {
  const endpoint = options.endpoint ?? GOOGLE_ENDPOINTS.scheduler;
  const { credentials } = options;
  const timing = timingOf(options, TIMEOUT_MS);
  const { timeoutMs } = timing;
  let kept: ReturnType<typeof openClient> | null = null;
  const call = async (verb: 'runJob' | 'pauseJob' | 'resumeJob' | 'getJob', name: string) => {
    kept ??= openClient(endpoint, credentials);
    const client = await kept;
    const method = `cloudscheduler.projects.locations.jobs.${verb.replace('Job', '')}`;
    return withDeadline(method, timeoutMs, async (signal) => {
      await ensureToken(credentials, endpoint);
      try {
        const [job] = await client[verb]({ name }, rpcCallOptions(timeoutMs, signal));
        return toJob(method, job);
      } catch (error) {
        throw translateRpcError(method, error);
      }
    });
  };
  return {
    run: (job) => call('runJob', job),
    pause: (job) => call('pauseJob', job),
    resume: (job) => call('resumeJob', job),
    get: (job) => repeatWhileRetriable(timing, REPEAT_POLICY, () => call('getJob', job)),
  };
}

async function openClient(endpoint: string, credentials: Credentials) {
  const [{ CloudSchedulerClient }, auth] = await Promise.all([
    import('@google-cloud/scheduler'),
    credentials.auth(),
  ]);
  return new CloudSchedulerClient(rpcClientOptions(endpoint, auth));
}

interface Timestamp {
  readonly seconds?: unknown;
}

function toJob(
  method: string,
  job: {
    name?: string | null;
    state?: unknown;
    lastAttemptTime?: Timestamp | null;
    scheduleTime?: Timestamp | null;
  },
): SchedulerJob {
  if (!job.name) throw unreadableReply(method, 200, 'a job without a name');
  return {
    name: job.name,
    state: String(job.state ?? 'STATE_UNSPECIFIED'),
    lastAttemptMs: toMs(job.lastAttemptTime),
    nextRunMs: toMs(job.scheduleTime),
  };
}

function toMs(time: Timestamp | null | undefined): number | null {
  const seconds = Number(time?.seconds ?? Number.NaN);
  return Number.isNaN(seconds) ? null : seconds * 1_000;
}
