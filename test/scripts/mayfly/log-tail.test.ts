// The moving line of `watch` ends with the last line of the run's output.
import { expect, test } from 'vitest';
import { followRun } from '#scripts/mayfly/follow.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { AttemptEnd } from '#shared/lifecycle/record.ts';
import { buildResult } from '#shared/lifecycle/result.ts';
import { logObject, recordObject, resultObject } from '#shared/plan/objects.ts';
import { attempt, NOW_MS, record } from '#test/lifecycle/fixtures.ts';
import { RUN } from '#test/scripts/mayfly/stored-run.ts';

const LOG = logObject(RUN, 1);

/** Follows a run whose log is `texts`, one after the other every 10 s, until it ends after them. */
async function follow(texts: readonly (string | null)[]) {
  let nowMs = NOW_MS;
  const reads: number[] = [];
  const step = () => Math.floor((nowMs - NOW_MS) / 10_000);
  const end: AttemptEnd = {
    ...{ status: 'SUCCEEDED', cause: 'exit', step: 'run', exitCode: 0, detail: '' },
    atMs: NOW_MS,
  };
  const ended = record({ state: 'SUCCEEDED', end, attempts: [attempt({ end })] });
  const textOf = (name: string): string | null => {
    const over = step() >= texts.length;
    if (name === recordObject(RUN))
      return JSON.stringify(over ? ended : record({ state: 'RUNNING' }));
    if (name === resultObject(RUN) && over) {
      return JSON.stringify(buildResult(ended, { project: 'p', fullLog: 'none' }));
    }
    if (name !== LOG) return null;
    reads.push((nowMs - NOW_MS) / 1000);
    return texts[step()] ?? null;
  };
  const store = {
    list: async () => ({ objects: [], nextPageToken: null }),
    async read(name: string) {
      const text = textOf(name);
      if (text === null) return { kind: 'absent' } as const;
      return { kind: 'found', bytes: Buffer.from(text), generation: '1', updatedMs: 0 } as const;
    },
  } as unknown as ObjectStore;
  const clock = {
    nowMs: () => nowMs,
    async sleep(milliseconds: number) {
      nowMs += milliseconds;
    },
  };
  const moves: (string | null)[] = [];
  const target = { runId: RUN, messageId: null, foreignResult: false, pollMs: 5000 };
  await followRun(
    {
      ...{ store, clock, compute: null, note: () => {} },
      move: (line: string | null) => moves.push(line),
      interruption: new AbortController().signal,
    },
    target,
  );
  return { moves, reads };
}

test('it is read every 15 seconds while the run is under way, and shown at once', async () => {
  const { moves, reads } = await follow([null, 'epoch 1\nepoch 2\n', 'epoch 3', 'epoch 4']);
  expect(reads).toEqual([0, 15, 30]);
  const tails = moves.map((line) => line?.split(' · ').at(-1));
  expect(tails.slice(0, 3).every((tail) => tail?.endsWith('in all'))).toBe(true);
  expect(tails.slice(3)).toEqual(['epoch 2', 'epoch 2', 'epoch 2', 'epoch 4', 'epoch 4']);
});

test('a long line is cut, and what would move the cursor is not printed', async () => {
  const { moves } = await follow([`\u001b[2J${'x'.repeat(100)}\n`]);
  expect(moves[0]?.split(' · ').at(-1)).toBe(`\ufffd[2J${'x'.repeat(76)}`);
});
