// Messages that never became a run: dead letters, and requests that were refused.
import * as z from 'zod';
import { newestObjects } from '#scripts/mayfly/list/newest-objects.ts';
import { tryRead } from '#scripts/mayfly/list/try-read.ts';
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
    const { value, unreadable } = await tryRead(loadEntry(store, name, updatedMs));
    return unreadable === null ? value : unreadEntry(name, updatedMs, unreadable);
  });
  const cut = dead.cut || rejected.cut;
  return {
    entries: entries.filter((entry) => entry !== null),
    more: cut || found.length > limit,
    cut,
  };
}

/** Null: it was deleted meanwhile. */
async function loadEntry(store: Pick<ObjectStore, 'read'>, name: string, updatedMs: number) {
  const reply = await store.read(name);
  return reply.kind === 'absent' ? null : readEntry(name, updatedMs, reply.bytes);
}

function readEntry(object: string, updatedMs: number, bytes: Uint8Array): DeadEntry {
  const entry = unreadEntry(object, updatedMs, null);
  if (entry.kind === 'dead') {
    const letter = letterShape.safeParse(parseJson(bytes));
    return letter.success ? { ...entry, reason: letter.data.reason } : entry;
  }
  const { cause, detail, errors, runId } = readStoredResult(object, bytes);
  const faults = errors.map(
    ({ field, value, rule }) => `${field || 'the request'} is ${value}: ${rule}`,
  );
  const words = faults.length === 0 ? detail : faults.join('; ');
  return { ...entry, runId, reason: `${cause}: ${words}` };
}

/** What the object's name alone tells: `…/dead/MESSAGE.json`, `…/rejected/RUN/MESSAGE.json`. */
function unreadEntry(object: string, updatedMs: number, why: string | null): DeadEntry {
  const [run = '', message = ''] = object.split('/').slice(-2);
  const dead = object.startsWith(DEAD_PREFIX);
  return {
    kind: dead ? 'dead' : 'rejected',
    at: new Date(updatedMs).toISOString(),
    runId: dead || run === '_' ? null : run,
    messageId: message.replace(/\.json$/, ''),
    reason: ['cannot be read', ...(why === null ? [] : [why])].join(': '),
    object,
  };
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
