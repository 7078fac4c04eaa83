// Time and randomness as dependencies, so that tests and the simulation own them.
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
  /** Resolves after that many milliseconds, or at once when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface Entropy {
  /** 32 lower-case hexadecimal digits from a cryptographic source. */
  nonce(): string;
  /** A number in [0, 1), for jitter. */
  fraction(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  async sleep(milliseconds, signal) {
    try {
      await wait(milliseconds, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
};

/** The machine's own randomness. */
export const systemEntropy: Entropy = {
  nonce: () => randomBytes(16).toString('hex'),
  fraction: () => Math.random(),
};
