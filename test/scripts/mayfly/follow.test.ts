// How long a watch waits for a run that nothing is known of.
import { expect, test } from 'vitest';
import { followRun } from '#scripts/mayfly/follow.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { recordObject, rejectedObject } from '#shared/plan/objects.ts';
import { record } from '#test/lifecycle/fixtures.ts';

const EMPTY = {
  read: async () => ({ kind: 'absent' }),
  list: async () => ({ objects: [], nextPageToken: null }),
} as unknown as ObjectStore;

/** Follows a run that never appears until the person gives up after an hour. */
async function follow(messageId: string | null, store = EMPTY) {
  let nowMs = 0;
  const notes: string[] = [];
  const controller = new AbortController();
  const clock = {
    nowMs: () => nowMs,
    async sleep(milliseconds: number) {
      nowMs += milliseconds;
      if (nowMs >= 3_600_000) controller.abort();
    },
  };
  const deps = {
    ...{ store, clock, compute: null, note: (line: string) => notes.push(line), move: () => {} },
    interruption: controller.signal,
  };
  const end = await followRun(deps, {
    ...{ runId: 'r', messageId, foreignResult: false, pollMs: 2000 },
  });
  return { kind: end.kind, seconds: nowMs / 1000, notes };
}

test('a run of which nothing appears within a minute is unknown', async () => {
  expect(await follow(null)).toEqual({
    ...{ kind: 'unknown', seconds: 62 },
    notes: [expect.stringMatching(/^nothing is known of a run r yet: .*60 seconds/)],
  });
});

test('who has sent the request waits for it', async () => {
  expect(await follow('message-1')).toEqual({
    ...{ kind: 'detached', seconds: 3600, notes: [] },
  });
});

test('a message whose id another one took meanwhile ends with its own rejection, not with that run', async () => {
  const rejection = { runId: 'r', status: 'REJECTED', cause: 'conflict' };
  const objects: Readonly<Record<string, object>> = {
    [recordObject('r')]: record({ runId: 'r', state: 'RUNNING' }),
    [rejectedObject('r', 'message-1')]: rejection,
  };
  const read = async (name: string) => {
    const found = objects[name];
    if (found === undefined) return { kind: 'absent' };
    return { kind: 'found', bytes: Buffer.from(JSON.stringify(found)), generation: '1' };
  };
  const store = { ...EMPTY, read } as unknown as ObjectStore;
  expect(await follow('message-1', store)).toMatchObject({ kind: 'rejected', seconds: 0 });
  expect(await follow('message-2', store)).toMatchObject({ kind: 'detached' });
});
