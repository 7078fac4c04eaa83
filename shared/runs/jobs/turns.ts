// Turns for the calls that start executions, shared by all instances of the function. A turn is a
// create-only object named after its time slot: no object is written twice, and who creates it has it.
// An instance hands out its turns one after the other, so that only instances meet, not requests.
// Answers that say "too many" put everybody into one cool-down, an object that is written only then.
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { Turn } from '#shared/lifecycle/observation.ts';

export interface Pace {
  /** Calls a minute. */
  readonly submitsPerMinute: number;
  /** Calls at once after a quiet time. */
  readonly submitBurst: number;
  readonly backoffBaseSeconds: number;
  readonly backoffCapSeconds: number;
}

export const TURNS_PREFIX = 'runs/turns/';
const TRIES_MAX = 50;
const SWAPS_MAX = 5;
const MINUTE_MS = 60_000;

export interface CoolDown {
  /** Doublings so far. */
  readonly level: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** How long one answer of "too many" after another makes everybody wait; null: nothing changes. */
export function nextCoolDown(
  last: CoolDown | null,
  retryAfterMs: number | null,
  pace: Pace,
  nowMs: number,
): CoolDown | null {
  const base = pace.backoffBaseSeconds * 1000;
  const cap = pace.backoffCapSeconds * 1000;
  // The answers to calls that were on their way already say nothing new.
  const within = last !== null && nowMs < last.untilMs;
  const again = last !== null && nowMs <= last.untilMs + (last.untilMs - last.fromMs) + base;
  const level = within ? last.level : again ? last.level + 1 : 0;
  const waitMs = Math.min(cap, Math.max(within ? 0 : base * 2 ** level, retryAfterMs ?? 0));
  const untilMs = Math.max(nowMs + waitMs, within ? last.untilMs : 0);
  if (within && untilMs === last.untilMs) return null;
  return { level, fromMs: within ? last.fromMs : nowMs, untilMs };
}

export class Turns {
  readonly #pace: Pace;
  /** By region, the next slot that this instance tries. */
  readonly #next = new Map<string, number>();

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  get #slotMs(): number {
    return MINUTE_MS / this.#pace.submitsPerMinute;
  }

  /** The earliest free turn; `later` when it comes at or after `untilMs`: nothing is reserved then. */
  async take(store: ObjectStore, region: string, nowMs: number, untilMs: number): Promise<Turn> {
    const coolMs = await this.coolUntilMs(store, region, nowMs);
    const fromMs = Math.max(nowMs - (this.#pace.submitBurst - 1) * this.#slotMs, coolMs ?? 0);
    const first = Math.ceil(fromMs / this.#slotMs);
    for (let count = 0; count < TRIES_MAX; count++) {
      const slot = Math.max(first, this.#next.get(region) ?? 0);
      const atMs = Math.max(nowMs, slot * this.#slotMs);
      if (atMs >= untilMs) return { kind: 'later', atMs };
      // Said before it is tried, so that other requests of this instance try the next one.
      this.#next.set(region, slot + 1);
      const reply = await store.write(this.#objectOf(region, slot), '', { ifGeneration: '0' });
      if (reply.kind === 'written') return { kind: 'granted', atMs };
      await this.#skipTaken(store, region);
    }
    return { kind: 'later', atMs: nowMs + MINUTE_MS };
  }

  #objectOf(region: string, slot: number): string {
    const minute = Math.floor((slot * this.#slotMs) / MINUTE_MS);
    return `${TURNS_PREFIX}${region}/${minute}/${slot}`;
  }

  /** Other instances hold the slot that was tried: on to the first of its minute that nobody has. */
  async #skipTaken(store: ObjectStore, region: string): Promise<void> {
    const next = this.#next.get(region) ?? 0;
    const name = this.#objectOf(region, next);
    const prefix = name.slice(0, name.lastIndexOf('/') + 1);
    const page = await store.list(prefix, null);
    const taken = new Set(page.objects.map((object) => object.name));
    let slot = Math.max(next, this.#next.get(region) ?? 0);
    while (taken.has(this.#objectOf(region, slot))) slot += 1;
    this.#next.set(region, slot);
  }

  /** Until when nobody calls; null: one may. */
  async coolUntilMs(store: ObjectStore, region: string, nowMs: number): Promise<number | null> {
    const cool = await readCoolDown(store, region);
    // A clock that is fast must not hold everybody up for longer than any cool-down lasts.
    const longestMs = nowMs + this.#pace.backoffCapSeconds * 1000;
    return cool !== null && cool.untilMs > nowMs ? Math.min(cool.untilMs, longestMs) : null;
  }

  /** Notes an answer of "too many"; gives the end of the cool-down that holds now. */
  async coolDown(
    store: ObjectStore,
    region: string,
    retryAfterMs: number | null,
    nowMs: number,
  ): Promise<number> {
    for (let count = 0; count < SWAPS_MAX; count++) {
      const reply = await store.read(coolDownObject(region));
      const last = reply.kind === 'found' ? parseCoolDown(reply.bytes) : null;
      const next = nextCoolDown(last, retryAfterMs, this.#pace, nowMs);
      if (next === null) return last?.untilMs ?? nowMs;
      const ifGeneration = reply.kind === 'found' ? reply.generation : '0';
      try {
        const written = await store.write(coolDownObject(region), JSON.stringify(next), {
          ifGeneration,
          contentType: 'application/json',
        });
        if (written.kind === 'written') return next.untilMs;
      } catch (error) {
        // Others write it at this moment: what they note is as good.
        if (!(error instanceof CloudError)) throw error;
        return next.untilMs;
      }
    }
    return nowMs + this.#pace.backoffBaseSeconds * 1000;
  }
}

const coolDownObject = (region: string) => `${TURNS_PREFIX}${region}/cool-down.json`;

async function readCoolDown(store: ObjectStore, region: string): Promise<CoolDown | null> {
  const reply = await store.read(coolDownObject(region));
  return reply.kind === 'found' ? parseCoolDown(reply.bytes) : null;
}

function parseCoolDown(bytes: Uint8Array): CoolDown | null {
  try {
    const { level, fromMs, untilMs } = JSON.parse(new TextDecoder().decode(bytes));
    const numbers = [level, fromMs, untilMs].every((value) => typeof value === 'number');
    return numbers ? { level, fromMs, untilMs } : null;
  } catch {
    return null;
  }
}
