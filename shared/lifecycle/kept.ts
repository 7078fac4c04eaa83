// The failed machine of a last attempt, kept for a look when the request asks for it: its delete is
// ordered with the end of the run and due later, never past its deadline. Stopped, it goes at once,
// because a stopped machine has no time limit of its own any more.
import type { Cause } from '#shared/lifecycle/failures.ts';
import { isStopped } from '#shared/lifecycle/observation.ts';
import {
  type Attempt,
  type AttemptEnd,
  type RunRecord,
  workingIntent,
} from '#shared/lifecycle/record.ts';

/** Ends by what ran on the machine; all others say nothing that a look at it could tell. */
const KEPT_CAUSES: readonly Cause[] = ['exit', 'out-of-memory', 'step-failed', 'gpu-idle'];

export interface KeptMachine {
  readonly zone: string;
  readonly untilMs: number;
}

/** What is kept of an attempt that ends so, with no further one to follow; null: nothing. */
export function keepMachine(
  record: RunRecord,
  attempt: Attempt,
  end: AttemptEnd,
): KeptMachine | null {
  const { keepOnFailureSeconds } = record.terms;
  const intent = workingIntent(attempt);
  if (end.status !== 'FAILED' || !KEPT_CAUSES.includes(end.cause) || intent === null) return null;
  const untilMs = Math.min(end.atMs + keepOnFailureSeconds * 1000, intent.deadlineSeconds * 1000);
  return untilMs > end.atMs ? { zone: intent.candidate.zone, untilMs } : null;
}

/** True while that very machine is still to be left alone. */
export function isKept(
  attempt: Attempt,
  machine: { readonly id: string; readonly zone: string; readonly status: string },
  nowMs: number,
): boolean {
  const { claim, kept } = attempt;
  if (kept === undefined || kept.zone !== machine.zone || nowMs >= kept.untilMs) return false;
  const holds = claim?.by !== 'machine' || claim.instanceId === machine.id;
  return holds && !isStopped(machine.status);
}
