// Every guard that the simulation takes out stands where its edit looks for it.
import { describe, expect, test } from 'vitest';
import { GUARDS } from '#test/simulation/swarm/guards.ts';
import { withoutGuard } from '#test/simulation/swarm/remove-guard.ts';

test('at least thirty guards can be taken out, each by its own name', () => {
  expect(GUARDS.length).toBeGreaterThanOrEqual(30);
  expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
});

describe('a guard’s text stands exactly once in its file', () => {
  test.each(GUARDS)('$name', (guard) => {
    for (const { file } of guard.edits) expect(() => withoutGuard(file, guard)).not.toThrow();
  });
});
