// Runs on Cloud Run Jobs, end to end on the virtual clock: what once could go wrong, call by call.
import { describe, expect, test } from 'vitest';
import { bootstrapObject } from '#shared/plan/objects.ts';
import type { Interference } from '#test/simulation/delivery.ts';
import { GOOD_GUEST, type GuestPlan } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';

const MINUTE_MS = 60_000;
const REQUEST = {
  runId: 'j1',
  runtime: 'cloudrun-jobs',
  resources: { class: 'S', base: 'base-ml' },
  command: ['python', 'fit.py'],
  ttlSeconds: 3600,
};

async function live(
  options: KernelOptions = {},
  request: object = REQUEST,
  forMs = 10 * MINUTE_MS,
) {
  const kernel = new Kernel(options);
  kernel.request(request);
  await kernel.run(forMs);
  return kernel;
}

const executions = (kernel: Kernel) => [...kernel.world.run.executions.values()];
const states = (kernel: Kernel) => kernel.record('j1')?.history.map(({ state }) => state);

describe('one run', () => {
  test('C1, C2, C153: one execution of a Job that was there, and its true result', async () => {
    const kernel = await live();
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 });
    expect(executions(kernel)).toHaveLength(1);
    expect(states(kernel)).toEqual(['ACCEPTED', 'PLACING', 'PROVISIONING', 'RUNNING', 'SUCCEEDED']);
    expect(kernel.objects('runs/active/')).toEqual([]);
    expect(kernel.objects('runs/bootstrap/')).toEqual([]);
  });
});

describe('a call whose reply is lost', () => {
  const RUN = 'run.projects.locations.jobs.run';

  test('C71, C75, C76, C172, P107: it is found by its nonce, and nothing is started twice', async () => {
    const kernel = new Kernel();
    kernel.world.faults.plant({ match: { method: RUN }, times: 1, effect: 'after', kind: 'hang' });
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    expect(executions(kernel)).toHaveLength(1);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED' });
    const calls = kernel.calls.map(({ method }) =>
      method.replace('run.projects.locations.jobs.', ''),
    );
    expect(calls.indexOf('executions.list')).toBeGreaterThan(calls.indexOf('run'));
  });

  test('C89, P107: lost before it was made, it is made once more, with the same nonce', async () => {
    const kernel = new Kernel();
    kernel.world.faults.plant({
      match: { method: RUN },
      times: 1,
      effect: 'before',
      kind: 'status',
      status: 503,
    });
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    expect(executions(kernel)).toHaveLength(1);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
  });

  test.each(['before', 'after'] as const)(
    'C71, C154: submit dies %s the call, and another delivery adopts or starts it',
    async (when) => {
      const counted = await live();
      const at = counted.calls
        .filter((call) => call.function === 'submit')
        .findIndex(({ method }) => method === RUN);
      const kernel = await live({ kill: { function: 'submit', at, when } });
      expect(executions(kernel)).toHaveLength(1);
      expect(kernel.result('j1')).toMatchObject({
        status: 'SUCCEEDED',
        attempts: [{ attempt: 1 }],
      });
    },
  );
});

test('P107: several deliveries at once make one further call', async () => {
  const kernel = new Kernel();
  const match = { method: 'run.projects.locations.jobs.run' };
  kernel.world.faults.plant({ match, times: 3, effect: 'before', kind: 'status', status: 503 });
  kernel.request(REQUEST);
  await kernel.run(3 * MINUTE_MS, { sweeps: false });
  for (let count = 0; count < 3; count++) {
    kernel.publish('run-requests', JSON.stringify({ look: 'j1', intent: 1 }));
  }
  await kernel.run(10 * MINUTE_MS);
  expect(executions(kernel)).toHaveLength(1);
  expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED' });
});

describe('a call that freezes, and is made long after another one was', () => {
  const RUN = 'run.projects.locations.jobs.run';
  /** The first call of all. */
  function freeze(forMs: number, guest: KernelOptions['guest']): Kernel {
    let calls = 0;
    const around: Interference['around'] = async (_actor, call, perform) => {
      if (call.method === RUN && calls++ === 0) await kernel.clock.sleep(forMs);
      return await perform();
    };
    // What the tasks say does not come: only the record and the claim tell.
    const push: Interference['push'] = async (name) => (name === 'signals' ? 'lose' : 'deliver');
    const options: KernelOptions = { interference: { around, push } };
    const kernel: Kernel = new Kernel(guest === undefined ? options : { ...options, guest });
    return kernel;
  }

  test('C73: it comes after the end: nothing of it works, and nothing is left', async () => {
    const kernel = freeze(20 * MINUTE_MS, undefined);
    kernel.request(REQUEST);
    await kernel.run(180 * MINUTE_MS);
    expect(executions(kernel)).toHaveLength(2);
    expect(kernel.works).toHaveLength(1);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED' });
    expect(kernel.objects('runs/active/')).toEqual([]);
    expect(kernel.objects('runs/bootstrap/')).toEqual([]);
  });

  test('C73, C156: it claims first: a cancel waits for the one that works', async () => {
    let starts = 0;
    const kernel = freeze(5 * MINUTE_MS, () => ({
      ...GOOD_GUEST,
      bootMs: starts++ === 0 ? 30 * MINUTE_MS : 5_000,
      workMs: 20 * MINUTE_MS,
    }));
    kernel.request(REQUEST);
    await kernel.run(5 * MINUTE_MS + 20_000);
    expect(kernel.works).toMatchObject([{ endMs: null }]);
    kernel.request({ cancel: 'j1', reason: 'enough' });
    await kernel.run(10 * MINUTE_MS);
    const [work] = kernel.works;
    expect(kernel.result('j1')).toMatchObject({
      status: 'CANCELLED',
      attempts: [{ execution: work?.instanceId }],
    });
    expect(kernel.record('j1')?.end?.atMs).toBeGreaterThanOrEqual(work?.endMs ?? Infinity);
  });
});

describe('too many calls', () => {
  const RUN = 'run.projects.locations.jobs.run';
  const throttle = (kernel: Kernel, times: number) =>
    kernel.world.faults.plant({
      match: { method: RUN },
      times,
      effect: 'before',
      kind: 'status',
      status: 429,
    });

  test('C81, C85, C86, C87, C92, C164: a run is late, never failed, and uses no retry up', async () => {
    const kernel = new Kernel();
    throttle(kernel, 3);
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
    expect(kernel.record('j1')?.used.infrastructure).toBe(0);
    const alarms = kernel.logs.filter(({ event }) => event === 'run-throttled');
    expect(alarms).toHaveLength(3);
    expect(alarms[0]?.message).toMatch(/^ALARM cloudrun-jobs: jobs.run answered 429/);
  });

  test('C92: what the tasks are told is of the call that was taken, not of the first one', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, bootMs: 60 * MINUTE_MS }) });
    throttle(kernel, 14);
    kernel.request(REQUEST);
    await kernel.run(15 * MINUTE_MS);
    const [last] = kernel.record('j1')?.attempts ?? [];
    const told = JSON.parse(kernel.object(bootstrapObject(last?.nonce ?? '')) ?? '{}');
    expect(last?.intentCount).toBeGreaterThan(14);
    expect(Date.parse(told.deadline)).toBe((last?.intents[0]?.deadlineSeconds ?? 0) * 1000);
  });

  test('C92: a second call that comes too fast is noted once, and made again when it may be', async () => {
    const counted = await live();
    const at = counted.calls
      .filter((call) => call.function === 'submit')
      .findIndex(({ method }) => method === RUN);
    const kernel = new Kernel({ kill: { function: 'submit', at, when: 'before' } });
    throttle(kernel, 1);
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
    const writes = kernel.calls.filter(
      ({ method, name }) => method === 'storage.objects.insert' && name.endsWith('/record.json'),
    );
    expect(writes.length).toBeLessThan(20);
  });

  test('C92: the wait for its turn is no wait for capacity', async () => {
    const kernel = new Kernel({ world: { run: { startMs: 150_000 } } });
    throttle(kernel, 20);
    kernel.request({ ...REQUEST, waitForCapacitySeconds: 0 });
    await kernel.run(60 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
  });

  test('C92: for as long as it takes', async () => {
    const kernel = new Kernel();
    throttle(kernel, 20);
    kernel.request(REQUEST);
    await kernel.run(60 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'SUCCEEDED', attempts: [{ attempt: 1 }] });
  });
});

describe('P112: no room for an execution', () => {
  const stuck = 'Quota exceeded: NvidiaL4Gpu';
  const next = (kernel: Kernel, body: object) =>
    kernel.call({ method: 'local.run.start', params: {}, body: { match: {}, stuck, ...body } });

  test('C71: one that was found by its nonce uses no retry up either', async () => {
    const kernel = new Kernel();
    next(kernel, { times: 1, fails: true });
    const match = { method: 'run.projects.locations.jobs.run' };
    kernel.world.faults.plant({ match, times: 1, effect: 'after', kind: 'status', status: 503 });
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({
      status: 'SUCCEEDED',
      attempts: [{ attempt: 1 }],
      places: [{ cause: 'quota' }],
    });
  });

  test('one that never starts ends so before its deadline, in the platform’s words', async () => {
    const kernel = new Kernel();
    next(kernel, { times: 1 });
    kernel.request({ ...REQUEST, ttlSeconds: 1800, waitForCapacitySeconds: 7200 });
    await kernel.run(120 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'NO_CAPACITY', cause: 'quota' });
    expect(kernel.result('j1')?.detail).toContain(stuck);
    expect(executions(kernel).map(({ completedMs }) => completedMs)).not.toContain(null);
  });
});

describe('how it may end', () => {
  const first = (plan: Partial<GuestPlan>, then: Partial<GuestPlan> = {}) => {
    let tasks = 0;
    return () => ({ ...GOOD_GUEST, ...(tasks++ === 0 ? plan : then) });
  };

  test('C66, C161: out of memory: the next larger class', async () => {
    const request = { ...REQUEST, retry: { outOfMemory: 2 } };
    const kernel = await live({ guest: first({ exitCode: 137, cause: 'out-of-memory' }) }, request);
    expect(kernel.result('j1')).toMatchObject({
      status: 'SUCCEEDED',
      attempts: [{ machineType: 'mayfly-base-ml-s' }, { machineType: 'mayfly-base-ml-m' }],
    });
  });

  test('C156, C68: a cancel while it runs', async () => {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, workMs: 30 * MINUTE_MS }) });
    kernel.request(REQUEST);
    await kernel.run(5 * MINUTE_MS);
    kernel.request({ cancel: 'j1', reason: 'enough' });
    await kernel.run(5 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'CANCELLED', cause: 'cancelled' });
    expect(executions(kernel).every(({ completedMs }) => completedMs !== null)).toBe(true);
    expect(kernel.objects('runs/active/')).toEqual([]);
  });

  test('C68, P108: a cancel of somebody else', async () => {
    const plan = {
      ...GOOD_GUEST,
      workMs: 30 * MINUTE_MS,
      shutdown: { containerMs: 1_000, reports: true },
    };
    const kernel = new Kernel({ guest: () => plan });
    kernel.request(REQUEST);
    await kernel.run(5 * MINUTE_MS);
    const [execution] = executions(kernel);
    const params = {
      project: 'local-project',
      location: 'us-central1',
      job: execution?.job.shortName ?? '',
      execution: execution?.shortName ?? '',
    };
    kernel.call({ method: 'run.projects.locations.jobs.executions.cancel', params });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'CANCELLED', cause: 'cancelled-outside' });
  });

  test('C67, C157: its own limit', async () => {
    const request = { ...REQUEST, timeoutSeconds: 60 };
    const kernel = await live(
      { guest: () => ({ ...GOOD_GUEST, workMs: 10 * MINUTE_MS }) },
      request,
    );
    expect(kernel.result('j1')).toMatchObject({ status: 'TIMED_OUT', cause: 'timeout' });
  });

  test('C158: silence is not the end: it is ended by its limits alone', async () => {
    const kernel = await live(
      { guest: () => ({ ...GOOD_GUEST, silentFrom: 'work' }) },
      REQUEST,
      50 * MINUTE_MS,
    );
    expect(kernel.record('j1')?.end).toBeNull();
    await kernel.run(60 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({ status: 'TIMED_OUT' });
    expect(kernel.objects('runs/active/')).toEqual([]);
  });

  test('C97, C103, C104, C162: several tasks of one execution', async () => {
    const kernel = await live({}, { ...REQUEST, tasks: 8 });
    expect(executions(kernel)).toHaveLength(1);
    expect(kernel.result('j1')).toMatchObject({
      status: 'SUCCEEDED',
      tasks: { count: 8, succeeded: 8 },
    });
    expect(kernel.works.map(({ task }) => task).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // Their markers are nobody's mistake.
    expect(kernel.logs.filter(({ event }) => event === 'status-ignored')).toEqual([]);
    const failing = await live({ guest: first({ exitCode: 3 }) }, { ...REQUEST, tasks: 3 });
    expect(failing.result('j1')).toMatchObject({
      status: 'FAILED',
      cause: 'exit',
      exitCode: 3,
      tasks: { count: 3, succeeded: 2, failed: [{ exitCode: 3, cause: 'exit' }] },
    });
  });

  test('C43, C44: a small run of the class GPU', async () => {
    const resources = { class: 'GPU', base: 'base-dl' };
    const request = { ...REQUEST, resources, ttlSeconds: 1800, timeoutSeconds: 600 };
    const kernel = await live({}, request);
    expect(kernel.result('j1')).toMatchObject({
      status: 'SUCCEEDED',
      attempts: [{ machineType: 'mayfly-base-dl-gpu' }],
    });
    expect(kernel.result('j1')?.costUsd).toBeGreaterThan(0);
  });

  test('C155, P116: the same request twice within seconds: one execution', async () => {
    const kernel = new Kernel();
    kernel.request(REQUEST);
    await kernel.run(13_000);
    kernel.request(REQUEST);
    await kernel.run(10 * MINUTE_MS);
    expect(executions(kernel)).toHaveLength(1);
  });

  test('C69: one that was deleted is lost, and tried again', async () => {
    const kernel = new Kernel({ guest: first({ workMs: 30 * MINUTE_MS }) });
    kernel.request(REQUEST);
    await kernel.run(5 * MINUTE_MS);
    const [execution] = executions(kernel);
    const params = {
      project: 'local-project',
      location: 'us-central1',
      job: execution?.job.shortName ?? '',
      execution: execution?.shortName ?? '',
    };
    kernel.call({ method: 'run.projects.locations.jobs.executions.delete', params });
    await kernel.run(15 * MINUTE_MS);
    expect(kernel.result('j1')).toMatchObject({
      status: 'SUCCEEDED',
      attempts: [{ status: 'LOST', cause: 'machine-lost' }, { status: 'SUCCEEDED' }],
    });
  });
});
