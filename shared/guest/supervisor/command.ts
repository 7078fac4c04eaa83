// The one command of a task as a process group of its own. That a program cannot be run at all is told
// apart from its own exit codes before it starts: execvp(3) would hand what it cannot run to a shell.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdir, open } from 'node:fs/promises';
import { constants as system } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';

export interface CommandSpec {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
}

export interface CommandSinks {
  readonly stdout: (bytes: Uint8Array) => void;
  readonly stderr: (bytes: Uint8Array) => void;
  /** What the command writes to its file descriptor 3. */
  readonly progress: (bytes: Uint8Array) => void;
}

export interface CommandEnd {
  /** Its own, or 128 and the signal's number, as a shell says it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningCommand {
  /** Resolves when the command has ended and what it wrote has been given to the sinks. */
  readonly ended: Promise<CommandEnd>;
  /** To the command and everything of its group; a group that is gone is left alone. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
}

/** Throws a CommandFault when the program cannot be run. */
export type SpawnCommand = (spec: CommandSpec, sinks: CommandSinks) => Promise<RunningCommand>;

export class CommandFault extends Error {
  override readonly name = 'CommandFault';
}

/** Where the command's progress goes in, as `MAYFLY_EVENTS_FD` says it. */
export const EVENTS_FD = 3;
/** Processes that left the group may hold the pipes open; what they write later is nobody's. */
const DRAIN_MS = 1_000;

export const spawnCommand: SpawnCommand = async (spec, sinks) => {
  const [name, ...rest] = spec.command;
  await mkdir(spec.workingDir, { recursive: true }).catch((error: Error) => {
    throw new CommandFault(`working directory ${spec.workingDir}: ${error.message}`);
  });
  await checkProgram(name, spec);
  const child = spawn(name, rest, {
    cwd: spec.workingDir,
    env: spec.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const closed = Promise.all([
    drain(child.stdout, sinks.stdout),
    drain(child.stderr, sinks.stderr),
    drain(child.stdio[EVENTS_FD] as Readable | null, sinks.progress),
  ]);
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new CommandFault(`${name}: ${(error as Error).message}`);
  }
  return {
    ended: endOf(child, closed),
    signal: (signal) => signalGroup(child, signal),
  };
};

async function endOf(child: ChildProcess, closed: Promise<unknown>): Promise<CommandEnd> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // The command is the container: what it leaves behind ends with it.
  signalGroup(child, 'SIGKILL');
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, DRAIN_MS);
  });
  await Promise.race([closed, late]);
  clearTimeout(timer);
  for (const stream of child.stdio) stream?.destroy();
  return { code: code ?? 128 + (signal === null ? 0 : system.signals[signal]), signal };
}

async function drain(stream: Readable | null, sink: (bytes: Uint8Array) => void): Promise<void> {
  if (stream === null) return;
  stream.on('data', sink);
  stream.on('error', () => {});
  await once(stream, 'close').catch(() => {});
}

function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** ELF's numbers of the machines that Node runs on (e_machine, elf.h). */
const MACHINES: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };

/** Says what execve(2) would: ENOENT, EACCES, or ENOEXEC, which execvp(3) hides. */
async function checkProgram(name: string, spec: CommandSpec): Promise<void> {
  const file = await findProgram(name, spec);
  const head = Buffer.alloc(20);
  const handle = await open(file).catch(() => null);
  // A program may be run without being readable; then the kernel is left to judge.
  if (handle === null) return;
  await using _closing = handle;
  const { bytesRead } = await handle.read(head, 0, head.length, 0);
  const machine = head.readUInt16LE(18);
  const elf = bytesRead === head.length && head.readUInt32BE(0) === 0x7f454c46;
  const script = bytesRead >= 2 && head.toString('latin1', 0, 2) === '#!';
  if (script || (elf && machine === MACHINES[process.arch])) return;
  const why = elf
    ? `built for another architecture (ELF machine ${machine})`
    : 'no program, no script';
  throw new CommandFault(`${file}: exec format error: ${why}`);
}

async function findProgram(name: string, { env, workingDir }: CommandSpec): Promise<string> {
  const folders = (env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(delimiter);
  const places = name.includes('/') ? [''] : folders;
  let denied = false;
  for (const folder of places) {
    const path = join(folder, name);
    const file = path.startsWith('/') ? path : join(workingDir, path);
    try {
      await access(file, constants.X_OK);
      return file;
    } catch (error) {
      denied ||= (error as NodeJS.ErrnoException).code === 'EACCES';
    }
  }
  throw new CommandFault(
    denied ? `${name}: permission denied: not executable` : `${name}: no such file or directory`,
  );
}
