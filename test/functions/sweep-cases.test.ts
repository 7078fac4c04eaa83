// Cases of the sweep that people met elsewhere, from outside: a request in; calls, objects and results out.
import { describe, expect, test } from 'vitest';
import { listMachines } from '#functions/sweep/listing.ts';
import { sweepMachine } from '#functions/sweep/machines.ts';
import { emptyReport } from '#functions/sweep/report.ts';
import type { MachineStatus } from '#scripts/local-cloud/compute/state.ts';
import { machineUsdPerHour } from '#shared/plan/cost.ts';
import { recordObject } from '#shared/plan/objects.ts';
import { openDelivery } from '#test/simulation/delivery.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const ZONE = 'us-central1-a';
const SPOT = { provisioning: 'spot' };
const ONCE = { retry: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 } };
const longGuest = () => ({ ...GOOD_GUEST, workMs: 40 * MINUTE_MS });
const PERIOD_MS = SETTINGS.sweepPeriodSeconds * 1000;

async function working(options: KernelOptions = {}, request: object = {}): Promise<Kernel> {
  const kernel = new Kernel({ guest: longGuest, ...options });
  kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] }, ...request });
  await kernel.run(30_000, { sweeps: false });
  expect(kernel.works).toHaveLength(1);
  // No signal: what follows is the sweep's alone.
  loseSignals(kernel);
  return kernel;
}

function loseSignals(kernel: Kernel): void {
  const plant = { match: { method: 'pubsub.topics.publish', nameIncludes: 'run-signals' } };
  kernel.world.faults.plant({
    ...plant,
    effect: 'before',
    kind: 'status',
    status: 403,
    times: 1e9,
  });
}

function machineOf(kernel: Kernel) {
  const [machine] = kernel.world.compute.machines.values();
  if (machine === undefined) throw new Error('no machine');
  return machine;
}

function nothingLeft(kernel: Kernel): void {
  expect(kernel.machines()).toEqual([]);
  expect(kernel.disks()).toEqual([]);
  expect(kernel.objects('runs/active/')).toEqual([]);
}

const callsOf = (kernel: Kernel) => kernel.calls.map((call) => `${call.method} ${call.name}`);
const deletes = (kernel: Kernel) =>
  callsOf(kernel).filter((line) => line.startsWith('compute.instances.delete'));
const told = (kernel: Kernel, event: string) =>
  kernel.logs.filter((line) => line.event === event).map((line) => line.message);
const refuseDeletes = (kernel: Kernel, status: number) =>
  kernel.world.faults.plant({
    match: { method: 'compute.instances.delete' },
    effect: 'before',
    kind: 'status',
    status,
    times: Number.POSITIVE_INFINITY,
  });

describe('statuses of a listed machine whose deadline is far', () => {
  test.each(['TERMINATED', 'STOPPED', 'SUSPENDED'])(
    'P74: %s: asked for afresh, then deleted, and the run ends by its cause',
    async (status) => {
      const kernel = await working({}, ONCE);
      Object.assign(machineOf(kernel), { status: status as MachineStatus });
      const before = kernel.calls.length;
      await kernel.run(PERIOD_MS + 10_000);
      const calls = callsOf(kernel).slice(before);
      const asked = calls.findIndex((line) => line.startsWith('compute.instances.get '));
      const removed = calls.findIndex((line) => line.startsWith('compute.instances.delete'));
      expect(asked).toBeGreaterThan(-1);
      expect(removed).toBeGreaterThan(asked);
      await kernel.run(10 * MINUTE_MS);
      expect(kernel.result('r1')).toMatchObject({ status: 'LOST' });
      nothingLeft(kernel);
    },
  );

  test.each(['PENDING', 'REPAIRING', 'PROVISIONING', 'STAGING', 'RUNNING', 'PENDING_STOP'])(
    'P74: %s is kept',
    async (status) => {
      const kernel = await working();
      Object.assign(machineOf(kernel), { status: status as MachineStatus });
      for (let pass = 0; pass < 3; pass++) await kernel.sweep();
      expect(deletes(kernel)).toEqual([]);
      expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
    },
  );

  test('P74: stopped when it was listed, running when it is asked for: it is kept', async () => {
    const kernel = await working({
      before: ({ method }, { world }) => {
        const [machine] = world.compute.machines.values();
        if (method === 'compute.instances.get') Object.assign(machine ?? {}, { status: 'RUNNING' });
      },
    });
    const { id: instanceId } = machineOf(kernel);
    const record = kernel.record('r1');
    const claim = { by: 'machine', instanceId, zone: ZONE, bootId: '' };
    const attempts = record?.attempts.map((attempt) => ({ ...attempt, claim }));
    await kernel.run(5_000, { sweeps: false });
    kernel.put(recordObject('r1'), JSON.stringify({ ...record, attempts }));
    Object.assign(machineOf(kernel), { status: 'TERMINATED' });
    await kernel.sweep();
    expect(deletes(kernel)).toEqual([]);
    expect(kernel.record('r1')).toMatchObject({ state: 'RUNNING', end: null });
  });
});

describe('a delete that was taken and comes to nothing', () => {
  test('P78: deleted in every pass, kept in the records until it is gone, and reported as a leak', async () => {
    const kernel = await working({}, { ...ONCE, ttlSeconds: 43_200 });
    const { name } = machineOf(kernel);
    kernel.world.compute.reluctant.set(name, Number.POSITIVE_INFINITY);
    kernel.publish('run-requests', '{"cancel":"r1","reason":"not needed"}');
    await kernel.run(4 * PERIOD_MS + 30_000);
    expect(told(kernel, 'leak-found')).toEqual([]);
    const sent = deletes(kernel).length;
    await kernel.run(3 * PERIOD_MS);
    expect(deletes(kernel).length).toBeGreaterThanOrEqual(sent + 3);
    expect(kernel.objects('runs/active/')).toHaveLength(1);
    expect(kernel.record('r1')).not.toBeNull();
    const usd = machineUsdPerHour('e2-standard-4', false)?.toFixed(4);
    expect(told(kernel, 'leak-found')[0]).toBe(
      `machine ${name} in ${ZONE} (e2-standard-4, ${usd} USD an hour): ` +
        'stop-ordered, and still RUNNING; its delete was taken',
    );
    kernel.world.compute.reluctant.clear();
    await kernel.run(3 * PERIOD_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'CANCELLED' });
    nothingLeft(kernel);
  });

  test('P78: a leak names what the platform answered', async () => {
    const kernel = await working({}, { ...ONCE, ttlSeconds: 43_200 });
    refuseDeletes(kernel, 403);
    kernel.publish('run-requests', '{"cancel":"r1","reason":"not needed"}');
    await kernel.run(8 * PERIOD_MS);
    expect(told(kernel, 'leak-found')[0]).toMatch(/its delete was refused: forbidden /);
  });
});

describe('a machine that is gone', () => {
  const gone = async (happen: (kernel: Kernel) => void) => {
    const kernel = await working({}, { ...SPOT, ...ONCE });
    happen(kernel);
    await kernel.run(20 * MINUTE_MS);
    const result = kernel.result('r1');
    nothingLeft(kernel);
    return result;
  };
  const control = (method: string) => (kernel: Kernel) => {
    const { zone, name } = machineOf(kernel);
    kernel.call({ method, params: { zone, name } });
  };

  test('B63, B65: preempted by its operation: the message says to run it again or on standard machines', async () => {
    const result = await gone(control('local.compute.preempt'));
    expect(result).toMatchObject({ status: 'PREEMPTED', cause: 'preempted' });
    expect(result?.detail).toContain('run it again, or with "provisioning": "standard"');
  });

  test('B66: deleted by somebody: CANCELLED, and it says so', async () => {
    const result = await gone((kernel) => {
      const { project, zone, name } = machineOf(kernel);
      const params = { project, zone, instance: name };
      kernel.call({ method: 'compute.instances.delete', params });
    });
    expect(result).toMatchObject({ status: 'CANCELLED', cause: 'cancelled-outside' });
    expect(result?.detail).toContain('it was deleted by somebody');
  });

  test('B64, B90: the preemption of another instance id is not this one’s', async () => {
    const result = await gone((kernel) => {
      const machine = machineOf(kernel);
      control('local.compute.hostError')(kernel);
      for (const operation of kernel.world.compute.operations.values()) {
        if (operation.operationType !== 'compute.instances.hostError') continue;
        const targetId = `${machine.id}0`;
        Object.assign(operation, { operationType: 'compute.instances.preempted', targetId });
      }
    });
    expect(result).toMatchObject({ status: 'LOST', cause: 'machine-lost' });
    expect(result?.detail).not.toContain('preempted');
  });
});

describe('what is written before it is done', () => {
  const order = (kernel: Kernel, what: RegExp) =>
    kernel.calls
      .filter((call) => call.function === 'submit')
      .findIndex((call) => what.test(`${call.method} ${call.name}`));

  test('B67: the record names the machine before it is asked for; a crash between leaves it', async () => {
    const whole = new Kernel();
    whole.request({ ...REQUEST, runId: 'r1' });
    await whole.run(MINUTE_MS, { sweeps: false });
    const insert = order(whole, /^compute\.instances\.insert/);
    expect(order(whole, /^storage\.objects\.insert .*record\.json/)).toBeLessThan(insert);
    const kernel = new Kernel({ kill: { function: 'submit', at: insert, when: 'before' } });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(5_000, { sweeps: false });
    expect(kernel.machines()).toEqual([]);
    expect(kernel.record('r1')?.attempts[0]?.intents).toHaveLength(1);
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    nothingLeft(kernel);
  });

  test('B68: a start that fails leaves nothing of what it made', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, silentFrom: 'boot' }) });
    kernel.request({ ...REQUEST, runId: 'r1', ...ONCE });
    await kernel.run(30 * MINUTE_MS);
    expect(kernel.result('r1')).toMatchObject({ status: 'LOST', cause: 'machine-lost' });
    nothingLeft(kernel);
  });

  test('B69: while its delete is refused its entry stays; the next pass that may removes it', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, selfDeleteMs: null }) });
    refuseDeletes(kernel, 503);
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(kernel.objects('runs/active/')).toHaveLength(1);
    expect(kernel.machines()).toHaveLength(1);
    kernel.world.faults.clear();
    await kernel.run(3 * PERIOD_MS);
    nothingLeft(kernel);
  });
});

describe('the final delete', () => {
  const ends = [
    { name: 'after success', guest: { exitCode: 0 }, status: 'SUCCEEDED' },
    { name: 'after failure', guest: { exitCode: 3 }, status: 'FAILED' },
    { name: 'after silence', guest: { silentFrom: 'boot' as const }, status: 'LOST' },
  ];
  test.each(ends)('A117: it is sent $name, whoever else sends one', async ({ guest, status }) => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, selfDeleteMs: null, ...guest }) });
    kernel.request({ ...REQUEST, runId: 'r1', ...ONCE });
    await kernel.run(30 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe(status);
    expect(deletes(kernel).length).toBeGreaterThanOrEqual(1);
    nothingLeft(kernel);
  });

  test('A117: a machine that is gone already is no fault', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, selfDeleteMs: 0 }) });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(20 * MINUTE_MS);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    expect(told(kernel, 'machine-undeleted')).toEqual([]);
    expect(told(kernel, 'threw')).toEqual([]);
    nothingLeft(kernel);
  });

  test('A117: between the insert and its answer: what was made is found and goes', async () => {
    const probe = new Kernel();
    probe.request({ ...REQUEST, runId: 'r1' });
    await probe.run(MINUTE_MS, { sweeps: false });
    const at = order(probe);
    const kernel = new Kernel({ kill: { function: 'submit', at, when: 'after' } });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(1_000, { sweeps: false });
    kernel.publish('run-requests', '{"cancel":"r1","reason":"not needed"}');
    await kernel.run(3 * HOUR_MS);
    expect(kernel.result('r1')?.status).toBe('CANCELLED');
    expect(kernel.works).toEqual([]);
    nothingLeft(kernel);
  });

  const order = (kernel: Kernel) =>
    kernel.calls
      .filter((call) => call.function === 'submit')
      .findIndex(({ method }) => {
        return method === 'compute.instances.insert';
      });
});

test('a machine that took a late one’s name since the list is left alone', async () => {
  const kernel = await working();
  const { id, name, zone } = machineOf(kernel);
  const { deps } = openDelivery(kernel, 'sweep');
  const { all } = await listMachines(deps.compute, 'mayfly');
  const [listed] = all;
  if (listed === undefined) throw new Error('nothing is listed');
  const late = { ...listed, deadlineMs: kernel.clock.nowMs() - HOUR_MS };
  const report = emptyReport('', false, 'mayfly');
  await sweepMachine(deps, { ...late, id: '1' }, { kind: 'unknown' }, report);
  expect(report.machines).toMatchObject({ seen: 1, kept: 1, reaped: 0 });
  expect(machineOf(kernel)).toMatchObject({ id, name, zone, status: 'RUNNING' });
  await sweepMachine(deps, late, { kind: 'unknown' }, report);
  expect(report.machines).toMatchObject({ seen: 2, kept: 1, reaped: 1 });
});
