// Cloud Scheduler's jobs as the world keeps them.
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import type { CronSchedule } from '#scripts/local-cloud/scheduler/cron.ts';

export interface SchedulerJob {
  /** `projects/P/locations/L/jobs/J`. */
  readonly name: string;
  readonly resource: JsonObject;
  readonly schedule: CronSchedule;
  readonly attemptDeadlineMs: number;
  state: 'ENABLED' | 'PAUSED';
  /** Raised by pause and resume, so that the slots planned before are void. */
  epoch: number;
  nextSlotMs: number | null;
  lastAttemptMs: number | null;
  /** google.rpc.Status of the last attempt; null before the first. */
  status: JsonObject | null;
  /** The scheduled attempt that is on its way: runs of one job never overlap. */
  attempt: string | null;
  /** A slot that came meanwhile: made up for when the attempt has ended. */
  lateSlotMs: number | null;
}

export interface SchedulerState {
  readonly jobs: Map<string, SchedulerJob>;
  /** Open attempts → job. */
  readonly attempts: Map<string, string>;
  attemptsMade: number;
}

export function createScheduler(): SchedulerState {
  return { jobs: new Map(), attempts: new Map(), attemptsMade: 0 };
}
