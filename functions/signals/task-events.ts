// A task's event: proven by the attempt's key, put into the progress of its task, and where it says that
// the task has begun or ended, a reason to look. What is forged or replayed changes nothing but a count.
import type { JobEntry } from '#functions/signals/job-entry.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { mergeEvent, readProgress } from '#shared/lifecycle/progress.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import {
  isGenuine,
  readTaskEvent,
  type SignedEvent,
  type TaskEvent,
} from '#shared/lifecycle/task-event.ts';
import { progressObject } from '#shared/plan/objects.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { type LoadedRecord, loadRecord } from '#shared/runs/record-store.ts';

const WRITES_MAX = 5;
const WRITE_PAUSE_MS = 1_000;

export type EventReading =
  | { readonly kind: 'event'; readonly event: TaskEvent; readonly loaded: LoadedRecord }
  | { readonly kind: 'refused'; readonly reason: string; readonly runId: string | null };

/** Throws a CloudError when the record cannot be read. */
export async function readGenuineEvent(
  deps: RunDeps,
  { execution, signed }: JobEntry & { readonly signed: SignedEvent },
): Promise<EventReading> {
  const event = readTaskEvent(signed.payload);
  if (event === null) return { kind: 'refused', reason: 'no task event', runId: null };
  const loaded = await loadRecord(deps.store, event.runId);
  const reason =
    loaded === null ? 'no such run' : objection(loaded.record, event, signed, execution);
  if (loaded === null || reason !== null) {
    return { kind: 'refused', reason: reason ?? '', runId: event.runId };
  }
  return { kind: 'event', event, loaded };
}

function objection(
  record: RunRecord,
  event: TaskEvent,
  signed: SignedEvent,
  execution: string,
): string | null {
  const attempt = record.attempts.find(({ number }) => number === event.attempt);
  if (attempt?.eventKey === undefined) return `no attempt ${event.attempt} with events`;
  if (!isGenuine(attempt.eventKey, signed)) return 'the signature is not that of the attempt';
  if (event.task >= (record.terms.tasks ?? 1)) return `there is no task ${event.task}`;
  const known = executionsOf(attempt);
  // Before the record knows its execution the signature alone speaks for it.
  const foreign = known.length > 0 && !known.includes(execution);
  return foreign ? `execution ${execution} is not the attempt's` : null;
}

function executionsOf({ claim, intents }: Attempt): string[] {
  const holder = claim?.by === 'machine' ? [claim.instanceId] : [];
  // Called twice, there may be one more than the record knows, and only the claim's holder speaks.
  if (claim === null && intents.some(({ repeated }) => repeated === true)) return [];
  return [...holder, ...intents.flatMap(({ instanceId }) => instanceId ?? [])];
}

/**
 * Puts the events of tasks into their rows. One object takes about one write a second, and a task says
 * several things at once: of one row there is one writer in a process, and what comes meanwhile goes into
 * the next write together.
 */
export class ProgressWriter {
  readonly #next = new Map<
    string,
    { readonly events: TaskEvent[]; readonly stored: Promise<boolean> }
  >();
  readonly #last = new Map<string, Promise<unknown>>();

  /** False: others were quicker again and again. Throws CloudErrors but those of the rate of writes. */
  store(deps: RunDeps, event: TaskEvent): Promise<boolean> {
    const name = progressObject(event.runId, event.attempt, event.task);
    const open = this.#next.get(name);
    if (open !== undefined) {
      open.events.push(event);
      return open.stored;
    }
    const events = [event];
    const stored = this.#turn(deps, name).then(() => {
      this.#next.delete(name);
      return writeEvents(deps, name, events);
    });
    this.#next.set(name, { events, stored });
    const last = stored
      .catch(() => {})
      .then(() => {
        if (this.#last.get(name) === last) this.#last.delete(name);
      });
    this.#last.set(name, last);
    return stored;
  }

  async #turn({ clock }: RunDeps, name: string): Promise<void> {
    const last = this.#last.get(name);
    if (last === undefined) return;
    await last;
    await clock.sleep(WRITE_PAUSE_MS);
  }
}

/** By compare-and-swap; events that are there already are written by nobody. */
async function writeEvents(
  { store, clock, entropy }: RunDeps,
  name: string,
  events: readonly TaskEvent[],
): Promise<boolean> {
  for (let tries = 0; tries < WRITES_MAX; tries++) {
    if (tries > 0) await clock.sleep(Math.round(WRITE_PAUSE_MS * (1 + entropy.fraction())));
    const reply = await store.read(name);
    // A row of another version is begun anew: nothing hangs on it.
    const before = reply.kind === 'found' ? readProgress(reply.bytes) : null;
    const next = events.reduce((row, event) => mergeEvent(row, event) ?? row, before);
    if (next === before) return true;
    const ifGeneration = reply.kind === 'found' ? reply.generation : '0';
    const options = { ifGeneration, contentType: 'application/json' };
    if (await written(store.write(name, JSON.stringify(next), options))) return true;
  }
  return false;
}

async function written(write: ReturnType<RunDeps['store']['write']>): Promise<boolean> {
  try {
    return (await write).kind === 'written';
  } catch (error) {
    if (error instanceof CloudError && error.code === 'rate-limited') return false;
    throw error;
  }
}
