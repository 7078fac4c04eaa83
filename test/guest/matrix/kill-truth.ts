// What must be true of a cell of the kill matrix, derived from the rules of the protocol and not from the
// scripts: who speaks, what may be said, what becomes of machine and run.
import type { Blow } from '#test/guest/matrix/kill-blows.ts';
import type { Row } from '#test/guest/matrix/kill-rows.ts';

export interface Truth {
  readonly claimed: boolean;
  /** Of the last word; null: there is none beyond RUNNING. */
  readonly marker: { status: string; cause: string; step: string; exit_code: number | null } | null;
  readonly selfDeleted: boolean;
  /** Null: the machine is gone, and no boot follows. */
  readonly worksAfterReboot: number | null;
  readonly run: { status: string; cause: string };
}

export function truthOf(row: Row, blow: Blow): Truth {
  // A script that dies leaves it to the shutdown script, which knows no more than the script did.
  const speaks = row.claimed && (!blow.kills || (blow.end !== null && row.knows));
  // The end was certain, and its report on its way: the blow comes too late to change it.
  const reported = row.step === 'report' && !blow.kills;
  const marker = !speaks ? null : reported ? SUCCESS : lastWord(row, blow);
  return {
    claimed: row.claimed,
    marker,
    selfDeleted: speaks,
    // A machine that worked never works again; one that never claimed may begin.
    worksAfterReboot: speaks ? null : row.claimed ? 0 : 1,
    run: runOf(row, blow, marker),
  };
}

const SUCCESS = { status: 'SUCCEEDED', cause: 'exit', step: 'report', exit_code: 0 };

/** Who speaks last knows the step, and the exit code only if it has seen the container's own end. */
function lastWord(row: Row, blow: Blow): Truth['marker'] {
  const cause = blow.end === 'preempt' ? 'preempted' : 'interrupted';
  const exit_code = row.exited && !blow.kills ? 0 : null;
  return { status: 'FAILED', cause, step: row.step, exit_code };
}

function runOf(row: Row, blow: Blow, marker: Truth['marker']): Truth['run'] {
  if (marker === SUCCESS) return { status: 'SUCCEEDED', cause: 'exit' };
  // The platform's operations say so, with a word of the machine or without.
  if (blow.end === 'preempt') return { status: 'PREEMPTED', cause: 'preempted' };
  if (marker !== null) return { status: 'LOST', cause: 'interrupted' };
  // Nobody was ever told that work had begun: the machine is lost, whatever it did.
  if (row.step === 'boot') return { status: 'LOST', cause: 'machine-lost' };
  // Silence ends nothing: the machine stays as it is until the platform ends it at its time.
  return { status: 'TIMED_OUT', cause: 'ttl' };
}
