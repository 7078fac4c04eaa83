// What a check says: one finding each, with the one line that puts it right.

export interface Finding {
  /** Short and stable: `subscription mayfly-submit`. */
  readonly check: string;
  /** `unknown`: it could not be read, which is not the same as all right. */
  readonly state: 'ok' | 'fault' | 'warning' | 'unknown';
  readonly what: string;
  /** A command or a setting; null when nothing is to be done. */
  readonly fix: string | null;
}

export const ok = (check: string, what: string): Finding => ({
  check,
  state: 'ok',
  what,
  fix: null,
});

export const fault = (check: string, what: string, fix: string): Finding => ({
  check,
  state: 'fault',
  what,
  fix,
});

export const warning = (check: string, what: string, fix: string): Finding => ({
  check,
  state: 'warning',
  what,
  fix,
});

export const unknown = (check: string, what: string, fix: string): Finding => ({
  check,
  state: 'unknown',
  what,
  fix,
});

/** The first of several rules that does not hold; all right when each does. */
export function firstBroken(
  check: string,
  rules: readonly (readonly [holds: boolean, what: string, fix: string])[],
): Finding {
  const broken = rules.find(([holds]) => !holds);
  return broken === undefined ? ok(check, 'as it has to be') : fault(check, broken[1], broken[2]);
}
