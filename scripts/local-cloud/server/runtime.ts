// The world in real time: every call at the present instant, timers when they are due, and events handed
// to those who carry them out.
import { EventEmitter, once } from 'node:events';
import { advance, apply, nextDueMs } from '#scripts/local-cloud/apply.ts';
import {
  type Call,
  isMachineEvent,
  type JobTaskEvent,
  type MachineEvent,
  type PushEvent,
  type Reply,
  type WorldEvent,
} from '#scripts/local-cloud/call.ts';
import type { World } from '#scripts/local-cloud/world.ts';

const TIMER_MS_MAX = 2_147_483_647;

export interface RuntimeListeners {
  readonly push: (event: PushEvent) => void;
  readonly machine: (event: MachineEvent) => void;
  readonly task: (event: JobTaskEvent) => void;
}

export class Runtime {
  readonly world: World;
  readonly nowMs: () => number;
  readonly #listeners: RuntimeListeners;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(world: World, nowMs: () => number, listeners: RuntimeListeners) {
    this.world = world;
    this.nowMs = nowMs;
    this.#listeners = listeners;
  }

  /** Makes a call now. After the end of the runtime it is answered, and nothing comes of its events. */
  perform(call: Call): Reply {
    const { reply, events } = apply(this.world, this.nowMs(), call);
    this.#carryOut(events);
    if (call.method !== 'metadata.get') {
      this.#changes.emit('change');
    }
    return reply;
  }

  /** Resolves at the next change of the world, or when the signal is aborted. */
  async changed(signal: AbortSignal): Promise<void> {
    await once(this.#changes, 'change', { signal }).catch((error: unknown) => {
      if (!signal.aborted) {
        throw error;
      }
    });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #carryOut(events: readonly WorldEvent[]): void {
    if (this.#closed) {
      return;
    }
    for (const event of events) {
      if (event.kind === 'push') {
        this.#listeners.push(event);
      } else if (isMachineEvent(event)) {
        this.#listeners.machine(event);
      } else {
        this.#listeners.task(event);
      }
    }
    this.#plan();
  }

  #plan(): void {
    clearTimeout(this.#timer);
    const dueMs = nextDueMs(this.world);
    if (dueMs !== null) {
      const waitMs = Math.min(Math.max(dueMs - this.nowMs(), 0), TIMER_MS_MAX);
      this.#timer = setTimeout(() => this.#wake(), waitMs);
    }
  }

  #wake(): void {
    this.#carryOut(advance(this.world, this.nowMs()));
    this.#changes.emit('change');
  }
}
