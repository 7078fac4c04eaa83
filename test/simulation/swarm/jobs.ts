// Cloud Run Jobs in a simulated world: its executions as the laws see machines, and what can befall them.
import type { ExecutionState } from '#scripts/local-cloud/run/state.ts';
import { containerOf, isOver, variablesOf } from '#scripts/local-cloud/run/state.ts';
import type { World } from '#scripts/local-cloud/world.ts';
import { instanceName } from '#shared/plan/names.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

/** What laws ask of whatever does an attempt's work: of a VM, or of an execution that runs. */
export interface LiveMachine {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: string;
  readonly createdMs: number;
  readonly lastStartMs: number | null;
  /** Of a machine that cannot be made after all. */
  readonly doom: unknown;
}

export const envOf = (execution: ExecutionState) => variablesOf(containerOf(execution.template));

/** Its short name is its id, its region its zone; null: it was not started by us. */
export function asMachine(execution: ExecutionState): LiveMachine | null {
  const { MAYFLY_RUN_ID: runId, MAYFLY_ATTEMPT: attempt, MAYFLY_DEADLINE } = envOf(execution);
  if (runId === undefined) return null;
  const { deployment } = SETTINGS.plan;
  const deadline = String(Date.parse(MAYFLY_DEADLINE ?? '') / 1000);
  return {
    id: execution.shortName,
    name: instanceName(deployment, runId, Number(attempt)),
    zone: execution.job.region,
    labels: { 'managed-by': 'mayfly', deployment, run_id: runId, deadline },
    status: execution.startedMs === null ? 'PROVISIONING' : 'RUNNING',
    createdMs: execution.createdMs,
    lastStartMs: execution.startedMs,
    doom: null,
  };
}

export const isRunning = ({ completedMs }: ExecutionState) => completedMs === null;

export function executionsOf(world: World): ExecutionState[] {
  return [...world.run.executions.values()];
}

/** Whether one of its tasks has ended badly by the platform's word. */
export const hasFailedTask = ({ tasks }: ExecutionState) =>
  tasks.some((task) => isOver(task) && task.status !== 'succeeded');
