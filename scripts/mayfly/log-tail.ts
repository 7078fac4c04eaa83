// The last line of what a run writes, from the object that its machine rewrites every minute.
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { logObject } from '#shared/plan/objects.ts';

/** Between two reads: what is read is up to a minute old anyway. */
const READ_MS = 15_000;
const CHARACTERS_MAX = 80;

export class LogTail {
  readonly #store: Pick<ObjectStore, 'read'>;
  #object = '';
  #readMs = 0;
  #line: string | null = null;

  constructor(store: Pick<ObjectStore, 'read'>) {
    this.#store = store;
  }

  /** Null: nothing was written yet, or nothing runs. Throws a CloudError. */
  async look(record: RunRecord, nowMs: number): Promise<string | null> {
    const attempt = record.attempts.at(-1);
    if (record.state !== 'RUNNING' || attempt === undefined) return null;
    const object = logObject(record.runId, attempt.number);
    if (object === this.#object && nowMs - this.#readMs < READ_MS) return this.#line;
    const reply = await this.#store.read(object);
    this.#object = object;
    this.#readMs = nowMs;
    this.#line = reply.kind === 'absent' ? null : lastLine(new TextDecoder().decode(reply.bytes));
    return this.#line;
  }
}

function lastLine(text: string): string | null {
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  // A container's own words must not move the cursor.
  const shown = line.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd').slice(0, CHARACTERS_MAX);
  return shown === '' ? null : shown;
}
