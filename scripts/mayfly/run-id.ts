// Run ids on the command line: their rule (contract §1), and a new one where none is given.
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import type { Clock, Entropy } from '#shared/cloud/clock.ts';

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** Checks an operand; a wrong one would name objects that are no run's. */
export function requireRunId(text: string | undefined): string {
  if (text !== undefined && RUN_ID.test(text)) return text;
  throw usageError(
    `${JSON.stringify(text ?? '')} is no run id: letters, digits and . _ ~ - are allowed, ` +
      'a letter or digit first, at most 128 characters',
  );
}

/** An id that sorts by time: `run-20261201-214305-3f9c2a`. */
export function makeRunId(clock: Clock, entropy: Entropy): string {
  const time = new Date(clock.nowMs()).toISOString();
  const stamp = time.slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `run-${stamp}-${entropy.nonce().slice(0, 6)}`;
}
