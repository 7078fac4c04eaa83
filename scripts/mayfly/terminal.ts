// Where the command meets the person: data to stdout, everything else to stderr, and a line that
// moves only on a terminal. Environment, folder and input come in here and nowhere else.
import { createInterface } from 'node:readline/promises';
import { buffer } from 'node:stream/consumers';
import type { Cloud } from '#scripts/mayfly/cloud.ts';
import type { Target } from '#scripts/mayfly/target.ts';

export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that relative file names are meant from. */
  readonly folder: string;
  /** What stands in for Google Cloud, whatever the environment says; left out: nothing does. */
  readonly cloud?: (target: Target) => Cloud;
  readStdin(): Promise<Uint8Array>;
  /** Asks a person and gives the answer; null where nobody is there to ask. */
  ask(question: string): Promise<string | null>;
  /** Data, to stdout. */
  write(text: string): void;
  /** One line for people, to stderr; silent with `--quiet`. */
  note(line: string): void;
  /** What went wrong, to stderr, always. */
  complain(text: string): void;
  /** Replaces the moving line; nothing happens off a terminal. Null takes it away. */
  move(line: string | null): void;
  /** Aborted at the first Ctrl-C or TERM; the second one ends the process as usual. */
  interruption(): AbortSignal;
}

const ERASE_LINE = '\r\u001b[2K';

/** The process' own terminal. `quiet` silences what is meant for people. */
export function openTerminal(quiet: boolean): Terminal {
  const { stdout, stderr } = process;
  for (const stream of [stdout, stderr]) stream.on('error', endWithReader);
  const moving = stderr.isTTY === true && !quiet && process.env.TERM !== 'dumb';
  let line: string | null = null;
  const move = (next: string | null) => {
    if (!moving || (next === null && line === null)) return;
    line = next;
    stderr.write(ERASE_LINE + (next === null ? '' : next.slice(0, stderr.columns - 1)));
  };
  return {
    environment: process.env,
    folder: process.env.MAYFLY_CALLER_DIR ?? process.cwd(),
    readStdin: () => buffer(process.stdin),
    ask: async (question) => {
      if (process.stdin.isTTY !== true || stderr.isTTY !== true) return null;
      using lines = createInterface({ input: process.stdin, output: stderr });
      return await lines.question(question);
    },
    write: (text) => {
      move(null);
      stdout.write(text);
    },
    note: (text) => {
      if (quiet) return;
      const kept = line;
      move(null);
      stderr.write(`${text}\n`);
      if (kept !== null) move(kept);
    },
    complain: (text) => {
      stderr.write(`${text}\n`);
    },
    move,
    interruption: () => {
      const controller = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.once(signal, () => controller.abort());
      }
      return controller.signal;
    },
  };
}

/** Who reads has seen enough, as `| head -1`: no fault. What is being done in this turn still ends. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  setImmediate(() => process.exit());
}

/** Waits for an interruption and keeps the process alive until then. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const alive = setInterval(() => {}, 60_000);
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  await promise;
  clearInterval(alive);
}
