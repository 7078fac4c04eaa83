// Interleavings of machines, their last words and cancels that broke earlier drafts of the protocol,
// replayed with the real handlers.
import { describe, expect, test } from 'vitest';
import { claimObject } from '#shared/plan/objects.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import {
  firstGuest,
  firstInstance,
  HOUR_MS,
  longGuest,
  MINUTE_MS,
  preempt,
  start,
  verifyEnd,
} from '#test/simulation/trace.ts';

const SPOT = { provisioning: 'spot', retry: { preempted: 2, failed: 2 } };
const SPEAKS = { containerMs: 1000, reports: true };
const slowDelete = { compute: { removalMs: 10 * MINUTE_MS } };
const cancel = (kernel: Kernel) =>
  kernel.publish('run-requests', JSON.stringify({ cancel: 'r1', reason: 'enough' }));

describe('a cancel', () => {
  test('E6: that meets STOPPING: CANCELLED, no further attempt', async () => {
    const kernel = start(
      { guest: () => ({ ...longGuest(), shutdown: SPEAKS }), world: slowDelete },
      SPOT,
    );
    await kernel.run(MINUTE_MS, { sweeps: false });
    preempt(kernel);
    await kernel.run(MINUTE_MS);
    expect(kernel.record('r1')?.state).toBe('STOPPING');
    cancel(kernel);
    await kernel.run(HOUR_MS);
    verifyEnd(kernel, 'CANCELLED');
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
  });

  test('E12: before its request; submit dies before the result, the sweep finishes it', async () => {
    const calm = new Kernel();
    cancel(calm);
    await calm.run(MINUTE_MS, { sweeps: false });
    const own = calm.calls.filter((call) => call.function === 'submit');
    const at = own.findIndex((call) => /^runs\/(?:results|ended)\//.test(call.name));
    expect(at).toBeGreaterThan(0);
    const kernel = new Kernel({ kill: { function: 'submit', at, when: 'before' } });
    cancel(kernel);
    await kernel.run(MINUTE_MS, { sweeps: false });
    expect(kernel.result('r1')).toBeNull();
    await kernel.run(10 * MINUTE_MS);
    verifyEnd(kernel, 'CANCELLED');
  });
});

describe('the watchdog', () => {
  test('E9: meets a machine that is a little late: claim first; lost, and nothing is ordered', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let met = false;
    const kernel: Kernel = start({
      guest: () => ({ ...GOOD_GUEST, workMs: 25 * MINUTE_MS }),
      interference: {
        around: async (actor, call, perform) => {
          const claims =
            call.method === 'storage.objects.insert' && call.name === claimObject('r1', 1);
          if (claims && actor.kind === 'guest') await promise;
          if (claims && actor.kind === 'function') {
            met = true;
            resolve();
            await kernel.clock.sleep(1);
          }
          return await perform();
        },
      },
    });
    await kernel.run(30 * MINUTE_MS);
    expect(met).toBe(true);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', attempts: [{ order: null }] });
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
  });
});

describe('a machine that boots again', () => {
  const reset = (kernel: Kernel) => {
    const params = {
      project: 'local-project',
      zone: 'us-central1-a',
      instance: firstInstance(kernel),
    };
    kernel.call({ method: 'compute.instances.reset', params });
  };

  test('E13: before its claim: it may claim and work once', async () => {
    const kernel = start({ guest: () => ({ ...GOOD_GUEST, bootMs: MINUTE_MS }) });
    await kernel.run(30_000, { sweeps: false });
    reset(kernel);
    await kernel.run(HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works.map((work) => work.attempt)).toEqual([1]);
  });

  test('E13: after its claim: it reports interrupted and does not work', async () => {
    const kernel = start({ guest: firstGuest({ workMs: 30 * MINUTE_MS }) });
    await kernel.run(MINUTE_MS, { sweeps: false });
    reset(kernel);
    await kernel.run(HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works.map((work) => work.attempt)).toEqual([1, 2]);
    expect(kernel.result('r1')?.attempts).toMatchObject([
      { status: 'LOST', cause: 'interrupted' },
      { status: 'SUCCEEDED' },
    ]);
  });
});

describe('the attempt after one whose machine is still being deleted', () => {
  /** Whether attempt 1's machine was there when attempt 2's booted. */
  function watched(plan: object) {
    const met: boolean[] = [];
    const guest = firstGuest(plan);
    const kernel: Kernel = start(
      {
        guest: (machine) => {
          if (machine.name.endsWith('-2'))
            met.push(kernel.machines().includes(firstInstance(kernel)));
          return guest(machine);
        },
        world: slowDelete,
      },
      SPOT,
    );
    return { kernel, met };
  }

  test('E14: begins at once when its container ended by itself', async () => {
    const { kernel, met } = watched({ exitCode: 3 });
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(met).toEqual([true]);
  });

  test('E14: after preempted it begins only when that machine is gone', async () => {
    const { kernel, met } = watched({ workMs: 30 * MINUTE_MS, shutdown: SPEAKS });
    await kernel.run(MINUTE_MS, { sweeps: false });
    preempt(kernel);
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(met).toEqual([false]);
  });
});
