// Time and randomness as dependencies, so that tests and the simulation own them.

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
