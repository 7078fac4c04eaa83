// What a setting is: a variable, what an unset one means, its effect, its parser.
import type { Parse } from '#shared/cloud/settings-parse.ts';

export interface Setting<Value> {
  /** The environment variable. */
  readonly name: string;
  /** What an unset variable means, as its text; null: it has to be set; '': nothing, none. */
  readonly initial: string | null;
  /** What it does, in one sentence. */
  readonly effect: string;
  readonly parse: Parse<Value>;
  /** Its value is never printed. */
  readonly secret?: boolean;
}

/** `name` is the variable's without its prefix. */
export function setting<Value>(
  name: string,
  initial: string | null,
  parse: Parse<Value>,
  effect: string,
): Setting<Value> {
  return { name: `MAYFLY_${name}`, initial, parse, effect };
}
