// Everything that will happen by itself, as data in a binary heap: earliest first, and in the order of
// planning among equals, so that a run is the same each time.

/** One file per service handles its own kinds (see apply.ts). */
export type TimerTask =
  | { readonly kind: 'operation-running'; readonly operation: string }
  | { readonly kind: 'operation-expired'; readonly operation: string }
  | { readonly kind: 'machine-step'; readonly machine: string; readonly epoch: number }
  | { readonly kind: 'machine-ttl'; readonly machine: string; readonly epoch: number }
  | { readonly kind: 'disk-delete'; readonly disk: string; readonly operation: string }
  | { readonly kind: 'notify'; readonly topic: string; readonly message: string }
  | { readonly kind: 'deliver'; readonly subscription: string; readonly message: string }
  | { readonly kind: 'delivery-deadline'; readonly delivery: string }
  | { readonly kind: 'job-slot'; readonly job: string; readonly epoch: number }
  | { readonly kind: 'attempt-deadline'; readonly attempt: string }
  | { readonly kind: 'execution-start'; readonly execution: string }
  | {
      readonly kind: 'task-timeout';
      readonly execution: string;
      readonly task: number;
      readonly attempt: number;
    }
  | {
      readonly kind: 'task-kill';
      readonly execution: string;
      readonly task: number;
      readonly attempt: number;
    };

export interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly task: TimerTask;
}

export class TimerQueue {
  readonly #heap: Timer[] = [];
  #order = 0;

  add(dueMs: number, task: TimerTask): void {
    const timer: Timer = { dueMs, order: this.#order++, task };
    let index = this.#heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#before(index, parent)) {
        break;
      }
      this.#swap(index, parent);
      index = parent;
    }
  }

  nextDueMs(): number | null {
    return this.#heap[0]?.dueMs ?? null;
  }

  /** Takes the earliest timer that is due at that instant. */
  takeDue(nowMs: number): Timer | null {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs > nowMs) {
      return null;
    }
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#heap[0] = last;
      this.#sink();
    }
    return first;
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= this.#heap.length) {
        return;
      }
      const right = left + 1;
      const child = right < this.#heap.length && this.#before(right, left) ? right : left;
      if (!this.#before(child, index)) {
        return;
      }
      this.#swap(child, index);
      index = child;
    }
  }

  #before(left: number, right: number): boolean {
    const one = this.#at(left);
    const other = this.#at(right);
    return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
  }

  #swap(left: number, right: number): void {
    const held = this.#at(left);
    this.#heap[left] = this.#at(right);
    this.#heap[right] = held;
  }

  #at(index: number): Timer {
    const timer = this.#heap[index];
    if (timer === undefined) {
      throw new Error(`timer heap has no entry ${index}`);
    }
    return timer;
  }
}
