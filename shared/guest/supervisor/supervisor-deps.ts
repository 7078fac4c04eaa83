// What the supervisor needs from outside, so that tests own time and the other side of the network.
import type { Clock } from '#shared/cloud/clock.ts';
import type { SpawnCommand } from '#shared/guest/supervisor/command.ts';
import type { Send } from '#shared/guest/supervisor/send.ts';

/** All periods of the supervisor, in milliseconds; tests make them small. */
export interface Periods {
  readonly heartbeatMs: number;
  readonly progressMs: number;
  readonly checkpointMs: number;
  /** From TERM to KILL when the command's own time is up. */
  readonly killGraceMs: number;
  /** The same when the platform has said TERM. */
  readonly stopGraceMs: number;
  /** From the platform's TERM to the supervisor's last word; the platform kills after 10 s. */
  readonly flushMs: number;
  /** Of that, kept for the report alone. */
  readonly reportMs: number;
  /** From the command's end by its own time-out to the last word: within the task's margin (120 s). */
  readonly timeoutFlushMs: number;
  /** For one question without a large body. */
  readonly callMs: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
}

export const PERIODS: Periods = {
  heartbeatMs: 30_000,
  progressMs: 5_000,
  checkpointMs: 300_000,
  killGraceMs: 30_000,
  stopGraceMs: 5_000,
  flushMs: 9_000,
  reportMs: 3_000,
  timeoutFlushMs: 60_000,
  callMs: 30_000,
  backoffMs: 500,
  backoffMaxMs: 20_000,
};

export interface SupervisorDeps {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly send: Send;
  /** In [0, 1). */
  readonly fraction: () => number;
  readonly spawn: SpawnCommand;
  /** Bytes to the task's own standard output and standard error. */
  readonly write: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void;
  /** Aborted when the platform says TERM. */
  readonly terminated: AbortSignal;
  /** Before every path of the container; empty on the platform. */
  readonly root: string;
  /** Where the kernel shows what it counted of the container's memory; null: of more than that. */
  readonly cgroupDir: string | null;
  readonly periods: Periods;
}
