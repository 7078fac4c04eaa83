// Run ids on the command line: their rule (contract §1), and a new one where none is given.
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import type { Clock, Entropy } from '#shared/cloud/clock.ts';
import { isRunId, RUN_ID_RULE } from '#shared/plan/run-id.ts';

/** Checks an operand; a wrong one would name objects that are no run's. */
export function requireRunId(text: string | undefined): string {
  if (isRunId(text)) return text;
  throw usageError(`${JSON.stringify(text ?? '')}: ${RUN_ID_RULE.rule}, ${RUN_ID_RULE.accepted}`);
}

/** An id that sorts by time: `run-20261201-214305-3f9c2a`. */
export function makeRunId(clock: Clock, entropy: Entropy): string {
  const time = new Date(clock.nowMs()).toISOString();
  const stamp = time.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `run-${stamp}-${entropy.nonce().slice(0, 6)}`;
}
