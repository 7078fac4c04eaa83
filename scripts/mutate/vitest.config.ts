// The tests that judge a mutation: pure and fast, so that each change is tried in a moment. Tests that
// read the sources, or run shells and other programs, say nothing about a changed line.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/lifecycle/*.test.ts', 'test/plan/*.test.ts'],
    exclude: ['plan', 'startup-script', 'instance-body', 'machines'].map(
      (name) => `test/plan/${name}.test.ts`,
    ),
  },
});
