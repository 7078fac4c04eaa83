// Finds and ends every process of a machine or a container by a mark in its environment, its process
// group and its ancestors, so that one that called setsid is found too. Linux reads /proc, others ask ps.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export interface ProcessTraces {
  /** Exact `NAME=value` entries; give them to no process that is not to be ended. */
  readonly marks: readonly string[];
  /** Process groups. */
  readonly groups: readonly number[];
}

interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly dead: boolean;
  readonly marked: boolean;
}

const ROUNDS_MAX = 50;

/** The living processes that carry a mark, belong to one of the groups, or descend from such a one. */
export function findProcesses(traces: ProcessTraces): number[] {
  const rows = existsSync('/proc/self/stat') ? readProc(traces.marks) : readPs(traces.marks);
  const found = new Set(
    rows.filter((row) => row.marked || traces.groups.includes(row.group)).map((row) => row.pid),
  );
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const row of rows) if (found.has(row.parent)) found.add(row.pid);
  }
  return rows
    .filter((row) => found.has(row.pid) && !row.dead && row.pid !== process.pid)
    .map((row) => row.pid);
}

/**
 * Sends KILL until none of those processes is left. Returns those that were still there after a bounded
 * number of rounds (a process in an uninterruptible wait); empty means that all are gone.
 */
export async function endProcesses(traces: ProcessTraces): Promise<number[]> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const pids = findProcesses(traces);
    if (pids.length === 0) return [];
    for (const pid of pids) signalProcess(pid, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, round));
  }
  return findProcesses(traces);
}

/** Sends a signal to a process, or with a negative number to its group; false when it is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

function readProc(marks: readonly string[]): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readProcRow(name, marks)];
      } catch {
        return []; // gone meanwhile
      }
    });
}

function readProcRow(name: string, marks: readonly string[]): ProcessRow {
  const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
  // The command's name stands in brackets and may hold anything, brackets and spaces too.
  const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const row = { pid: Number(name), parent: Number(parent), group: Number(group) };
  return { ...row, dead: state === 'Z' || state === 'X', marked: hasMark(name, marks) };
}

function hasMark(name: string, marks: readonly string[]): boolean {
  try {
    const entries = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
    return marks.some((mark) => entries.includes(mark));
  } catch {
    return false; // another user's
  }
}

function readPs(marks: readonly string[]): ProcessRow[] {
  const text = execFileSync('ps', ['-axwwE', '-o', 'pid=,ppid=,pgid=,stat=,command='], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, state = ''] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)/.exec(line) ?? [];
    if (pid === undefined) return [];
    const row = { pid: Number(pid), parent: Number(parent), group: Number(group) };
    const marked = marks.some((mark) => `${line} `.includes(` ${mark} `));
    return [{ ...row, dead: state.startsWith('Z'), marked }];
  });
}
