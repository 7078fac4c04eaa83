// One cell of the kill matrix: a planned run, struck in one step by one blow, told to the functions, and
// started once more if its machine is still there.
import type { RunResult } from '#shared/lifecycle/result.ts';
import type { Blow } from '#test/guest/matrix/kill-blows.ts';
import { RESULT, type Row } from '#test/guest/matrix/kill-rows.ts';
import type { Truth } from '#test/guest/matrix/kill-truth.ts';
import { PlannedRun } from '#test/guest/matrix/planned-run.ts';

export interface Outcome {
  readonly claimed: boolean;
  /** The script's last marker beyond RUNNING. */
  readonly marker: Readonly<Record<string, unknown>> | null;
  readonly selfDeleted: boolean;
  /** Starts of the container in the struck boot, and in one more boot of the machine. */
  readonly works: number;
  readonly worksAfterReboot: number | null;
  readonly result: RunResult | null;
  readonly leftovers: readonly string[];
  readonly steps: string;
}

/** What the rules of the protocol speak of. */
export function seenOf(outcome: Outcome): Truth {
  const { marker, result } = outcome;
  return {
    ...{ claimed: outcome.claimed, selfDeleted: outcome.selfDeleted },
    worksAfterReboot: outcome.worksAfterReboot,
    marker: marker && {
      ...{ status: `${marker.status}`, cause: `${marker.cause}`, step: `${marker.step}` },
      exit_code: marker.exit_code as number | null,
    },
    run: { status: `${result?.status}`, cause: `${result?.cause}` },
  };
}

export async function runKillCase(row: Row, blow: Blow): Promise<Outcome> {
  await using run = await PlannedRun.create({ container: row.container });
  const started = run.machine.start('startup', (row.change ?? same)(run.scripts.startup));
  let struck: Promise<unknown> = Promise.resolve();
  await row.hold(run, () => {
    struck = blow.strike(run, started);
  });
  await started.exit;
  await struck;
  const marker = run.markers().findLast(({ status }) => status !== 'RUNNING') ?? null;
  const outcome = {
    ...{ claimed: run.isClaimed(), marker, selfDeleted: run.deletes() > 0 },
    ...{ works: run.works(), steps: run.machine.steps() },
  };
  const { result, leftovers } = await tellWorld(run, blow);
  const worksAfterReboot = outcome.selfDeleted ? null : await reboot(run);
  return { ...outcome, worksAfterReboot, result, leftovers };
}

const same = (script: string) => script;

/** The same events in the world: the machine goes, the last word lands, the delete is sent. */
async function tellWorld(run: PlannedRun, blow: Blow) {
  if (blow.end === 'stop') await run.stopMachine();
  if (blow.end === 'preempt') run.preemptMachine();
  await run.feed();
  if (run.deletes() > 0) await run.deleteMachine();
  return { result: await run.toEnd(), leftovers: run.leftovers() };
}

async function reboot(run: PlannedRun): Promise<number> {
  const before = run.works();
  await run.reboot(RESULT);
  return run.works() - before;
}
