// An execution's way: it waits, its tasks start as far as its parallelism allows, each ends by itself, by
// its time, by a cancel or by what is planted; when the last one has ended the execution is complete.
import type { Context } from '#scripts/local-cloud/call.ts';
import { logExecutionEnd } from '#scripts/local-cloud/run/audit.ts';
import { killedEvent, startedEvent, stoppingEvent } from '#scripts/local-cloud/run/events.ts';
import type {
  AttemptResult,
  ExecutionState,
  TaskOrder,
  TaskState,
  TaskStatus,
} from '#scripts/local-cloud/run/state.ts';

const KEPT_FOR_MS = 7 * 24 * 3_600_000;
const SIGKILL = 9;

export const TIMEOUT_MESSAGE = 'The configured timeout was reached.';
export const MEMORY_MESSAGE = 'The configured memory limit was reached.';

interface TaskTimer {
  readonly execution: string;
  readonly task: number;
  readonly attempt: number;
}

/** The time has come for its first tasks, if nothing has happened to it meanwhile. */
export function startExecution(context: Context, name: string): void {
  const execution = context.world.run.executions.get(name);
  if (execution === undefined || execution.completedMs !== null) {
    return;
  }
  if (execution.stuck !== null) {
    complete(context, execution);
    return;
  }
  execution.startedMs = context.nowMs;
  startTasks(context, execution);
}

function startTasks(context: Context, execution: ExecutionState): void {
  const { tasks, parallelism, taskCount } = execution;
  const limit = parallelism === 0 ? taskCount : parallelism;
  while (execution.nextTask < taskCount && execution.nextTask - execution.overCount < limit) {
    const task = tasks[execution.nextTask];
    execution.nextTask += 1;
    if (task !== undefined) {
      startTask(context, execution, task);
    }
  }
}

function startTask(context: Context, execution: ExecutionState, task: TaskState): void {
  const { nowMs, world } = context;
  task.status = 'running';
  task.startedMs = nowMs;
  const timer = { execution: execution.name, task: task.index, attempt: task.attempt };
  world.timers.add(nowMs + execution.timeoutMs, { kind: 'task-timeout', ...timer });
  context.emit(startedEvent(execution, task));
}

function runningTask(
  context: Context,
  { execution: name, task: index, attempt }: TaskTimer,
): { execution: ExecutionState; task: TaskState } | null {
  const execution = context.world.run.executions.get(name);
  const task = execution?.tasks[index];
  return execution !== undefined && task?.status === 'running' && task.attempt === attempt
    ? { execution, task }
    : null;
}

export function timeTaskOut(context: Context, timer: TaskTimer): void {
  const found = runningTask(context, timer);
  if (found !== null) {
    stopTask(context, found.execution, found.task, 'timeout');
  }
}

/** TERM now and KILL a little later; a task that has been told already is not told again. */
function stopTask(
  context: Context,
  execution: ExecutionState,
  task: TaskState,
  order: TaskOrder,
): void {
  if (task.order !== null) {
    return;
  }
  task.order = order;
  const killMs = context.nowMs + context.world.options.run.termGraceMs;
  const timer = { execution: execution.name, task: task.index, attempt: task.attempt };
  context.world.timers.add(killMs, { kind: 'task-kill', ...timer });
  context.emit(stoppingEvent(execution, task, killMs));
}

export function killTask(context: Context, timer: TaskTimer): void {
  const found = runningTask(context, timer);
  if (found === null) {
    return;
  }
  const { execution, task } = found;
  context.emit(killedEvent(execution, task));
  endTask(context, execution, task, { exitCode: null, termSignal: SIGKILL });
}

/** The memory limit takes the task at once. */
export function exhaustMemory(
  context: Context,
  execution: ExecutionState,
  task: TaskState,
  exitCode: number | null,
): void {
  context.emit(killedEvent(execution, task));
  settle(context, execution, task, { exitCode, termSignal: null, message: MEMORY_MESSAGE });
}

/** The task's process has ended by itself, or by a signal. */
export function endTask(
  context: Context,
  execution: ExecutionState,
  task: TaskState,
  { exitCode, termSignal }: Pick<AttemptResult, 'exitCode' | 'termSignal'>,
): void {
  const failure =
    termSignal === null
      ? 'The container exited with an error.'
      : `The container was terminated by signal ${termSignal}.`;
  const ended = exitCode === 0 ? '' : failure;
  const message = task.order === 'timeout' ? TIMEOUT_MESSAGE : ended;
  settle(context, execution, task, { exitCode, termSignal, message });
}

function settle(
  context: Context,
  execution: ExecutionState,
  task: TaskState,
  result: AttemptResult,
): void {
  task.result = result;
  const failed = result.message !== '';
  if (failed && execution.cancelledMs === null && task.attempt < execution.retriesMax) {
    task.attempt += 1;
    task.order = null;
    execution.retried += 1;
    startTask(context, execution, task);
    return;
  }
  const own: TaskStatus = failed ? 'failed' : 'succeeded';
  close(context, execution, task, task.order === 'cancel' ? 'cancelled' : own);
  startTasks(context, execution);
  if (execution.overCount === execution.taskCount) {
    complete(context, execution);
  }
}

function close(
  context: Context,
  execution: ExecutionState,
  task: TaskState,
  status: TaskStatus,
): void {
  task.status = status;
  task.completedMs = context.nowMs;
  execution.overCount += 1;
}

/** Tasks that run are told; those that wait never start. */
export function cancelExecution(context: Context, execution: ExecutionState): void {
  execution.cancelledMs = context.nowMs;
  execution.nextTask = execution.taskCount;
  for (const task of execution.tasks) {
    if (task.status === 'running') {
      stopTask(context, execution, task, 'cancel');
    } else if (task.status === 'pending') {
      close(context, execution, task, 'cancelled');
    }
  }
  if (execution.overCount === execution.taskCount) {
    complete(context, execution);
  }
}

/** Nobody sees it any more; what still runs of it is told to end. */
export function removeExecution(context: Context, execution: ExecutionState): void {
  execution.deletedMs = context.nowMs;
  if (execution.completedMs === null && execution.cancelledMs === null) {
    cancelExecution(context, execution);
  }
  if (execution.completedMs !== null) {
    forget(context, execution);
  }
}

function complete(context: Context, execution: ExecutionState): void {
  execution.completedMs = context.nowMs;
  logExecutionEnd(context, execution);
  if (execution.deletedMs !== null) {
    forget(context, execution);
    return;
  }
  execution.job.ended.push(execution.name);
  prune(context, execution);
}

/** The oldest go when there are too many, but none of the last days. */
function prune(context: Context, { job }: ExecutionState): void {
  const { run, options } = context.world;
  while (job.ended.length > options.run.executionsKept) {
    const oldest = run.executions.get(job.ended[0] ?? '');
    if (oldest !== undefined) {
      if (context.nowMs - (oldest.completedMs ?? 0) < KEPT_FOR_MS) {
        return;
      }
      forget(context, oldest);
    }
    job.ended.shift();
  }
}

function forget(context: Context, { name, operation, job }: ExecutionState): void {
  const { executions, operations } = context.world.run;
  executions.delete(name);
  operations.delete(operation);
  const at = job.executions.indexOf(name);
  if (at >= 0) {
    job.executions.splice(at, 1);
  }
}
