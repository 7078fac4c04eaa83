// Gives a call its own deadline, and a read its bounded repeats. Nothing here knows a service.
import { AssertionError } from 'node:assert/strict';
import { type Clock, type Entropy, systemClock, systemEntropy } from '#shared/cloud/clock.ts';
import { CloudError, translateFailure } from '#shared/cloud/errors.ts';

/**
 * Runs one call; after `timeoutMs` its signal is aborted and a CloudError `timeout` is thrown, also
 * when the call does not heed the signal.
 */
export async function withDeadline<Result>(
  method: string,
  timeoutMs: number,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new CloudError({
      code: 'timeout',
      method,
      status: null,
      reason: '',
      message: `${method} gave no answer within ${timeoutMs} ms`,
    });
    reject(error);
    controller.abort(error);
  }, timeoutMs);
  try {
    return await Promise.race([run(controller.signal), expired]);
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    throw translateFailure(method, error);
  } finally {
    clearTimeout(timer);
  }
}

/** What a client's calls take their time from; tests give their own. */
export interface TimingOptions {
  /** The deadline of one try. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

export interface Timing {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** The machine's own clock and randomness where nothing else is given. */
export function timingOf(options: TimingOptions, timeoutMs: number): Timing {
  return {
    timeoutMs: options.timeoutMs ?? timeoutMs,
    clock: options.clock ?? systemClock,
    entropy: options.entropy ?? systemEntropy,
  };
}

/** How often a call is made in all, and how long the waits between are. */
export interface RepeatPolicy {
  readonly attempts: number;
  readonly firstWaitMs: number;
  /** The least wait after `rate-limited`: an object name takes one write a second. */
  readonly rateLimitWaitMs: number;
  readonly maxWaitMs: number;
}

export const REPEAT_POLICY: RepeatPolicy = {
  attempts: 4,
  firstWaitMs: 200,
  rateLimitWaitMs: 1_000,
  maxWaitMs: 8_000,
};

/**
 * Makes a call that is safe to repeat, again while its error is retriable. Waits double and carry
 * jitter of half their length.
 */
export async function repeatWhileRetriable<Result>(
  timing: Pick<Timing, 'clock' | 'entropy'>,
  policy: RepeatPolicy,
  call: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CloudError) || !error.retriable || attempt >= policy.attempts) {
        throw error;
      }
      const first = error.code === 'rate-limited' ? policy.rateLimitWaitMs : policy.firstWaitMs;
      const wait = Math.min(first * 2 ** (attempt - 1), policy.maxWaitMs);
      await timing.clock.sleep(wait * (1 + timing.entropy.fraction() / 2));
    }
  }
}
