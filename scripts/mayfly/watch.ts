// `mayfly watch RUN`: a run's life until its end, from the bucket alone.

import { type BootFailure, describeBootFailure } from '#scripts/mayfly/boot-watch.ts';
import type { Call, Verb } from '#scripts/mayfly/call.ts';
import { type Cloud, openCloud } from '#scripts/mayfly/cloud.ts';
import { emptyOutputLines } from '#scripts/mayfly/empty-outputs.ts';
import { EXIT_INTERRUPTED, EXIT_REJECTED, exitCodeOfRun } from '#scripts/mayfly/exit-codes.ts';
import { followRun, POLL_MS_DEFAULT, unknownRun } from '#scripts/mayfly/follow.ts';
import { requireRunId } from '#scripts/mayfly/run-id.ts';
import { describeResult } from '#scripts/mayfly/summary.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { undeletedLines } from '#scripts/mayfly/undeleted.ts';

export const watchVerb: Verb = {
  name: 'watch',
  operands: 'RUN',
  operandsMin: 1,
  operandsMax: 1,
  takesRest: false,
  summary: 'shows a run’s life until it ends',
  details: [
    'Ends with the container’s own exit code, or one that says how the run ended. A machine that says',
    'that it cannot start ends the wait at once. Ctrl-C leaves the run alive and says how to cancel it.',
    'On a terminal one moving line says the phase, what was tried, the next try, and the last line of the',
    'output, which the machine stores every minute.',
  ],
  flags: {},
  async run(call, terminal) {
    const runId = requireRunId(call.operands[0]);
    const cloud = openCloud(await requireTarget(call, terminal), terminal);
    return watchToEnd(cloud, { call, terminal, runId, messageId: null, foreignResult: false });
  },
};

export interface WatchedRun {
  readonly call: Call;
  readonly terminal: Terminal;
  readonly runId: string;
  readonly messageId: string | null;
  readonly foreignResult: boolean;
}

/** Follows the run, prints its end and gives the exit code; `submit --wait` ends here too. */
export async function watchToEnd(cloud: Cloud, run: WatchedRun): Promise<number> {
  const { terminal, runId } = run;
  const end = await followRun(
    { ...cloud, note: terminal.note, move: terminal.move, interruption: terminal.interruption() },
    { ...run, pollMs: POLL_MS_DEFAULT },
  );
  terminal.move(null);
  switch (end.kind) {
    case 'detached':
      terminal.note(`detached: ${runId} goes on without this command`);
      terminal.note(`  watch again: mayfly watch ${runId}`);
      terminal.note(`  cancel it:   mayfly cancel ${runId}`);
      return EXIT_INTERRUPTED;
    case 'unknown':
      throw unknownRun(runId, cloud.target.bucket);
    case 'boot-failed':
      return tellBootFailure(run, end.failure);
    case 'ended':
    case 'rejected': {
      const left = end.kind === 'ended' ? await undeletedLines(cloud, runId) : [];
      for (const line of left) terminal.note(line);
      const json = run.call.has('json');
      const empty = json ? [] : await emptyOutputLines(cloud.store, end.result);
      const lines = [...describeResult(end.result), ...empty].join('\n');
      terminal.write(json ? `${JSON.stringify(end.result)}\n` : `${lines}\n`);
      return end.kind === 'rejected' ? EXIT_REJECTED : exitCodeOfRun(end.result);
    }
  }
}

/** The run itself ends when the sweep has fenced its machine off; nobody needs to wait for that. */
function tellBootFailure({ call, terminal, runId }: WatchedRun, failure: BootFailure): number {
  const { report, ...where } = failure;
  const { bootId, detail } = report;
  const end = { runId, status: 'FAILED', cause: 'step-failed', ...where, detail, bootId };
  const lines = describeBootFailure(runId, failure).join('\n');
  terminal.write(call.has('json') ? `${JSON.stringify({ ...end, ended: false })}\n` : `${lines}\n`);
  terminal.note('the sweep ends the run and deletes its machine within minutes');
  terminal.note(`  see its end: mayfly show ${runId}`);
  return exitCodeOfRun({ status: end.status, exitCode: null });
}
