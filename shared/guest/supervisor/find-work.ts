// Whether there is work for this task at all: its bootstrap, and the attempt's claim.

import { deleteBootstrap, readBootstrap } from '#shared/guest/supervisor/bootstrap-object.ts';
import { takeClaim } from '#shared/guest/supervisor/claim.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import {
  readTaskEnvironment,
  type TaskEnvironment,
} from '#shared/guest/supervisor/task-environment.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

export type Work =
  | { readonly kind: 'work'; readonly task: TaskEnvironment; readonly bootstrap: Bootstrap }
  | { readonly kind: 'none'; readonly reason: string };

/** `warn` is told what went wrong and stops nothing. */
export async function findWork(deps: SupervisorDeps, warn: (text: string) => void): Promise<Work> {
  try {
    const task = readTaskEnvironment(deps.variables);
    if (task.taskAttempt > 0) return none('this task was begun before');
    const reading = await readBootstrap(deps, task);
    if (reading.kind === 'none') return reading;
    const { bootstrap } = reading;
    if (!(await takeClaim(deps, task, bootstrap))) return none("the claim is another's");
    // Several tasks read one object: the control plane removes it when the last has begun.
    if (bootstrap.taskCount === 1) {
      await deleteBootstrap(deps, task).catch((error: Error) =>
        warn(`bootstrap: ${error.message}`),
      );
    }
    return { kind: 'work', task, bootstrap };
  } catch (error) {
    return none(error instanceof Error ? error.message : String(error));
  }
}

const none = (reason: string): Work => ({ kind: 'none', reason });
