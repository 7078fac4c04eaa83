// How an attempt ends: the closed table of statuses and causes (contract §3), and what each cause
// means for a further attempt. One place decides this for every function and both runtimes.
import type { FinalState } from '#shared/lifecycle/transitions.ts';

/** Every cause, with the status that it gives a run. */
export const CAUSES = {
  exit: 'FAILED', // SUCCEEDED when the code is 0
  'out-of-memory': 'FAILED',
  'step-failed': 'FAILED',
  'gpu-idle': 'FAILED',
  refused: 'FAILED',
  timeout: 'TIMED_OUT',
  ttl: 'TIMED_OUT',
  preempted: 'PREEMPTED',
  'host-error': 'LOST',
  'machine-lost': 'LOST',
  interrupted: 'LOST',
  'stock-out': 'NO_CAPACITY',
  quota: 'NO_CAPACITY',
  cancelled: 'CANCELLED',
  'cancelled-outside': 'CANCELLED',
} as const satisfies Record<string, FinalState>;
export type Cause = keyof typeof CAUSES;

/** What a machine may say of itself; all others are for the control plane to find out. */
export const MACHINE_CAUSES = [
  'exit',
  'out-of-memory',
  'step-failed',
  'gpu-idle',
  'timeout',
  'ttl',
  'preempted',
  'interrupted',
] as const satisfies Cause[];

export function isMachineCause(value: unknown): value is (typeof MACHINE_CAUSES)[number] {
  return (MACHINE_CAUSES as readonly unknown[]).includes(value);
}

export interface Ending {
  readonly status: FinalState;
  readonly cause: Cause;
  /** Of `step-failed` alone: the machine knows that the same again may succeed. */
  readonly transient?: boolean;
}

/** The status of a cause; `exit` alone depends on the container's code. */
export function endingOf(cause: Cause, succeeded = false): Ending {
  return { status: succeeded && cause === 'exit' ? 'SUCCEEDED' : CAUSES[cause], cause };
}

/** Separate counters, so that a preemption never uses up the retries of a real bug. */
export type RetryCounter = 'preempted' | 'infrastructure' | 'outOfMemory' | 'failed' | 'abandoned';

/** Which counter a further attempt after this ending uses; null: never a further attempt. */
export function retryCounter(ending: Ending): RetryCounter | null {
  switch (ending.cause) {
    case 'preempted':
      return 'preempted';
    case 'host-error':
    case 'machine-lost':
    case 'interrupted':
      return 'infrastructure';
    case 'out-of-memory':
      return 'outOfMemory';
    case 'step-failed':
      return ending.transient === true ? 'infrastructure' : 'failed';
    case 'exit':
    case 'gpu-idle':
      return ending.status === 'SUCCEEDED' ? null : 'failed';
    case 'refused':
    case 'timeout':
    case 'ttl':
    case 'stock-out':
    case 'quota':
    case 'cancelled':
    case 'cancelled-outside':
      return null;
  }
}

/** What the platform's own operations say about a machine that is gone. */
export type MachineEnding = 'preempted' | 'host-error' | 'deleted' | 'none';

/**
 * The cause of an attempt whose machine is gone without a final word of its own.
 * `word` is the marker's interrupted/preempted, if it got that far; `ordered` is our own reason;
 * `timeIsUp` when it was gone at or after the platform's own limit.
 */
export function causeOfLoss(facts: {
  readonly word: 'interrupted' | 'preempted' | null;
  readonly ordered: Cause | null;
  readonly ending: MachineEnding;
  readonly timeIsUp: boolean;
}): Cause {
  if (facts.ordered === 'cancelled') return 'cancelled';
  if (facts.ending === 'preempted' || facts.word === 'preempted') return 'preempted';
  if (facts.ending === 'host-error') return 'host-error';
  if (facts.ordered !== null) return facts.ordered;
  if (facts.timeIsUp) return 'ttl';
  if (facts.word === 'interrupted') return 'interrupted';
  if (facts.ending === 'deleted') return 'cancelled-outside';
  return 'machine-lost';
}
