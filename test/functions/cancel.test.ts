// A cancel at every moment of a run: it ends once, truly, and nothing is left.
import { describe, expect, test } from 'vitest';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { type CountedCall, Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Publishes the cancel before the n-th call of any function, once. */
async function cancelAt(index: number, options: KernelOptions = {}): Promise<Kernel> {
  let calls = 0;
  const before = (_call: CountedCall, kernel: Kernel) => {
    if (calls++ === index) kernel.publish('run-requests', '{"cancel":"r1","reason":"test"}');
  };
  const kernel = new Kernel({ guest: () => GOOD_GUEST, ...options, before });
  kernel.request({ ...REQUEST, runId: 'r1', provisioning: 'spot' });
  await kernel.run(3 * HOUR_MS);
  return kernel;
}

function verify(kernel: Kernel, index: number): void {
  const result = kernel.result('r1');
  expect(['CANCELLED', 'SUCCEEDED'], `call ${index}`).toContain(result?.status);
  expect(result?.attempts.length, `call ${index}`).toBeLessThanOrEqual(1);
  expect(kernel.works.length).toBeLessThanOrEqual(1);
  const left = [kernel.machines(), kernel.disks(), kernel.objects('runs/active/')];
  expect(left, `call ${index}`).toEqual([[], [], []]);
  expect(kernel.objects('runs/results/')).toEqual(['runs/results/r1.json']);
}

async function callsOf(options: KernelOptions = {}): Promise<number> {
  const kernel = await cancelAt(Number.POSITIVE_INFINITY, options);
  expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
  return kernel.calls.length;
}

describe('a cancel before each call of a good run', () => {
  test('A11: it ends as CANCELLED or with the success that was quicker; nothing is left', async () => {
    const count = Math.min(await callsOf(), 60);
    const ends = new Set<string | undefined>();
    for (let index = 0; index < count; index++) {
      const kernel = await cancelAt(index);
      verify(kernel, index);
      ends.add(kernel.result('r1')?.status);
    }
    expect(ends).toEqual(new Set(['CANCELLED', 'SUCCEEDED']));
  }, 120_000);

  test('A11: the same while a place waits for stock', async () => {
    const none = { zone: 'us-central1-a', machineType: 'e2-standard-4', available: '0' };
    const place = { zones: ['us-central1-a'] };
    for (const atMs of [1_000, 6_000, 20_000, 40_000, 3 * MINUTE_MS]) {
      const kernel = new Kernel();
      kernel.call({ method: 'local.compute.stock', params: none });
      kernel.request({ ...REQUEST, runId: 'r1', place });
      await kernel.run(atMs);
      kernel.publish('run-requests', '{"cancel":"r1"}');
      await kernel.run(10 * MINUTE_MS);
      expect(kernel.result('r1')).toMatchObject({ status: 'CANCELLED', cause: 'cancelled' });
      // An intent whose call had not been noted stays open until its deadline and slack are over.
      await kernel.run(2 * HOUR_MS);
      expect([kernel.machines(), kernel.objects('runs/active/')]).toEqual([[], []]);
      expect(kernel.works).toEqual([]);
    }
  });

  test('twice, and after the end: the result stays', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, workMs: HOUR_MS / 2 }) });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(MINUTE_MS);
    for (let n = 0; n < 2; n++) kernel.publish('run-requests', `{"cancel":"r1","reason":"n${n}"}`);
    await kernel.run(HOUR_MS);
    const result = kernel.result('r1');
    expect(result).toMatchObject({ status: 'CANCELLED', cause: 'cancelled' });
    kernel.publish('run-requests', '{"cancel":"r1","reason":"late"}');
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')).toEqual(result);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });
});
