// Lets the command run within its limits: its own time, and the platform's word to stop.
import type { CommandEnd, RunningCommand } from '#shared/guest/supervisor/command.ts';
import type { SupervisorDeps } from '#shared/guest/supervisor/supervisor-deps.ts';

export interface LimitedEnd extends CommandEnd {
  /** Why it was told to stop; null when it ended by itself. */
  readonly stopped: 'timeout' | 'interrupted' | null;
  /** It was ended by our KILL. */
  readonly killed: boolean;
}

export async function runWithinLimits(
  deps: Pick<SupervisorDeps, 'clock' | 'periods' | 'terminated'>,
  command: RunningCommand,
  timeoutSeconds: number,
  onStop: (reason: 'timeout' | 'interrupted') => void,
): Promise<LimitedEnd> {
  const { clock, periods, terminated } = deps;
  const over = new AbortController();
  let stopped: LimitedEnd['stopped'] = null;
  let killed = false;
  const stop = async (reason: 'timeout' | 'interrupted', graceMs: number) => {
    if (over.signal.aborted) return;
    if (stopped === null) onStop(reason);
    stopped ??= reason;
    command.signal('SIGTERM');
    await clock.sleep(graceMs, over.signal);
    if (over.signal.aborted) return;
    killed = true;
    command.signal('SIGKILL');
  };
  const onTerminated = () => void stop('interrupted', periods.stopGraceMs);
  if (terminated.aborted) onTerminated();
  else terminated.addEventListener('abort', onTerminated, { once: true, signal: over.signal });
  void clock.sleep(timeoutSeconds * 1000, over.signal).then(() => {
    if (stopped === null) void stop('timeout', periods.killGraceMs);
  });
  try {
    return { ...(await command.ended), stopped, killed };
  } finally {
    over.abort();
  }
}
