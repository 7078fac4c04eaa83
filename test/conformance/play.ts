// The cases as tests on some stage; `MAYFLY_TEST_TABLE=1` prints what was seen.
import { afterAll, describe, expect, test } from 'vitest';
import type { Case, Stage } from '#test/conformance/cases.ts';

const LIMIT_MS = 240_000;

export function playAll(
  where: string,
  cases: readonly Case[],
  open: (runId: string) => Promise<Stage>,
): void {
  const rows: string[] = [];
  describe(where, () => {
    test.each(cases.map((one) => [one.name, one] as const))(
      '%s',
      async (name, { play, states, mayRun, result, executions }) => {
        const id = name.slice(0, name.indexOf(':'));
        const stage = await open(`case-${id.toLowerCase()}`);
        await play(stage);
        const seen = stage.record()?.history.map(({ state }) => state) ?? [];
        rows.push(`${name.padEnd(58)} ${seen.join(' → ')}`);
        expect(mayRun ? seen.filter((state) => state !== 'RUNNING') : seen).toEqual(states);
        expect(stage.result()).toMatchObject(result);
        expect(stage.executions()).toHaveLength(executions);
      },
      LIMIT_MS,
    );
    afterAll(() => {
      if (process.env.MAYFLY_TEST_TABLE !== '1') return;
      process.stdout.write(`\n${where}\n${rows.map((row) => `  ${row}\n`).join('')}`);
    });
  });
}
