// Interleavings that broke earlier drafts of the protocol, replayed with the real handlers.
import { describe, expect, test } from 'vitest';
import { claimObject, markerObject } from '#shared/plan/objects.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';
import {
  HOUR_MS,
  INSERT,
  LOST_INSERT,
  longGuest,
  MINUTE_MS,
  NO_RETRY,
  REFUSED_REPEATS,
  start,
  verifyEnd,
  ZONES,
} from '#test/simulation/trace.ts';

describe('an insert whose outcome is not known', () => {
  test('E2: a 4xx to a repeat is unknown; the machine that landed is adopted, no other zone is tried', async () => {
    const kernel = start({ guest: longGuest });
    kernel.world.faults.plant(LOST_INSERT, REFUSED_REPEATS);
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    expect(kernel.result('r1')?.attempts).toMatchObject([{ attempt: 1, zone: 'us-central1-a' }]);
    expect(kernel.inserts.every((call) => call.url.includes('/us-central1-a/'))).toBe(true);
  });

  test('E3: the same when the function dies in place of the repeat', async () => {
    const at = (await deathOf('compute.instances.insert')) ?? -1;
    const kernel = start({ guest: longGuest, kill: { function: 'submit', at, when: 'after' } });
    kernel.world.faults.plant({ ...REFUSED_REPEATS, match: { ...INSERT, after: 1 } });
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    expect(kernel.inserts.every((call) => call.url.includes('/us-central1-a/'))).toBe(true);
  });

  test('E2: a first call is refused after another delivery’s call of that intent has landed', async () => {
    let calls = 0;
    const kernel: Kernel = start({
      guest: longGuest,
      interference: {
        around: async (actor, call, perform) => {
          if (actor.name !== 'submit' || call.method !== INSERT.method) return await perform();
          calls += 1;
          if (calls === 2) return await perform().finally(() => kernel.clock.sleep(MINUTE_MS));
          if (calls > 2) return await perform();
          kernel.request({ ...REQUEST, ...ZONES, runId: 'r1' });
          await kernel.clock.sleep(5_000);
          kernel.world.faults.plant({ ...REFUSED_REPEATS, reason: 'resourceNotFound', times: 1 });
          return await perform();
        },
      },
    });
    await kernel.run(2 * HOUR_MS);
    expect(calls).toBeGreaterThan(1);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
    expect(kernel.inserts.every((call) => call.url.includes('/us-central1-a/'))).toBe(true);
    expect(kernel.result('r1')?.places).toEqual([]);
  });

  /** The index of submit's first call of a method in a calm run. */
  async function deathOf(method: string): Promise<number | null> {
    const calm = start();
    await calm.run(MINUTE_MS, { sweeps: false });
    const calls = calm.calls.filter((call) => call.function === 'submit');
    const index = calls.findIndex((call) => call.method === method);
    return index < 0 ? null : index;
  }
});

describe('no attempt ends with a free claim', () => {
  test('E5: preempted before its claim; a frozen insert lands later: it finds the claim taken', async () => {
    const guest = (machine: { name: string }) =>
      machine.name.endsWith('-1') ? { ...GOOD_GUEST, bootMs: 60_000 } : longGuest();
    const kernel = start({ guest, world: { compute: { requestIdWindowMs: MINUTE_MS } } });
    await kernel.run(20_000, { sweeps: false });
    const instance = kernel.record('r1')?.attempts[0]?.instance ?? '';
    const zone = 'us-central1-a';
    kernel.call({ method: 'local.compute.preempt', params: { zone, name: instance } });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.record('r1')?.attempts).toMatchObject([
      { end: { status: 'PREEMPTED' } },
      { end: null },
    ]);
    const frozen = kernel.inserts[0];
    if (frozen === undefined) throw new Error('no insert was sent');
    expect(await kernel.send(frozen)).toBe(200);
    await kernel.run(2 * HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works.map((work) => work.attempt)).toEqual([2]);
  });
});

describe('a last word that crosses the loss of its machine', () => {
  const succeeded = (kernel: Kernel) => {
    const attempt = kernel.record('r1')?.attempts[0];
    const name = markerObject(attempt?.instance ?? '');
    const live = JSON.parse(kernel.object(name) ?? '{}');
    const word = {
      ...live,
      status: 'SUCCEEDED',
      exit_code: 0,
      cause: 'exit',
      nonce: attempt?.nonce,
    };
    kernel.put(name, JSON.stringify(word));
  };
  const lossy = {
    storage: { notificationLoss: 1, objectWriteGapMs: 0 },
    logging: { sink: { loss: 1 } },
  };

  test('E7: the seal meets a marker that landed after the machine was gone: SUCCEEDED', async () => {
    let landed = false;
    const kernel = start({
      world: lossy,
      guest: longGuest,
      before: (call, world) => {
        const seals =
          call.method === 'storage.objects.insert' && call.name.includes('runs/gce-status/');
        if (call.function !== 'sweep' || !seals || landed) return;
        landed = true;
        succeeded(world);
      },
    });
    await kernel.run(30_000, { sweeps: false });
    const instance = kernel.record('r1')?.attempts[0]?.instance ?? '';
    kernel.call({
      method: 'local.compute.preempt',
      params: { zone: 'us-central1-a', name: instance },
    });
    await kernel.run(HOUR_MS);
    expect(landed).toBe(true);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
  });

  test('E8: success is written between the sweep’s list and its question after the machine', async () => {
    let crossed = false;
    const kernel = start({
      world: lossy,
      guest: longGuest,
      before: (call, world) => {
        if (call.function !== 'sweep' || call.method !== 'compute.instances.get' || crossed) return;
        crossed = true;
        succeeded(world);
      },
    });
    await kernel.run(30_000, { sweeps: false });
    const instance = kernel.record('r1')?.attempts[0]?.instance ?? '';
    const machine = { project: 'local-project', zone: 'us-central1-a', instance };
    kernel.call({ method: 'compute.instances.delete', params: machine });
    await kernel.run(HOUR_MS);
    expect(crossed).toBe(true);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.result('r1')?.attempts).toHaveLength(1);
  });
});

describe('a function that was frozen', () => {
  test('a marker of the attempt before counts for nothing when the record has gone on meanwhile', async () => {
    let frozen = false;
    const kernel: Kernel = start(
      {
        guest: (machine) => ({
          ...longGuest(),
          shutdown: { containerMs: 1000, reports: machine.name.endsWith('-1') },
        }),
        interference: {
          around: async (actor, call, perform) => {
            const writes =
              call.method === 'storage.objects.insert' && call.name.includes('/state/');
            const ending = kernel.record('r1')?.state === 'RUNNING';
            if (actor.name === 'finalize' && writes && ending && !frozen) {
              frozen = true;
              await kernel.clock.sleep(20 * MINUTE_MS);
            }
            return await perform();
          },
        },
      },
      { provisioning: 'spot' },
    );
    await kernel.run(MINUTE_MS, { sweeps: false });
    const name = kernel.record('r1')?.attempts[0]?.instance ?? '';
    kernel.call({ method: 'local.compute.preempt', params: { zone: 'us-central1-a', name } });
    await kernel.run(2 * HOUR_MS);
    expect(frozen).toBe(true);
    expect(kernel.record('r1')?.attempts).toMatchObject([
      { end: { cause: 'preempted' } },
      { order: null, end: { status: 'SUCCEEDED' } },
    ]);
    verifyEnd(kernel, 'SUCCEEDED');
  });
});

describe('a claim whose reply is lost', () => {
  const lostClaim = (principal: string) =>
    ({
      match: { method: 'storage.objects.insert', nameIncludes: 'claim.json', principal },
      effect: 'after',
      kind: 'cut',
      times: 1,
    }) as const;

  test('E10: the machine reads its own bytes back and works', async () => {
    const kernel = start();
    kernel.world.faults.plant(lostClaim('worker@local-project.iam.gserviceaccount.com'));
    await kernel.run(HOUR_MS);
    verifyEnd(kernel, 'SUCCEEDED');
    expect(kernel.works).toHaveLength(1);
  });

  test('E10: the control plane reads its own claim back and ends the attempt', async () => {
    const kernel = start(
      { guest: () => ({ ...GOOD_GUEST, bootMs: 2 * HOUR_MS }) },
      { retry: NO_RETRY },
    );
    kernel.world.faults.plant(lostClaim('sweep@local-project.iam.gserviceaccount.com'));
    await kernel.run(HOUR_MS);
    expect(JSON.parse(kernel.object(claimObject('r1', 1)) ?? '{}')).toMatchObject({
      by: 'control',
    });
    verifyEnd(kernel, 'LOST');
    expect(kernel.works).toEqual([]);
    expect(kernel.record('r1')?.attempts[0]?.claim).not.toMatchObject({ by: 'machine' });
    const asked = kernel.calls.filter((call) => call.method === 'compute.zoneOperations.list');
    expect(asked).toEqual([]);
  });
});

describe('a machine whose marker was never written', () => {
  test('its run is active: a record that cannot be read in one pass does not make it a stray', async () => {
    const marker = { function: 'submit', method: 'storage.objects.insert' } as const;
    let at = -1;
    const calm = start({
      before: (call, kernel) => {
        const own = kernel.calls.filter((one) => one.function === 'submit').length - 1;
        if (call.method === marker.method && call.name.startsWith('runs/gce-status/')) at = own;
      },
    });
    await calm.run(MINUTE_MS, { sweeps: false });
    const never = { ...GOOD_GUEST, bootMs: 20 * MINUTE_MS };
    const kernel = start({
      guest: () => never,
      kill: { function: 'submit', at, when: 'before' },
    });
    await kernel.run(6 * MINUTE_MS);
    expect(kernel.machines()).toHaveLength(1);
    kernel.world.faults.plant({
      match: {
        method: 'storage.objects.get',
        nameIncludes: 'record.json',
        principal: 'sweep@local-project.iam.gserviceaccount.com',
      },
      effect: 'after',
      kind: 'garbage',
      times: 1,
    });
    await kernel.run(3 * MINUTE_MS);
    expect(kernel.logs.map(({ event }) => event)).toContain('run-unknown');
    expect(kernel.machines()).toHaveLength(1);
    expect(kernel.record('r1')?.attempts[0]).toMatchObject({ order: null, end: null });
  });
});
