// Messages that never became a run: dead letters, and requests that were refused.
import * as z from 'zod';
import { newestObjects } from '#scripts/mayfly/list/newest-objects.ts';
import { readStoredResult } from '#scripts/mayfly/stored-result.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { REJECTED_PREFIX } from '#shared/plan/objects.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';

const DEAD_PREFIX = 'runs/dead/';

export interface DeadEntry {
  readonly kind: 'dead' | 'rejected';
  readonly at: string;
  readonly runId: string | null;
  readonly messageId: string;
  readonly reason: string;
  readonly object: string;
}

const letterShape = z.looseObject({ reason: z.string().default('') });

/** The newest, newest first; `more`: there are others. */
export async function listDead(
  store: Pick<ObjectStore, 'list' | 'read'>,
  sinceMs: number,
  limit: number,
): Promise<{
  readonly entries: readonly DeadEntry[];
  readonly more: boolean;
  /** Not all names were looked at. */
  readonly cut: boolean;
}> {
  const [dead, rejected] = await Promise.all([
    newestObjects(store, DEAD_PREFIX, sinceMs),
    newestObjects(store, REJECTED_PREFIX, sinceMs),
  ]);
  const found = [...dead.objects, ...rejected.objects].sort((a, b) => b.updatedMs - a.updatedMs);
  const entries = await mapBounded(found.slice(0, limit), async ({ name, updatedMs }) => {
    const reply = await store.read(name);
    return reply.kind === 'absent' ? null : readEntry(name, updatedMs, reply.bytes);
  });
  const cut = dead.cut || rejected.cut;
  return {
    entries: entries.filter((entry) => entry !== null),
    more: cut || found.length > limit,
    cut,
  };
}

function readEntry(object: string, updatedMs: number, bytes: Uint8Array): DeadEntry {
  const messageId = object.slice(object.lastIndexOf('/') + 1).replace(/\.json$/, '');
  const at = new Date(updatedMs).toISOString();
  if (object.startsWith(DEAD_PREFIX)) {
    const letter = letterShape.safeParse(parseJson(bytes));
    const reason = letter.success ? letter.data.reason : 'cannot be read';
    return { kind: 'dead', at, runId: null, messageId, reason, object };
  }
  const { runId, cause, detail, errors } = readStoredResult(object, bytes);
  const faults = errors.map(
    ({ field, value, rule }) => `${field || 'the request'} is ${value}: ${rule}`,
  );
  const words = faults.length === 0 ? detail : faults.join('; ');
  return { kind: 'rejected', at, runId, messageId, reason: `${cause}: ${words}`, object };
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
