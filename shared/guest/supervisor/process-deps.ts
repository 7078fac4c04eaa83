// The supervisor's real surroundings: this process.
import { systemClock } from '#shared/cloud/clock.ts';
import { spawnCommand } from '#shared/guest/supervisor/command.ts';
import { sendRequest } from '#shared/guest/supervisor/send.ts';
import { PERIODS, type SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';

/** Puts the process's signals in the place of their default actions, which would end or stop it. */
export function processDeps(): SupervisorDeps {
  const terminated = new AbortController();
  process.on('SIGTERM', () => terminated.abort());
  process.on('SIGINT', () => terminated.abort());
  // Cloud Run says so when it moves a long task to another host: broken connections are tried again.
  process.on('SIGTSTP', () => {});
  process.on('SIGCONT', () => {});
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  return {
    variables: process.env,
    clock: systemClock,
    send: sendRequest,
    fraction: Math.random,
    spawn: spawnCommand,
    write: (stream, bytes) => void process[stream].write(bytes),
    terminated: terminated.signal,
    root: process.env.MAYFLY_ROOT ?? '',
    // Where a folder stands in for a container, the kernel's counts are the whole computer's.
    cgroupDir: process.env.MAYFLY_ROOT ? null : '/sys/fs/cgroup',
    periods: PERIODS,
  };
}
