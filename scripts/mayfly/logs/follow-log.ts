// Prints a run's output once, or goes on until the run has ended. Each entry is printed once.
import type { LogEntry, LogReader } from '#scripts/mayfly/logs/entries.ts';
import type { Clock } from '#shared/cloud/clock.ts';

/** Entries may come that late, with a time before those that were read. */
const LATE_MS = 30_000;
const POLL_MS = 2000;

export interface LogSource {
  readonly read: LogReader;
  /** `query` null: nothing of it is in Cloud Logging; `tail`: what the result kept. */
  look(): Promise<{
    readonly query: string | null;
    readonly number: number;
    readonly ended: boolean;
    readonly tail: string | null;
  }>;
  /** What the machine of that attempt stored; null: nothing. */
  readTail(number: number): Promise<string | null>;
}

export interface FollowLog {
  readonly clock: Clock;
  readonly write: (entry: LogEntry) => void;
  readonly interruption: AbortSignal;
  readonly follow: boolean;
}

/** Gives the number of entries that were printed. Throws a CloudError when the service refuses. */
export async function followLog(source: LogSource, options: FollowLog): Promise<number> {
  const printed = new Set<string>();
  let newest: string | null = null;
  while (true) {
    // Looked at before the read, so that what an ended run wrote last is in it.
    const now = await source.look();
    if (now.query !== null) {
      const since: string = newest === null ? '' : ` AND timestamp>="${earlier(newest)}"`;
      for await (const page of source.read(`${now.query}${since}`)) {
        for (const entry of page) {
          if (printed.has(entry.key)) continue;
          printed.add(entry.key);
          options.write(entry);
          newest = entry.at;
        }
      }
    }
    if (now.ended || !options.follow) {
      return printed.size > 0 ? printed.size : printTail(source, now, options);
    }
    await options.clock.sleep(POLL_MS, options.interruption);
    if (options.interruption.aborted) return printed.size;
  }
}

/** Where Cloud Logging has nothing, the machine's own last words. */
async function printTail(
  source: LogSource,
  { number, tail }: { readonly number: number; readonly tail: string | null },
  { write }: FollowLog,
): Promise<number> {
  const text = (await source.readTail(number)) ?? tail ?? '';
  if (text === '') return 0;
  write({ key: '', at: '', text: text.replace(/\n$/, '') });
  return 1;
}

const earlier = (time: string) => new Date(Date.parse(time) - LATE_MS).toISOString();
