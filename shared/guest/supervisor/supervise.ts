// The supervisor: what a task of Cloud Run Jobs starts with. It looks for its work, does it, and ends with
// the command's own code, with EXIT_FLUSHED when it was stopped, or EXIT_NO_WORK.

import { findWork } from '#shared/guest/supervisor/find-work.ts';
import { OutputRelay, Tail } from '#shared/guest/supervisor/lines.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';
import { TaskRun } from '#shared/guest/supervisor/task-run.ts';
import { EXIT_FLUSHED, EXIT_NO_WORK } from '#shared/plan/bootstrap.ts';

/** Of the command's output, kept for the report. */
const TAIL_BYTES = 64 * 1024;

export async function supervise(deps: SupervisorDeps): Promise<number> {
  const relay = new OutputRelay(deps.write, new Tail(TAIL_BYTES));
  const say = (severity: 'NOTICE' | 'WARNING', message: string) =>
    relay.print(`${JSON.stringify({ severity, message })}\n`);
  const work = await findWork(deps, (text) => say('WARNING', text));
  if (work.kind === 'none') {
    say('NOTICE', `no work: ${work.reason}`);
    return deps.terminated.aborted ? EXIT_FLUSHED : EXIT_NO_WORK;
  }
  return await new TaskRun(deps, work, relay).run();
}
