// Stands behind one container, as containerd's shim does: starts its process in a group of its own,
// keeps its output in a bounded log, and writes its exit into state.json. Started by `docker run`
// with the container's folder as argument; says one line on stdout when the process runs or cannot.
import { spawn } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { BoundedLog } from '#scripts/local-cloud/sandbox/bounded-log.ts';
import {
  type ContainerConfig,
  type ContainerState,
  containerLog,
  containerRoot,
  emptyState,
  writeState,
} from '#scripts/local-cloud/sandbox/containers.ts';
import { endProcesses } from '#scripts/local-cloud/sandbox/processes.ts';

const LOG_LIMIT_BYTES = 8 * 1024 * 1024;
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

const [folder = '', bootId = ''] = process.argv.slice(2);
const config: ContainerConfig = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
const log = new BoundedLog(containerLog(folder), LOG_LIMIT_BYTES);

start();

function start(): void {
  const [program = '', ...args] = config.argv;
  const child = spawn(program, args, {
    cwd: join(containerRoot(folder), config.workingDir),
    env: { ...config.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const running: ContainerState = {
    ...emptyState(bootId),
    status: 'running',
    pid: child.pid ?? 0,
    supervisorPid: process.pid,
    startedAt: new Date().toISOString(),
  };
  child.stdout.on('data', (bytes: Buffer) => log.write(1, bytes));
  child.stderr.on('data', (bytes: Buffer) => log.write(2, bytes));
  child.once('spawn', () => {
    writeState(folder, running);
    announce('running');
  });
  child.once('error', (error: NodeJS.ErrnoException) => {
    if (child.pid !== undefined) return;
    const exitCode = error.code === 'EACCES' ? NOT_EXECUTABLE : NOT_FOUND;
    writeState(folder, { ...emptyState(bootId), exitCode, error: startError(program, error) });
    announce('failed');
  });
  // The pipes may be held open by processes that the main one left behind: a container ends with its
  // main process, and takes them along.
  child.once('exit', () => void endProcesses({ marks: [rootMark()], groups: [running.pid] }));
  child.once('close', (code, signal) => {
    log.close();
    if (child.pid === undefined) return;
    const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    writeState(folder, {
      ...running,
      ...{ status: 'exited', pid: 0, exitCode, finishedAt: new Date().toISOString() },
    });
  });
}

function rootMark(): string {
  return `MAYFLY_SANDBOX_ROOT=${config.env.MAYFLY_SANDBOX_ROOT}`;
}

function startError(program: string, error: NodeJS.ErrnoException): string {
  const reason =
    error.code === 'ENOENT' ? 'executable file not found in $PATH' : String(error.message);
  return `failed to create task for container: exec: "${program}": ${reason}`;
}

/** Tells `docker run`, which waits for this line alone. */
function announce(line: string): void {
  process.stdout.write(`${line}\n`, () => closeSync(1));
}
