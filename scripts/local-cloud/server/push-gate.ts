// At most so many requests at a time to one server: what stands in front of an instance of a function
// holds the others back, instead of letting them all in at once.

export class PushGate {
  readonly #atOnce: number;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Runs the work when its server has room, in the order of the calls. */
  async pass<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
    const { origin } = new URL(url);
    const running = this.#running.get(origin) ?? 0;
    if (running < this.#atOnce) this.#running.set(origin, running + 1);
    else await this.#turn(origin);
    try {
      return await work();
    } finally {
      this.#leave(origin);
    }
  }

  #turn(origin: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(origin);
    if (waiting === undefined) this.#waiting.set(origin, [resolve]);
    else waiting.push(resolve);
    return promise;
  }

  /** The room goes to the next one, if there is one. */
  #leave(origin: string): void {
    const next = this.#waiting.get(origin)?.shift();
    if (next !== undefined) next();
    else this.#running.set(origin, (this.#running.get(origin) ?? 1) - 1);
  }
}
