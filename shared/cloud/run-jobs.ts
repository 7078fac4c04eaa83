// Cloud Run's Admin API (v2) for Jobs: starting an execution, reading and cancelling it, its tasks.
// "Unknown" stands beside "there" and "gone" in every answer, as it does for machines.
import type { ApiErrorDetail, ListPage } from '#shared/cloud/compute.ts';
import type { CloudError } from '#shared/cloud/errors.ts';
import type { ExecutionOverrides } from '#shared/plan/override-body.ts';

export interface ExecutionCondition {
  readonly type: string;
  readonly state: string;
  readonly message: string;
  readonly reason: string | null;
  readonly executionReason: string | null;
}

export interface Execution {
  /** Short, as the task sees it in `CLOUD_RUN_EXECUTION`. */
  readonly name: string;
  readonly job: string;
  readonly region: string;
  readonly createdMs: number | null;
  readonly startedMs: number | null;
  /** Null while it runs. */
  readonly completedMs: number | null;
  readonly taskCount: number;
  readonly runningCount: number;
  readonly succeededCount: number;
  readonly failedCount: number;
  readonly cancelledCount: number;
  readonly env: Readonly<Record<string, string>>;
  readonly conditions: readonly ExecutionCondition[];
}

export interface Task {
  readonly index: number;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  readonly conditions: readonly ExecutionCondition[];
  /** Of its last attempt; null when the platform gave none. */
  readonly exitCode: number | null;
  readonly termSignal: number | null;
  readonly statusMessage: string | null;
}

/** The parts of a Job that an inventory fixes. */
export interface Job {
  readonly name: string;
  readonly region: string;
}

export type RunReply =
  /** `operation` is for the log; `execution` is the handle. */
  | { readonly kind: 'accepted'; readonly operation: string; readonly execution: string }
  | { readonly kind: 'refused'; readonly error: ApiErrorDetail }
  /** 429 of the rate of calls: nothing was made. */
  | {
      readonly kind: 'rate-limited';
      readonly error: ApiErrorDetail;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export type ExecutionReply =
  | { readonly kind: 'there'; readonly execution: Execution }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export type CancelReply =
  | { readonly kind: 'accepted' }
  /** There is none, or it has ended. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

export interface ExecutionName {
  readonly region: string;
  readonly job: string;
  /** Short. */
  readonly execution: string;
}

/** No call throws for an answer of the service, but for the lists. `runJob` is sent once. */
export interface RunJobs {
  runJob(region: string, job: string, overrides: ExecutionOverrides): Promise<RunReply>;
  getExecution(name: ExecutionName): Promise<ExecutionReply>;
  cancelExecution(name: ExecutionName): Promise<CancelReply>;
  /** Throws a CloudError when the page cannot be had. A Job that is not there has no executions. */
  listExecutions(
    region: string,
    job: string,
    pageToken: string | null,
  ): Promise<Omit<ListPage<Execution>, 'unknownZones'>>;
  /** All of an execution. Throws a CloudError when they cannot be had. */
  listTasks(name: ExecutionName): Promise<readonly Task[]>;
  /** All of a region. Throws a CloudError when they cannot be had. */
  listJobs(region: string): Promise<readonly Job[]>;
}
