// The guards of the product, each with what takes it out: the simulation must find a violation then.
// Some stand behind each other; then both go, and the name says what the first one is for.
import { CLAIM_GUARDS } from '#test/simulation/swarm/guards-claim.ts';
import { JOBS_GUARDS } from '#test/simulation/swarm/guards-jobs.ts';
import { RECORD_GUARDS } from '#test/simulation/swarm/guards-record.ts';
import { SWEEP_GUARDS } from '#test/simulation/swarm/guards-sweep.ts';

export interface Edit {
  /** From the top of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Guard {
  readonly name: string;
  /** The rule or law that it serves. */
  readonly serves: string;
  readonly edits: readonly Edit[];
}

export const GUARDS: readonly Guard[] = [
  ...CLAIM_GUARDS,
  ...RECORD_GUARDS,
  ...SWEEP_GUARDS,
  ...JOBS_GUARDS,
];
