import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Many tests wait for processes of their own: a core kept free, the default, is half of two.
    maxWorkers: '100%',
    sequence: { hooks: 'list' },
  },
});
