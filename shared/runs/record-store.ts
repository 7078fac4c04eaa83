// Reading and swapping records. A 412 after a lost reply is told from a lost race by the writer's
// nonce; a record of another schema is never rewritten.
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { type RunRecord, readRecord } from '#shared/lifecycle/record.ts';
import { isForward } from '#shared/lifecycle/transitions.ts';
import { recordObject } from '#shared/plan/objects.ts';

export interface LoadedRecord {
  readonly record: RunRecord;
  /** '0': not written yet. */
  readonly generation: string;
}

/** The live record, or null when there is none. Throws on a record that this version cannot read. */
export async function loadRecord(store: ObjectStore, runId: string): Promise<LoadedRecord | null> {
  const reply = await store.read(recordObject(runId));
  if (reply.kind === 'absent') return null;
  const reading = readRecord(reply.bytes);
  if (reading.kind === 'foreign') {
    throw new CloudError({
      code: 'unreadable',
      method: 'storage.objects.get',
      status: null,
      reason: 'record-schema',
      message: `${recordObject(runId)}: ${reading.reason}`,
    });
  }
  return { record: reading.record, generation: reply.generation };
}

export type SwapReply =
  | { readonly kind: 'written'; readonly loaded: LoadedRecord }
  | { readonly kind: 'lost' };

/** Puts `next` in the place of `loaded`, or creates it when there was none. */
export async function swapRecord(
  store: ObjectStore,
  loaded: LoadedRecord,
  next: RunRecord,
): Promise<SwapReply> {
  if (loaded.generation !== '0' && !isForward(loaded.record, next)) {
    const step = `${loaded.record.state} -> ${next.state}`;
    throw new Error(`run ${next.runId}: a record never goes back (${step})`);
  }
  const name = recordObject(next.runId);
  const reply = await store.write(name, JSON.stringify(next), {
    ifGeneration: loaded.generation,
    contentType: 'application/json',
  });
  if (reply.kind === 'written') {
    return { kind: 'written', loaded: { record: next, generation: reply.generation } };
  }
  const live = await loadRecord(store, next.runId);
  if (live !== null && live.record.writer === next.writer) return { kind: 'written', loaded: live };
  return { kind: 'lost' };
}
