// A clock that stands still until the kernel moves it; sleepers wake in the order of their instants, and
// of their falling asleep among equals.
import type { Clock } from '#shared/cloud/clock.ts';

interface Sleeper {
  readonly wakeMs: number;
  readonly order: number;
  readonly wake: () => void;
}

export class VirtualClock implements Clock {
  #nowMs: number;
  #order = 0;
  /** Earliest last, so that waking takes from the end. */
  readonly #sleepers: Sleeper[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(milliseconds: number): Promise<void> {
    const wakeMs = this.#nowMs + Math.max(0, Math.ceil(milliseconds));
    return new Promise((wake) => {
      this.#add({ wakeMs, order: this.#order++, wake });
    });
  }

  nextWakeMs(): number | null {
    return this.#sleepers.at(-1)?.wakeMs ?? null;
  }

  /** Time goes forward only; who is due wakes. */
  moveTo(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    const due: Sleeper[] = [];
    for (let last = this.#sleepers.at(-1); last !== undefined; last = this.#sleepers.at(-1)) {
      if (last.wakeMs > this.#nowMs) break;
      due.push(last);
      this.#sleepers.pop();
    }
    for (const sleeper of due) sleeper.wake();
  }

  #add(sleeper: Sleeper): void {
    let low = 0;
    let high = this.#sleepers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#sleepers[middle];
      if (other !== undefined && other.wakeMs > sleeper.wakeMs) low = middle + 1;
      else high = middle;
    }
    this.#sleepers.splice(low, 0, sleeper);
  }
}
