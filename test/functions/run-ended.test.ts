// The line of a run's end, which metrics read: each of its fields, from a run on the local cloud.
import { expect, test } from 'vitest';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;

test('run-ended says what ended, where, how long each phase took, what it cost and what of it was waste', async () => {
  const kernel = new Kernel();
  kernel.request({ ...REQUEST, runId: 'metered' });
  await kernel.run(30 * MINUTE_MS);
  const result = kernel.result('metered');
  const lines = kernel.logs.filter(({ event }) => event === 'run-ended');
  expect(lines).toHaveLength(1);
  expect(lines[0]?.fields).toEqual({
    runId: 'metered',
    status: 'SUCCEEDED',
    cause: 'exit',
    runtime: 'gce',
    machineType: result?.attempts[0]?.machineType,
    region: result?.attempts[0]?.region,
    provisioningModel: 'STANDARD',
    attempts: 1,
    seconds: {
      queue: expect.any(Number),
      provision: expect.any(Number),
      boot: expect.any(Number),
      pull: result?.seconds.pull,
      execute: expect.any(Number),
      total: expect.any(Number),
    },
    costUsd: expect.any(Number),
    wasteSeconds: expect.any(Number),
    trace: undefined,
  });
  expect(result?.attempts[0]?.machineType).toMatch(/^[a-z]\d/);
});
