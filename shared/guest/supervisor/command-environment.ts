// What the command sees (contract §1): the image's own variables, then ours, then the request's.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { EVENTS_FD } from '#shared/guest/supervisor/command.ts';
import { PACKAGE_DIR, SCRATCH_DIR } from '#shared/guest/supervisor/files.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import {
  inheritedVariables,
  type TaskEnvironment,
} from '#shared/guest/supervisor/task-environment.ts';
import type { Bootstrap } from '#shared/plan/bootstrap.ts';

const THREADS = ['MKL_NUM', 'NUMEXPR_NUM', 'OMP_NUM', 'OPENBLAS_NUM', 'VECLIB_MAXIMUM'];
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function commandEnvironment(
  { variables, root }: Pick<SupervisorDeps, 'variables' | 'root'>,
  { task }: Pick<TaskEnvironment, 'task'>,
  bootstrap: Bootstrap,
): Record<string, string> {
  const threads = String(availableParallelism());
  return {
    PATH,
    ...inheritedVariables(variables),
    MAYFLY_RUN_ID: bootstrap.runId,
    MAYFLY_ATTEMPT: String(bootstrap.attempt),
    MAYFLY_RUNTIME: 'cloudrun-jobs',
    MAYFLY_TASK_INDEX: String(task),
    MAYFLY_TASK_COUNT: String(bootstrap.taskCount),
    MAYFLY_DEADLINE: bootstrap.deadline,
    MAYFLY_PACKAGE_DIR: join(root, PACKAGE_DIR),
    MAYFLY_SCRATCH_DIR: join(root, SCRATCH_DIR),
    MAYFLY_EVENTS_FD: String(EVENTS_FD),
    ...Object.fromEntries(THREADS.map((name) => [`${name}_THREADS`, threads])),
    // Where a folder stands for `/`, an example program has to know it.
    ...(root === '' ? {} : { MAYFLY_SANDBOX_ROOT: root }),
    ...bootstrap.env,
  };
}

/** The image's own folder, where the request names none. */
export function commandFolder(root: string, workingDir: string | null): string {
  if (workingDir !== null) return join(root, workingDir);
  return root === '' ? process.cwd() : join(root, PACKAGE_DIR);
}
