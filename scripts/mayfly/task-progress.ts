// What the tasks of a run on Cloud Run Jobs tell of themselves, from their progress objects: each event
// once, and only objects that have changed are read.
import { elapsed, timeColumn } from '#scripts/mayfly/progress.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { isStalled, readProgress, type TaskProgress } from '#shared/lifecycle/progress.ts';
import { currentAttempt, type RunRecord } from '#shared/lifecycle/record.ts';
import { progressPrefix } from '#shared/plan/objects.ts';

/** Objects read a look: of thousands of tasks nobody reads every line. */
const READS_MAX = 20;
const DATA_CHARACTERS_MAX = 120;

export class TaskProgressWatch {
  readonly #store: Pick<ObjectStore, 'read' | 'list'>;
  readonly #generations = new Map<string, string>();
  readonly #rows = new Map<string, TaskProgress>();
  readonly #shown = new Set<string>();

  constructor(store: Pick<ObjectStore, 'read' | 'list'>) {
    this.#store = store;
  }

  /** The lines of all events that have not been shown, by time. Throws a CloudError. */
  async look(record: RunRecord): Promise<readonly string[]> {
    const attempt = currentAttempt(record);
    if (record.runtime !== 'cloudrun-jobs' || attempt === null) return [];
    const page = await this.#store.list(progressPrefix(record.runId, attempt.number));
    const changed = page.objects.filter(
      ({ name, generation }) => this.#generations.get(name) !== generation,
    );
    for (const { name } of changed.slice(0, READS_MAX)) {
      const reply = await this.#store.read(name);
      const row = reply.kind === 'found' ? readProgress(reply.bytes) : null;
      if (reply.kind === 'found') this.#generations.set(name, reply.generation);
      if (row !== null) this.#rows.set(name, row);
    }
    return this.#newLines(record);
  }

  /** True when each task that has said anything has said its end. */
  isOver(): boolean {
    return this.#rows.size > 0 && [...this.#rows.values()].every(({ phase }) => phase === 'ended');
  }

  /** A word about tasks that say nothing any more; null when all do. */
  stalled(record: RunRecord, nowMs: number): string | null {
    if (record.state !== 'RUNNING') return null;
    const silent = [...this.#rows.values()].filter((row) => isStalled(row, nowMs));
    const [first] = silent.sort((a, b) => a.lastMs - b.lastMs);
    if (first === undefined) return null;
    const who = this.#rows.size === 1 ? 'the task' : `${silent.length} tasks`;
    return `stalled: no word of ${who} for ${elapsed(nowMs - first.lastMs)}`;
  }

  #newLines({ acceptedMs, attempts }: RunRecord): readonly string[] {
    const several = this.#rows.size > 1;
    const events = [...this.#rows].flatMap(([name, { task, events }]) =>
      events.map((event) => ({ ...event, task, key: `${name}#${event.seq}` })),
    );
    const fresh = events.filter(({ key }) => !this.#shown.has(key));
    for (const { key } of fresh) this.#shown.add(key);
    return fresh
      .sort((a, b) => a.atMs - b.atMs || a.seq - b.seq)
      .map(({ atMs, kind, data, task }) => {
        const who = several ? `task ${task} ` : '';
        const suffix = attempts.length > 1 ? ` (attempt ${attempts.length})` : '';
        const text = `${`${who}${kind}`.padEnd(12)} ${dataText(data)}${suffix}`.trimEnd();
        return `${timeColumn(atMs - acceptedMs)}  ${text}`;
      });
  }
}

/** `done 2, of 3`; what is no plain value in JSON. */
function dataText(data: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(data).map(([name, value]) => {
    return `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  const text = printable(parts.join(', '));
  return text.length > DATA_CHARACTERS_MAX ? `${text.slice(0, DATA_CHARACTERS_MAX)}…` : text;
}

/** A command's own words must not move the cursor. */
const printable = (text: string) => text.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
