// How long a watch waits for a run that nothing is known of.
import { expect, test } from 'vitest';
import { followRun } from '#scripts/mayfly/follow.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';

const EMPTY = {
  read: async () => ({ kind: 'absent' }),
  list: async () => ({ objects: [], nextPageToken: null }),
} as unknown as ObjectStore;

/** Follows a run that never appears until the person gives up after an hour. */
async function follow(messageId: string | null) {
  let nowMs = 0;
  const controller = new AbortController();
  const clock = {
    nowMs: () => nowMs,
    async sleep(milliseconds: number) {
      nowMs += milliseconds;
      if (nowMs >= 3_600_000) controller.abort();
    },
  };
  const deps = {
    ...{ store: EMPTY, clock, compute: null, note: () => {}, move: () => {} },
    interruption: controller.signal,
  };
  const end = await followRun(deps, {
    ...{ runId: 'r', messageId, foreignResult: false, pollMs: 2000 },
  });
  return { kind: end.kind, seconds: nowMs / 1000 };
}

test('a run of which nothing appears within a minute is unknown', async () => {
  expect(await follow(null)).toEqual({ kind: 'unknown', seconds: 62 });
});

test('who has sent the request waits for it', async () => {
  expect(await follow('message-1')).toEqual({ kind: 'detached', seconds: 3600 });
});
