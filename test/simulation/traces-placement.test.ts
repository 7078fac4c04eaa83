// Interleavings of placement that broke earlier drafts of the protocol, replayed with the real handlers.
import { describe, expect, test } from 'vitest';
import { claimObject } from '#shared/plan/objects.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import {
  firstGuest,
  firstInstance,
  HOUR_MS,
  INSERT,
  LOST_INSERT,
  longGuest,
  MINUTE_MS,
  REFUSED_REPEATS,
  SILENT_INSERTS,
  start,
  verifyEnd,
} from '#test/simulation/trace.ts';

const isClaim = (call: { readonly method: string; readonly name: string }) =>
  call.method === 'storage.objects.insert' && call.name === claimObject('r1', 1);

describe('an intent that never lands', () => {
  test('E1: cancelled at once; its active entry goes when it can land no more', async () => {
    const kernel = start();
    kernel.world.faults.plant(SILENT_INSERTS);
    await kernel.run(20_000, { sweeps: false });
    const [intent] = kernel.record('r1')?.attempts[0]?.intents ?? [];
    kernel.publish('run-requests', JSON.stringify({ cancel: 'r1' }));
    await kernel.run(5 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('CANCELLED');
    expect(JSON.parse(kernel.object(claimObject('r1', 1)) ?? '{}').by).toBe('control');
    const settledMs = (intent?.deadlineSeconds ?? 0) * 1000 + 5 * MINUTE_MS;
    await kernel.run(settledMs - kernel.clock.nowMs() - 1000);
    expect(kernel.objects('runs/active/')).toEqual(['runs/active/r1']);
    await kernel.run(5 * MINUTE_MS);
    verifyEnd(kernel, 'CANCELLED');
    expect(kernel.works).toEqual([]);
  });

  test('E15: it is repeated for half an hour, then abandoned; attempt 2 works', async () => {
    const sentMs: number[] = [];
    const kernel = start({
      before: (call, { clock, record }) => {
        if (call.method !== INSERT.method || record.call(kernel, 'r1')?.attempts.length !== 1)
          return;
        sentMs.push(clock.nowMs());
      },
    });
    kernel.world.faults.plant(SILENT_INSERTS);
    await kernel.run(40 * MINUTE_MS);
    kernel.world.faults.clear();
    await kernel.run(HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    const createdMs = (kernel.record('r1')?.attempts[0]?.intents[0]?.createdSeconds ?? 0) * 1000;
    expect(Math.max(...sentMs) - createdMs).toBeLessThan(30 * MINUTE_MS);
    expect(Math.max(...sentMs) - createdMs).toBeGreaterThan(25 * MINUTE_MS);
    expect(kernel.works.map((work) => work.attempt)).toEqual([2]);
    expect(kernel.record('r1')).toMatchObject({
      used: { abandoned: 1 },
      attempts: [{ end: { cause: 'machine-lost' } }, { end: { status: 'SUCCEEDED' } }],
    });
  });
});

describe('an intent that was abandoned', () => {
  test('E11: submit dies before the claim; a look goes on; its machine is kept until the claim is ours', async () => {
    let died = 0;
    let there: string[] = [];
    const kernel: Kernel = start({
      guest: firstGuest({ bootMs: 3 * HOUR_MS }),
      interference: {
        around: async (actor, call, perform) => {
          if (actor.name !== 'submit' || !isClaim(call)) return await perform();
          died += 1;
          if (died === 1) return await actor.die();
          there = kernel.machines();
          kernel.world.faults.clear();
          return await perform();
        },
      },
    });
    kernel.world.faults.plant(LOST_INSERT, REFUSED_REPEATS);
    await kernel.run(29 * MINUTE_MS);
    expect(kernel.record('r1')?.attempts[0]?.intents[0]?.status).toBe('ordered');
    await kernel.run(31 * MINUTE_MS);
    expect(died).toBeGreaterThan(1);
    expect(there).toEqual([firstInstance(kernel)]);
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works.map((work) => work.attempt)).toEqual([2]);
  });
});

describe('two machines of one attempt', () => {
  test('E4: the one in zone a holds the claim; the other one’s absence in zone b ends nothing', async () => {
    const kernel = start({
      guest: longGuest,
      world: { compute: { getLagMs: 20_000, listLagMs: 20_000 } },
    });
    const outcome = { match: { zone: 'us-central1-a' }, times: 1, machineLives: true };
    const body = { ...outcome, code: 'ZONE_RESOURCE_POOL_EXHAUSTED' };
    kernel.call({ method: 'local.compute.outcome', params: {}, body });
    await kernel.run(2 * HOUR_MS);
    expect(kernel.inserts.map((call) => /us-central1-./.exec(call.url)?.[0])).toEqual([
      'us-central1-a',
      'us-central1-b',
    ]);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    expect(kernel.result('r1')?.attempts).toMatchObject([{ attempt: 1, zone: 'us-central1-a' }]);
  });
});

describe('a zone that is tried again', () => {
  test('R4: the machine of the first try holds the claim; the second try stays open until it can land no more', async () => {
    let inserts = 0;
    const entries: string[][] = [];
    const kernel: Kernel = start(
      {
        world: { compute: { getLagMs: 20_000, listLagMs: 20_000 } },
        guest: firstGuest({ workMs: 10 * MINUTE_MS }),
        interference: {
          around: async (actor, call, perform) => {
            if (actor.name === 'submit' && call.method === INSERT.method) {
              inserts += 1;
              if (inserts === 2) {
                await kernel.clock.sleep(20 * MINUTE_MS);
                entries.push(kernel.objects('runs/active/'));
              }
            }
            return await perform();
          },
        },
      },
      { place: { zones: ['us-central1-a'] }, waitForCapacitySeconds: 900 },
    );
    const body = { times: 1, machineLives: true, code: 'ZONE_RESOURCE_POOL_EXHAUSTED' };
    kernel.call({ method: 'local.compute.outcome', params: {}, body });
    await kernel.run(15 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    await kernel.run(2 * HOUR_MS);
    expect(entries).toEqual([['runs/active/r1']]);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    expect(kernel.result('r1')?.costUsd).toBeGreaterThan(0);
  });
});

describe('a machine that comes to be between two reads', () => {
  test('R4: it was not there before its operation was done, and is asked for again after', async () => {
    let waited = false;
    const kernel: Kernel = start({
      guest: () => ({ ...longGuest(), bootMs: 2 * MINUTE_MS }),
      world: { compute: { provisioningMs: 30_000, getLagMs: 40_000, listLagMs: 40_000 } },
      interference: {
        around: async (actor, call, perform) => {
          const asks = actor.name === 'sweep' && call.method === 'compute.zoneOperations.get';
          if (asks && !waited) {
            waited = true;
            await kernel.clock.sleep(MINUTE_MS);
          }
          return await perform();
        },
      },
    });
    await kernel.run(10_000, { sweeps: false });
    kernel.spawn(kernel.sweep());
    await kernel.run(2 * HOUR_MS);
    expect(waited).toBe(true);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
  });
});
