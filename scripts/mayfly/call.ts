// The command line's grammar: `mayfly VERB [flags] [operands] [-- rest]`. Flags are declared once, with
// the words of their help text; parsing, help and errors come from that one table.
import { parseArgs } from 'node:util';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

export interface Flag {
  /** The placeholder of the flag's value in help texts; a flag without one is a switch. */
  readonly value?: string;
  readonly multiple?: true;
  readonly help: string;
}

export type Flags = Readonly<Record<string, Flag>>;

export interface Verb {
  readonly name: string;
  /** How operands look in the usage line, for example `FILE|-`. */
  readonly operands: string;
  readonly operandsMin: number;
  readonly operandsMax: number;
  /** True when words after `--` mean something to the verb. */
  readonly takesRest: boolean;
  readonly summary: string;
  /** More lines for `mayfly help VERB`. */
  readonly details: readonly string[];
  readonly flags: Flags;
  /** Gives the exit code. */
  run(call: Call, terminal: Terminal): Promise<number>;
}

/** One parsed command line. */
export interface Call {
  readonly operands: readonly string[];
  /** The words after `--`; null without it. */
  readonly rest: readonly string[] | null;
  text(flag: string): string | null;
  list(flag: string): readonly string[];
  has(flag: string): boolean;
}

export const COMMON_FLAGS: Flags = {
  project: { value: 'ID', help: 'Google Cloud project' },
  bucket: { value: 'NAME', help: 'bucket of the deployment' },
  deployment: { value: 'NAME', help: 'name of the deployment (default: mayfly)' },
  json: { help: 'data as JSON' },
  quiet: { help: 'no progress, only data and errors' },
  help: { help: 'this text' },
};

/** Parses the words after the verb; throws a usage error that names the wrong word. */
export function parseCall(verb: Verb, words: readonly string[]): Call {
  const flags = { ...COMMON_FLAGS, ...verb.flags };
  const end = words.indexOf('--');
  const parsed = parseWords(verb, flags, end < 0 ? words : words.slice(0, end));
  const call: Call = {
    operands: parsed.positionals,
    rest: end < 0 ? null : words.slice(end + 1),
    text: (flag) => valuesOf(parsed.values[flag]).at(-1) ?? null,
    list: (flag) => valuesOf(parsed.values[flag]),
    has: (flag) => parsed.values[flag] !== undefined,
  };
  if (!call.has('help')) checkOperands(verb, call);
  return call;
}

type Values = Readonly<Record<string, unknown>>;

function parseWords(verb: Verb, flags: Flags, words: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      { type: flag.value === undefined ? 'boolean' : 'string', multiple: flag.multiple ?? false },
    ]),
  ) as Record<string, { type: 'boolean' | 'string'; multiple: boolean }>;
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options,
      allowPositionals: true,
    });
    return { values: values as Values, positionals };
  } catch (error) {
    throw usageError(`${flagFault(error, flags)}\n${pointer(verb)}`);
  }
}

function flagFault(error: unknown, flags: Flags): string {
  const { code, message } = error as { code?: string; message: string };
  const word = /'(-[^'\s]*)/.exec(message)?.[1];
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && word !== undefined) {
    const known = Object.keys(flags).map((name) => `--${name}`);
    return `unknown flag ${word}; known here: ${known.join(' ')}`;
  }
  return message.split('\n')[0]?.replace(/\.$/, '') ?? message;
}

function checkOperands(verb: Verb, call: Call): void {
  const count = call.operands.length;
  if (call.rest !== null && !verb.takesRest) {
    throw usageError(`${verb.name} takes nothing after --\n${pointer(verb)}`);
  }
  if (count > verb.operandsMax) {
    const extra = call.operands.slice(verb.operandsMax).map((word) => JSON.stringify(word));
    throw usageError(`${verb.name} does not take ${extra.join(' ')}\n${pointer(verb)}`);
  }
  if (count < verb.operandsMin) {
    throw usageError(`${verb.name} needs ${verb.operands}\n${pointer(verb)}`);
  }
}

function valuesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value : [];
}

function pointer(verb: Verb): string {
  return `see: mayfly ${verb.name} --help`;
}
