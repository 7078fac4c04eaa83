// What can befall a machine while its script works.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlannedRun } from '#test/guest/matrix/planned-run.ts';

export type Started = ReturnType<PlannedRun['machine']['start']>;

export interface Blow {
  readonly name: string;
  /** Whether the script itself is left to speak, or the shutdown script has to. */
  readonly kills: boolean;
  /** How the machine goes; null: it stays up. */
  readonly end: 'stop' | 'preempt' | null;
  /** Falls at once; what it starts is waited for. */
  readonly strike: (run: PlannedRun, started: Started) => Promise<unknown>;
}

const signals = (name: string, ...list: readonly NodeJS.Signals[]): Blow => ({
  ...{ name, kills: list[0] === 'SIGKILL', end: null },
  strike: async (_run, started) => {
    for (const signal of list) started.child.kill(signal);
  },
});

/** Docker goes first and stops its container; then the shutdown script runs. */
function powerOff(run: PlannedRun): Promise<unknown> {
  run.machine.plan('system-state', 'stopping');
  const pid = containerPid(run);
  if (pid !== null) process.kill(pid, 'SIGTERM');
  return run.machine.run('shutdown', run.scripts.shutdown);
}

function containerPid(run: PlannedRun): number | null {
  try {
    const pid = Number(readFileSync(join(run.machine.stub, 'container-pid'), 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
}

export const BLOWS: readonly Blow[] = [
  signals('TERM', 'SIGTERM'),
  signals('HUP', 'SIGHUP'),
  signals('INT', 'SIGINT'),
  signals('KILL', 'SIGKILL'),
  { name: 'power-off', kills: false, end: 'stop', strike: (run) => powerOff(run) },
  {
    ...{ name: 'preemption', kills: false, end: 'preempt' },
    strike: (run) => {
      run.machine.google.metadata.set('instance/preempted', 'TRUE');
      return powerOff(run);
    },
  },
  {
    ...{ name: 'TERM twice', kills: false, end: null },
    strike: async (run, started) => {
      const before = run.machine.google.requests.length;
      started.child.kill('SIGTERM');
      // The second one falls into the clean-up of the first, at its first call or after it.
      const ended = Promise.race([started.exit, afterNextCall(run, before)]);
      await ended;
      started.child.kill('SIGTERM');
    },
  },
  {
    ...{ name: 'KILL, then power-off', kills: true, end: 'stop' },
    strike: (run, started) => {
      started.child.kill('SIGKILL');
      return powerOff(run);
    },
  },
];

async function afterNextCall(run: PlannedRun, before: number): Promise<void> {
  await run.machine.until(() => run.machine.google.requests.length > before);
}
