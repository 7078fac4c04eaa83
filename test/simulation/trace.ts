// What the traces begin with and end with: one run in two zones over the real handlers.
import { expect } from 'vitest';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const ZONES = { place: { zones: ['us-central1-a', 'us-central1-b'] } };
export const INSERT = { method: 'compute.instances.insert' } as const;
export const LOST_INSERT = { match: INSERT, effect: 'after', kind: 'hang', times: 1 } as const;
export const REFUSED_REPEATS = {
  match: INSERT,
  effect: 'before',
  kind: 'status',
  status: 400,
  reason: 'invalid',
  times: Number.POSITIVE_INFINITY,
} as const;
/** Every insert is asked in vain, and none is made. */
export const SILENT_INSERTS = {
  match: INSERT,
  effect: 'before',
  kind: 'hang',
  times: Number.POSITIVE_INFINITY,
} as const;
export const NO_RETRY = { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 };

export function start(options: KernelOptions = {}, request: object = {}): Kernel {
  const kernel = new Kernel(options);
  kernel.request({ ...REQUEST, ...ZONES, runId: 'r1', ...request });
  return kernel;
}

/** One result, nothing left; each attempt worked on one machine at most. */
export function verifyEnd(kernel: Kernel, status: string): void {
  expect(kernel.result('r1')?.status).toBe(status);
  expect(kernel.objects('runs/results/')).toHaveLength(1);
  const attempts = kernel.works.map((work) => work.attempt);
  expect(new Set(attempts).size).toBe(attempts.length);
  expect(kernel.machines()).toEqual([]);
  expect(kernel.disks()).toEqual([]);
  expect(kernel.objects('runs/active/')).toEqual([]);
}

export const longGuest = () => ({ ...GOOD_GUEST, workMs: 50 * MINUTE_MS });

/** The name of attempt 1's machine. */
export const firstInstance = (kernel: Kernel) => kernel.record('r1')?.attempts[0]?.instance ?? '';

export function preempt(kernel: Kernel): void {
  const params = { zone: 'us-central1-a', name: firstInstance(kernel) };
  kernel.call({ method: 'local.compute.preempt', params });
}

/** Guests of attempt 1 by this plan, later ones good. */
export const firstGuest =
  (plan: object) =>
  ({ name }: { readonly name: string }) =>
    name.endsWith('-1') ? { ...GOOD_GUEST, ...plan } : GOOD_GUEST;
