// The guards of the product, each with what takes it out: the simulation must find a violation then.

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

export const GUARDS: readonly Guard[] = [];
