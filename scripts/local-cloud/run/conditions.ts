// What an execution and its tasks say of themselves: counts, and conditions in the v2 shape.
import { type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import type { ExecutionState, TaskState } from '#scripts/local-cloud/run/state.ts';

export type ConditionState = 'PENDING' | 'RECONCILING' | 'SUCCEEDED' | 'FAILED';

export interface Condition {
  readonly type: 'Completed' | 'ResourcesAvailable' | 'Started';
  readonly state: ConditionState;
  readonly message: string;
  readonly executionReason: string | null;
  readonly atMs: number;
}

export interface Counts {
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
}

export function countsOf({ tasks }: ExecutionState): Counts {
  const counts = { pending: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 };
  for (const { status } of tasks) {
    counts[status] += 1;
  }
  return counts;
}

const seconds = (fromMs: number, toMs: number) => `${((toMs - fromMs) / 1000).toFixed(2)}s`;

/** `The container exited with an error.` with the task's name and its exit code before it. */
function failureOf(execution: ExecutionState): string {
  const task = execution.tasks.find(({ status }) => status === 'failed');
  const { exitCode, message } = task?.result ?? { exitCode: null, message: '' };
  const name = `${execution.shortName}-task${task?.index ?? 0}`;
  return `Task ${name} failed with exit code: ${exitCode ?? 0} and message: ${message}`;
}

function completed(execution: ExecutionState): Omit<Condition, 'type'> {
  const { completedMs, cancelledMs, createdMs, stuck } = execution;
  if (completedMs === null) {
    const waiting = stuck === null ? null : 'DELAYED_START_PENDING';
    return {
      state: 'RECONCILING',
      message: stuck ?? 'Waiting for execution to complete.',
      executionReason: cancelledMs === null ? waiting : 'CANCELLING',
      atMs: cancelledMs ?? createdMs,
    };
  }
  const ended = { state: 'FAILED', atMs: completedMs } as const;
  if (cancelledMs !== null) {
    const message = `Execution ${execution.shortName} has been cancelled.`;
    return { ...ended, message, executionReason: 'CANCELLED' };
  }
  if (stuck !== null) {
    return { ...ended, message: stuck, executionReason: null };
  }
  if (countsOf(execution).failed > 0) {
    return { ...ended, message: failureOf(execution), executionReason: 'NON_ZERO_EXIT_CODE' };
  }
  const took = seconds(execution.startedMs ?? createdMs, completedMs);
  const message = `Execution completed successfully in ${took}.`;
  return { state: 'SUCCEEDED', message, executionReason: null, atMs: completedMs };
}

export function executionConditions(execution: ExecutionState): readonly Condition[] {
  const { createdMs, startedMs, completedMs, stuck } = execution;
  const none = { executionReason: null };
  const started = startedMs !== null;
  const unavailable = completedMs === null ? 'RECONCILING' : 'FAILED';
  return [
    { type: 'Completed', ...completed(execution) },
    {
      type: 'ResourcesAvailable',
      state: started ? 'SUCCEEDED' : unavailable,
      message: stuck ?? (started ? 'Provisioned imported containers.' : 'Provisioning resources.'),
      ...none,
      atMs: startedMs ?? createdMs,
    },
    {
      type: 'Started',
      state: started ? 'SUCCEEDED' : 'PENDING',
      message: started ? `Started deployed execution in ${seconds(createdMs, startedMs)}.` : '',
      ...none,
      atMs: startedMs ?? createdMs,
    },
  ];
}

const TASK_STATES: Readonly<Record<TaskState['status'], ConditionState>> = {
  pending: 'PENDING',
  running: 'RECONCILING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'FAILED',
};

export function taskConditions(execution: ExecutionState, task: TaskState): readonly Condition[] {
  const { status, startedMs, completedMs, result } = task;
  const cancelled = status === 'cancelled';
  const started = startedMs !== null;
  const reason = status === 'failed' ? 'NON_ZERO_EXIT_CODE' : null;
  return [
    {
      type: 'Completed',
      state: TASK_STATES[status],
      message: cancelled ? 'The task has been cancelled.' : (result?.message ?? ''),
      executionReason: cancelled ? 'CANCELLED' : reason,
      atMs: completedMs ?? startedMs ?? execution.createdMs,
    },
    {
      type: 'Started',
      state: started ? 'SUCCEEDED' : 'PENDING',
      message: '',
      executionReason: null,
      atMs: startedMs ?? execution.createdMs,
    },
  ];
}

/** In the v2 shape; empty texts are left out, as all fields without a value are. */
export function conditionResource(condition: Condition): JsonObject {
  const { type, state, message, executionReason, atMs } = condition;
  return {
    type,
    state: `CONDITION_${state}`,
    ...(message === '' ? {} : { message }),
    lastTransitionTime: timestamp(atMs),
    ...(executionReason === null ? {} : { executionReason }),
  };
}
