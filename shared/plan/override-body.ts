// What one execution is given that its Job does not have (`projects.locations.jobs.run`, v2). Image, CPU,
// memory and arguments are the Job's.
import type { JobsSettings, RunRequest } from '#shared/plan/model.ts';

/** What a call may change of a Job for one execution, and nothing else: the type has no other field. */
export interface ExecutionOverrides {
  /** Set beside the Job's own variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly taskCount: number;
  readonly timeoutSeconds: number;
}

/** The platform's own limit lies behind the command's, so that what it leaves can still be stored. */
export function executionOverrides(
  { runId, tasks, timeoutSeconds }: RunRequest,
  { timeoutMarginSeconds }: JobsSettings,
  execution: {
    readonly attempt: number;
    readonly nonce: string;
    /** RFC 3339. */
    readonly deadline: string;
  },
): ExecutionOverrides {
  return {
    env: {
      MAYFLY_RUN_ID: runId,
      MAYFLY_ATTEMPT: String(execution.attempt),
      MAYFLY_NONCE: execution.nonce,
      MAYFLY_DEADLINE: execution.deadline,
    },
    taskCount: tasks,
    timeoutSeconds: timeoutSeconds + timeoutMarginSeconds,
  };
}

/** The same as the body's `overrides` (REST, v2). */
export const overrideBody = ({ env, taskCount, timeoutSeconds }: ExecutionOverrides) => ({
  containerOverrides: [{ env: Object.entries(env).map(([name, value]) => ({ name, value })) }],
  taskCount,
  timeout: `${timeoutSeconds}s`,
});
