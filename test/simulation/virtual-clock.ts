// A clock that stands still until the kernel moves it; sleepers wake in the order of their instants.
import type { Clock } from '#shared/cloud/clock.ts';

interface Sleeper {
  readonly wakeMs: number;
  readonly wake: () => void;
}

export class VirtualClock implements Clock {
  #nowMs: number;
  #sleepers: Sleeper[] = [];

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(milliseconds: number): Promise<void> {
    const wakeMs = this.#nowMs + Math.max(0, Math.ceil(milliseconds));
    return new Promise((wake) => {
      this.#sleepers.push({ wakeMs, wake });
    });
  }

  nextWakeMs(): number | null {
    if (this.#sleepers.length === 0) return null;
    return Math.min(...this.#sleepers.map((sleeper) => sleeper.wakeMs));
  }

  /** Time goes forward only; who is due wakes. */
  moveTo(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
    const due = this.#sleepers.filter((sleeper) => sleeper.wakeMs <= this.#nowMs);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.wakeMs > this.#nowMs);
    for (const sleeper of due.sort((a, b) => a.wakeMs - b.wakeMs)) sleeper.wake();
  }
}
