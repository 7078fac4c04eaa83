// Rights that an apply has given and the platform does not know yet: what is asked for meanwhile waits.
import { expect, test } from 'vitest';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';
import { MINUTE_MS, verifyEnd } from '#test/simulation/trace.ts';

test('P126: pushes get 403 for 2 minutes after the apply: the request is delivered again with back-off, not dead-lettered, and its run ends well', async () => {
  const sentMs: number[] = [];
  const kernel: Kernel = new Kernel({
    interference: {
      around: async (_, __, perform) => await perform(),
      push: async (name) => {
        const nowMs = kernel.clock.nowMs() - startMs;
        if (name === 'submit' && nowMs < 2 * MINUTE_MS) sentMs.push(nowMs);
        return nowMs < 2 * MINUTE_MS ? 403 : 'deliver';
      },
    },
  });
  const startMs = kernel.clock.nowMs();
  kernel.request({ ...REQUEST, runId: 'r1' });
  await kernel.run(2 * MINUTE_MS - 1000, { sweeps: false });
  expect(kernel.objects('runs/state/')).toEqual([]);
  // Minimum back-off 10 s, doubled each time: 10, 20, 40, and 80 is past the two minutes.
  const gaps = sentMs.slice(1).map((ms, index) => Math.round((ms - (sentMs[index] ?? 0)) / 1000));
  expect(gaps).toEqual([10, 20, 40]);
  await kernel.run(10 * MINUTE_MS);
  verifyEnd(kernel, 'SUCCEEDED');
  expect(kernel.objects('runs/dead/')).toEqual([]);
  expect(kernel.objects('runs/rejected/')).toEqual([]);
});

test.each(['submit', 'finalize'] as const)(
  'P126: the account of %s may not reach the bucket for 2 minutes: nothing is lost, and the run ends well',
  async (late) => {
    let refused = 0;
    const kernel: Kernel = new Kernel({
      before: ({ function: name, method }, { world }) => {
        if (name !== late || !method.startsWith('storage.')) return;
        if (kernel.clock.nowMs() - startMs >= 2 * MINUTE_MS) return;
        refused += 1;
        const match = { method: 'storage.*' };
        world.faults.plant({ match, effect: 'before', kind: 'status', status: 403, times: 1 });
      },
    });
    const startMs = kernel.clock.nowMs();
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20 * MINUTE_MS);
    expect(refused).toBeGreaterThan(1);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.objects('runs/dead/')).toEqual([]);
  },
);
