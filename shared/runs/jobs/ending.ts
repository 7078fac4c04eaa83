// How an execution ended: the platform's word about it and its tasks, and the tasks' own markers.
import { CloudError } from '#shared/cloud/errors.ts';
import type { Execution, ExecutionCondition, Task } from '#shared/cloud/run-jobs.ts';
import {
  type ExecutionEnding,
  executionEnding,
  type TaskReport,
} from '#shared/lifecycle/execution-ending.ts';
import { isTerminal, type Marker, readMarker, speaksFor } from '#shared/lifecycle/marker.ts';
import { intentKey, type OperationFact } from '#shared/lifecycle/observation.ts';
import type { Attempt } from '#shared/lifecycle/record.ts';
import { taskMarkerObject } from '#shared/plan/objects.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { knownExecutions } from '#shared/runs/jobs/executions.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';
import type { Work } from '#shared/runs/runtime.ts';

/** Read only after the execution is known to have ended; the markers last. */
export async function readExecutionEnding(
  deps: RunDeps,
  { attempt }: Work,
  region: string,
  id: string,
): Promise<ExecutionEnding | 'none' | 'unknown'> {
  const name = knownExecutions(attempt, region).find(({ execution }) => execution === id);
  if (name === undefined) return 'none';
  const reply = await deps.jobs.getExecution(name);
  if (reply.kind === 'gone') return 'none';
  if (reply.kind === 'unknown') return 'unknown';
  const { execution } = reply;
  const { completedMs } = execution;
  if (completedMs === null) return 'unknown';
  try {
    const tasks = await deps.jobs.listTasks(name);
    const markers = await readTaskMarkers(deps, attempt, execution.taskCount);
    return executionEnding({
      taskCount: execution.taskCount,
      cancelled: isCancelled(execution),
      message: messageOf(execution.conditions),
      endedMs: completedMs,
      tasks: tasks.map(taskReport),
      markers,
    });
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    deps.log('WARNING', 'execution-unread', `${id}: ${error.message}`, { code: error.code });
    return 'unknown';
  }
}

/** An operation that ends without an error says nothing of success: counts and conditions do (P108). */
function isCancelled({ cancelledCount, conditions }: Execution): boolean {
  return cancelledCount > 0 || conditions.some((one) => one.executionReason === 'CANCELLED');
}

function messageOf(conditions: readonly ExecutionCondition[]): string {
  const failed = conditions.filter(({ state }) => state === 'CONDITION_FAILED');
  const told = failed.find(({ type }) => type === 'Completed') ?? failed[0];
  return told?.message ?? '';
}

const taskReport = (task: Task): TaskReport => ({
  index: task.index,
  exitCode: task.exitCode,
  termSignal: task.termSignal,
  startedMs: task.startedMs,
  completedMs: task.completedMs,
  message: [task.statusMessage ?? '', messageOf(task.conditions)].filter(Boolean).join('; '),
});

async function readTaskMarkers(
  deps: RunDeps,
  attempt: Attempt,
  count: number,
): Promise<Map<number, Marker>> {
  const markers = new Map<number, Marker>();
  // The marker of a single task is the attempt's own, and read as such.
  if (count === 1) return markers;
  await mapBounded([...Array(count).keys()], async (index) => {
    const reply = await deps.store.read(taskMarkerObject(attempt.instance, index));
    const reading = reply.kind === 'absent' ? null : readMarker(reply.bytes);
    if (reading?.kind !== 'marker') return;
    const { marker } = reading;
    if (isTerminal(marker) && speaksFor(marker, attempt)) markers.set(index, marker);
  });
  return markers;
}

/**
 * Whether the execution was taken up at all: one that ended for a quota before any of its tasks began
 * made nothing, as a refused creation does.
 */
export async function readStart(
  deps: RunDeps,
  { record }: Work,
  step: { readonly key: string },
): Promise<OperationFact> {
  const intent = record.attempts
    .flatMap((attempt) =>
      attempt.intents.map((one) => [intentKey(attempt.number, one.number), one] as const),
    )
    .find(([key]) => key === step.key)?.[1];
  const execution = intent?.instanceId;
  if (intent === undefined || !execution) return { kind: 'unknown' };
  const { region, machineType: job } = intent.candidate;
  const reply = await deps.jobs.getExecution({ region, job, execution });
  if (reply.kind === 'unknown') return { kind: 'unknown' };
  if (reply.kind === 'gone') return { kind: 'succeeded', instanceId: execution };
  const { conditions, completedMs, startedMs, succeededCount } = reply.execution;
  const message = messageOf(conditions);
  const untouched = completedMs !== null && succeededCount === 0 && startedMs === null;
  if (untouched && /quota/i.test(message)) {
    return { kind: 'failed', error: { code: 'QUOTA_EXCEEDED', message, details: {} } };
  }
  return { kind: 'succeeded', instanceId: execution };
}
