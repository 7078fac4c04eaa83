// Exit codes of the command (contract §4), and the one error that carries such a code to the top.

export const EXIT_DONE = 0;
/** The command line or the request is wrong; nothing was sent. */
export const EXIT_USAGE = 2;
/** The platform said no: credentials, permission, quota, or it could not be reached. */
export const EXIT_REFUSED = 3;
export const EXIT_NOT_FOUND = 4;
export const EXIT_REJECTED = 76;
/** Ctrl-C: the shell's own convention. */
export const EXIT_INTERRUPTED = 130;

const STATUS_CODES: Readonly<Record<string, number>> = {
  SUCCEEDED: EXIT_DONE,
  FAILED: 70,
  TIMED_OUT: 71,
  PREEMPTED: 72,
  CANCELLED: 73,
  LOST: 74,
  NO_CAPACITY: 75,
  REJECTED: EXIT_REJECTED,
};

/**
 * The exit code for how a run ended: the container's own where there is one, else by status. A
 * container that ended with 0 in a run that did not succeed (its outputs could not be stored) gives
 * the status' code, so that no failed run looks like a good one.
 */
export function exitCodeOfRun(result: {
  readonly status: string;
  readonly exitCode: number | null;
}): number {
  const byStatus = STATUS_CODES[result.status] ?? 70;
  return result.exitCode === null || result.exitCode === 0 ? byStatus : result.exitCode;
}

/** Ends the command with a message for the person who called it. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  /** What `--json` says beside the message. */
  readonly data: object;

  constructor(exitCode: number, message: string, data: object = {}) {
    super(message);
    this.exitCode = exitCode;
    this.data = data;
  }
}

export function usageError(message: string, data: object = {}): CommandError {
  return new CommandError(EXIT_USAGE, message, data);
}
