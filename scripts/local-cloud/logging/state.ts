// Log entries as the world keeps them: the newest ones, up to a number of bytes; and the sinks.
import type { JsonObject } from '#scripts/local-cloud/json.ts';

export interface StoredEntry {
  /** The whole LogEntry, as `entries:list` shows it. */
  readonly entry: JsonObject;
  /** Entries with equal ones are one entry: project, timestamp and insertId. */
  readonly identity: string;
  readonly bytes: number;
}

export interface Sink {
  /** The full name of the topic that it publishes on. */
  readonly topic: string;
  readonly matches: (entry: JsonObject) => boolean;
  /** As it was created, for get and list. */
  readonly resource: JsonObject;
}

export interface LoggingState {
  readonly entries: StoredEntry[];
  readonly identities: Set<string>;
  /** By full name, `projects/P/sinks/S`. */
  readonly sinks: Map<string, Sink>;
  bytes: number;
  entriesMade: number;
}

export const createLogging = (): LoggingState => ({
  entries: [],
  identities: new Set(),
  sinks: new Map(),
  bytes: 0,
  entriesMade: 0,
});

/** Adds an entry and lets the oldest go; false when it is there already. */
export function keepEntry(state: LoggingState, stored: StoredEntry, bytesMax: number): boolean {
  if (state.identities.has(stored.identity)) {
    return false;
  }
  state.identities.add(stored.identity);
  state.entries.push(stored);
  state.bytes += stored.bytes;
  while (state.bytes > bytesMax && state.entries.length > 1) {
    const oldest = state.entries.shift();
    state.identities.delete(oldest?.identity ?? '');
    state.bytes -= oldest?.bytes ?? 0;
  }
  return true;
}
