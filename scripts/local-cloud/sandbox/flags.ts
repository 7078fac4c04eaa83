// Docker's command line grammar: `--name value`, `--name=value`, `-d`, `-it`, `-e X`, `-eX`. One table
// a command says which flags exist; anything else is refused in docker's words, never ignored.
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';

export interface FlagTable {
  /** Flags with a value, by their long names without dashes. */
  readonly values: readonly string[];
  /** Flags without a value. */
  readonly switches: readonly string[];
  /** One-letter names → long names. */
  readonly short: Readonly<Record<string, string>>;
  /** True: flags may follow the first plain word (all commands but `run` and `create`). */
  readonly interspersed: boolean;
  /** What docker exits with for an unknown flag. */
  readonly usageExitCode: number;
}

export interface Flags {
  /** Every value given, in the order of the command line. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly switches: ReadonlySet<string>;
  readonly words: readonly string[];
}

interface Reading {
  readonly table: FlagTable;
  readonly tokens: readonly string[];
  position: number;
  readonly values: Map<string, string[]>;
  readonly switches: Set<string>;
}

/** Splits tokens into flags and plain words. Throws a DockerError for a flag that is not in the table. */
export function parseFlags(tokens: readonly string[], table: FlagTable): Flags {
  const reading: Reading = {
    table,
    tokens,
    position: 0,
    values: new Map(),
    switches: new Set(),
  };
  const words: string[] = [];
  while (reading.position < tokens.length) {
    const token = tokens[reading.position] ?? '';
    reading.position += 1;
    if (token === '--') {
      words.push(...tokens.slice(reading.position));
      break;
    }
    if (token.startsWith('--')) readLong(reading, token);
    else if (token.startsWith('-') && token.length > 1) readShort(reading, token);
    else {
      words.push(token);
      if (!table.interspersed) {
        words.push(...tokens.slice(reading.position));
        break;
      }
    }
  }
  return { values: reading.values, switches: reading.switches, words };
}

/** The last value of a flag, or null. */
export function lastValue(flags: Flags, name: string): string | null {
  return flags.values.get(name)?.at(-1) ?? null;
}

function readLong(reading: Reading, token: string): void {
  const equals = token.indexOf('=');
  const name = token.slice(2, equals === -1 ? undefined : equals);
  const inline = equals === -1 ? null : token.slice(equals + 1);
  if (reading.table.switches.includes(name)) {
    setSwitch(reading, name, inline ?? 'true');
  } else if (reading.table.values.includes(name)) {
    addValue(reading, name, inline ?? nextToken(reading, token));
  } else {
    throw new DockerError(`unknown flag: --${name}`, reading.table.usageExitCode);
  }
}

function readShort(reading: Reading, token: string): void {
  for (let at = 1; at < token.length; at += 1) {
    const letter = token.charAt(at);
    const name = reading.table.short[letter];
    if (name === undefined) {
      const message = `unknown shorthand flag: '${letter}' in ${token}`;
      throw new DockerError(message, reading.table.usageExitCode);
    }
    if (reading.table.switches.includes(name)) {
      setSwitch(reading, name, 'true');
      continue;
    }
    const rest = token.slice(at + 1).replace(/^=/, '');
    addValue(reading, name, rest === '' ? nextToken(reading, token) : rest);
    return;
  }
}

function setSwitch(reading: Reading, name: string, value: string): void {
  if (value === 'false') reading.switches.delete(name);
  else reading.switches.add(name);
}

function addValue(reading: Reading, name: string, value: string): void {
  const list = reading.values.get(name);
  if (list === undefined) reading.values.set(name, [value]);
  else list.push(value);
}

function nextToken(reading: Reading, flag: string): string {
  const value = reading.tokens[reading.position];
  if (value === undefined) {
    throw new DockerError(`flag needs an argument: ${flag}`, reading.table.usageExitCode);
  }
  reading.position += 1;
  return value;
}
