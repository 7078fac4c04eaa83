// Runs the command: as a process, as a person does, or in this process with a terminal that keeps what
// it was told.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { runCommand } from '#scripts/mayfly/command.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly folder?: string;
  readonly stdin?: Uint8Array | string;
  /** What a person answers who is asked; nobody is there when left out. */
  readonly answer?: string;
  /** Aborted when the person presses Ctrl-C. */
  readonly interruption?: AbortSignal;
  /** Called with each line that stays on stderr. */
  readonly onNote?: (line: string) => void;
}

/** In this process; `moves` are the lines that a terminal would have shown one over the other. */
export async function callMayfly(
  words: readonly string[],
  options: RunOptions = {},
): Promise<Ended & { readonly moves: readonly string[] }> {
  const kept = { stdout: '', stderr: '', moves: [] as string[] };
  const open = (quiet: boolean): Terminal => ({
    environment: options.environment ?? {},
    folder: options.folder ?? process.cwd(),
    readStdin: async () => Buffer.from(options.stdin ?? ''),
    ask: async () => options.answer ?? null,
    write: (data) => {
      kept.stdout += data;
    },
    note: (line) => {
      if (quiet) return;
      kept.stderr += `${line}\n`;
      options.onNote?.(line);
    },
    complain: (line) => {
      kept.stderr += `${line}\n`;
    },
    move: (line) => {
      if (line !== null && !quiet) kept.moves.push(line);
    },
    interruption: () => options.interruption ?? new AbortController().signal,
  });
  const code = await runCommand(words, open);
  return { code, ...kept };
}

/** As a process of its own; nothing of this one's environment is inherited but PATH. */
export async function runMayfly(
  words: readonly string[],
  options: RunOptions = {},
): Promise<Ended> {
  const child = spawn(process.execPath, ['scripts/mayfly.ts', ...words], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: '/nonexistent',
      MAYFLY_CALLER_DIR: options.folder ?? process.cwd(),
      ...options.environment,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {}); // a command that refuses its flags reads nothing
  child.stdin.end(options.stdin ?? '');
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code, stdout, stderr };
}
