// A guest's calls and pauses: made while its machine has power, repeated while they may pass.
import type { Clock } from '#shared/cloud/clock.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';

/** The power went: nothing of this boot happens any more. */
export class PowerOff extends Error {}

const REPEAT_PAUSE_MS = 5_000;

export class GuestCalls {
  readonly clock: Clock;
  readonly store: ObjectStore;
  readonly #alive: () => boolean;

  constructor(world: { clock: Clock; store: ObjectStore; alive: () => boolean }) {
    this.clock = world.clock;
    this.store = world.store;
    this.#alive = world.alive;
  }

  async pause(milliseconds: number): Promise<void> {
    await this.clock.sleep(milliseconds);
    this.#requirePower();
  }

  /** Repeats a call that may pass; gives the last error up after so many tries. */
  async persist<Reply>(call: () => Promise<Reply>, tries = Number.POSITIVE_INFINITY) {
    for (let made = 1; ; made++) {
      this.#requirePower();
      try {
        const reply = await call();
        this.#requirePower();
        return reply;
      } catch (error) {
        if (!(error instanceof CloudError) || made >= tries) throw error;
      }
      await this.pause(REPEAT_PAUSE_MS);
    }
  }

  #requirePower(): void {
    if (!this.#alive()) throw new PowerOff();
  }
}
