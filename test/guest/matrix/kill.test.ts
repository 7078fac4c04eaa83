// The kill matrix: the real scripts, struck in each step by each blow, and what real functions make of it.
import { describe, expect, test } from 'vitest';
import { testsWith } from '#test/guest/boot/parts.ts';
import { BLOWS } from '#test/guest/matrix/kill-blows.ts';
import { runKillCase, seenOf } from '#test/guest/matrix/kill-case.ts';
import { ROWS } from '#test/guest/matrix/kill-rows.ts';
import { truthOf } from '#test/guest/matrix/kill-truth.ts';

const LIMIT_MS = 300_000;

describe.runIf(testsWith('matrix')).each(ROWS)('struck in $name', (row) => {
  test.concurrent.each(BLOWS)(
    '$name',
    async (blow) => {
      const outcome = await runKillCase(row, blow);
      expect(seenOf(outcome), outcome.steps).toEqual(truthOf(row, blow));
      expect(outcome.works).toBeLessThanOrEqual(1);
      expect(outcome.result?.attempts).toHaveLength(1);
      expect(outcome.leftovers).toEqual([]);
    },
    LIMIT_MS,
  );
});
