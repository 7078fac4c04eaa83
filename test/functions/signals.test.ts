import { describe, expect, test } from 'vitest';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { instanceName } from '#shared/plan/names.ts';
import { markerObject, recordObject } from '#shared/plan/objects.ts';
import { deleteMachine } from '#shared/runs/act.ts';
import { readEnding } from '#shared/runs/observe.ts';
import { deleteEntry, entry } from '#test/functions/signal-entries.ts';
import { type Interference, openDelivery } from '#test/simulation/delivery.ts';
import { GOOD_GUEST, type GuestPlan } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const ZONE = 'us-central1-a';
const QUIET = { sweeps: false } as const;
const EVENTS = [
  'compute.instances.preempted',
  'compute.instances.guestTerminate',
  'compute.instances.hostError',
  'compute.instances.terminateOnHostMaintenance',
  'compute.instances.deferredDelete',
];

/** The first machine works for an hour and never says how it ended; a further one is done at once. */
const guests = (first: Partial<GuestPlan> = {}) => {
  const long = { ...GOOD_GUEST, workMs: 60 * MINUTE_MS, ...first };
  return ({ name }: { readonly name: string }): GuestPlan =>
    name.endsWith('-1') ? long : GOOD_GUEST;
};

async function begin(options: KernelOptions = {}, request: object = {}): Promise<Kernel> {
  const kernel = new Kernel({ guest: guests(), ...options });
  kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] }, ...request });
  await kernel.run(30_000, QUIET);
  return kernel;
}

/** Time enough to see a machine on its way out. */
const SLOW = { world: { compute: { removalMs: 30_000 } } };
const SPOT = { provisioning: 'spot', retry: { preempted: 3, infrastructure: 2, failed: 0 } };
const NAME = instanceName('mayfly', 'r1', 1);
const current = (kernel: Kernel): RunRecord => {
  const record = kernel.record('r1');
  if (record === null) throw new Error('r1 has no record');
  return record;
};
const happen = (kernel: Kernel, control: string, name = NAME) =>
  kernel.call({ method: `local.${control}`, params: { zone: ZONE, name } });
const signal = (kernel: Kernel, value: object | string) =>
  kernel.publish('run-signals', typeof value === 'string' ? value : JSON.stringify(value));
const callsOf = (kernel: Kernel) => kernel.calls.filter((call) => call.function === 'signals');
const changesOf = (kernel: Kernel) =>
  callsOf(kernel).filter((call) => /\.(insert|delete|publish)$/.test(call.method));
const deletesOf = (kernel: Kernel) =>
  callsOf(kernel).filter((call) => call.method === 'compute.instances.delete');
const statuses = (kernel: Kernel) =>
  kernel.pushes.filter((push) => push.function === 'signals').map((push) => push.status);
const count = (kernel: Kernel, event: string) =>
  kernel.logs.filter((line) => line.event === event).length;

function nothingLeft(kernel: Kernel): void {
  expect(kernel.machines()).toEqual([]);
  expect(kernel.disks()).toEqual([]);
  expect(kernel.objects('runs/active/')).toEqual([]);
}

describe('what happened to a machine is acted upon without a sweep', () => {
  test('P67: preempted without a word: our own delete, its end is the signal, the next attempt begins', async () => {
    const kernel = await begin(SLOW, SPOT);
    expect(current(kernel).state).toBe('RUNNING');
    happen(kernel, 'compute.preempt');
    await kernel.run(5_000, QUIET);
    expect(deletesOf(kernel)).toMatchObject([{ name: NAME }]);
    expect(current(kernel)).toMatchObject({ state: 'STOPPING', end: null });
    await kernel.run(5 * MINUTE_MS, QUIET);
    const result = kernel.result('r1');
    expect(result).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 });
    expect(result?.attempts).toMatchObject([{ cause: 'preempted' }, { status: 'SUCCEEDED' }]);
    expect(current(kernel).used).toMatchObject({ preempted: 1, infrastructure: 0, failed: 0 });
    nothingLeft(kernel);
  });

  test('P67: then exit 1: one preempted retry, FAILED at once, each on its own counter', async () => {
    const guest = ({ name }: { readonly name: string }) =>
      name.endsWith('-1') ? guests()({ name }) : { ...GOOD_GUEST, exitCode: 1 };
    const kernel = await begin({ guest }, SPOT);
    happen(kernel, 'compute.preempt');
    await kernel.run(5 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')).toMatchObject({ status: 'FAILED', cause: 'exit', exitCode: 1 });
    expect(current(kernel).used).toMatchObject({ preempted: 1, failed: 0 });
    expect(current(kernel).attempts).toHaveLength(2);
    nothingLeft(kernel);
  });

  test('B63: preempted within seconds, before any word of its own: PREEMPTED, known by the operation', async () => {
    const kernel = await begin({ guest: guests({ bootMs: 60 * MINUTE_MS }) }, SPOT);
    expect(current(kernel)).toMatchObject({ state: 'PROVISIONING', attempts: [{ claim: null }] });
    happen(kernel, 'compute.preempt');
    await kernel.run(5_000, QUIET);
    // The claim was free and is ours now: nothing has to be waited for.
    expect(current(kernel).attempts[0]?.end).toMatchObject({ status: 'PREEMPTED' });
    expect(kernel.inserts).toHaveLength(2);
    await kernel.run(5 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')?.attempts).toMatchObject([{ cause: 'preempted' }, {}]);
    expect(kernel.works.map((work) => work.attempt)).toEqual([2]);
    nothingLeft(kernel);
  });

  test('gone before our own delete comes to it: nobody tells, so that it is asked after once more', async () => {
    let late = 0;
    const around: Interference['around'] = async (actor, call, perform) => {
      if (actor.name === 'signals' && call.method === 'compute.instances.delete' && late++ === 0) {
        await kernel.clock.sleep(MINUTE_MS);
      }
      return await perform();
    };
    const kernel: Kernel = await begin({ ...SLOW, interference: { around } }, SPOT);
    happen(kernel, 'compute.preempt');
    await kernel.run(MINUTE_MS + 10_000, QUIET);
    expect(late).toBeGreaterThan(0);
    expect(current(kernel).attempts).toMatchObject([{ end: { cause: 'preempted' } }, {}]);
  });

  test('P67: lost before its creation is in the record: the signal comes again, nothing waits for a sweep', async () => {
    let writes = 0;
    const around: Interference['around'] = async (actor, call, perform) => {
      const record = call.method === 'storage.objects.insert' && call.name === recordObject('r1');
      // The first write orders the creation, the second one notes it: a bucket that is busy holds it up.
      if (actor.name === 'submit' && record && ++writes === 2) await kernel.clock.sleep(20_000);
      return await perform();
    };
    const kernel = new Kernel({ guest: guests(), interference: { around } });
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] }, ...SPOT });
    await kernel.run(15_000, QUIET);
    expect(current(kernel).state).toBe('PLACING');
    happen(kernel, 'compute.hostError');
    await kernel.run(2_000, QUIET);
    expect(statuses(kernel)).toContain(503);
    await kernel.run(5 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')?.attempts).toMatchObject([
      { cause: 'host-error' },
      { status: 'SUCCEEDED' },
    ]);
    nothingLeft(kernel);
  });

  test.each([
    ['its guest powers itself off', 'machine.poweredOff', 'machine-lost'],
    ['its host fails', 'compute.hostError', 'host-error'],
  ])(
    '%s: the stopped machine is deleted, the next attempt begins',
    async (_what, control, cause) => {
      const kernel = await begin({}, SPOT);
      happen(kernel, control);
      await kernel.run(5_000, QUIET);
      expect(deletesOf(kernel)[0]).toMatchObject({ name: NAME });
      await kernel.run(5 * MINUTE_MS, QUIET);
      expect(kernel.result('r1')?.attempts).toMatchObject([{ cause }, { status: 'SUCCEEDED' }]);
      expect(current(kernel).used).toMatchObject({ preempted: 0, infrastructure: 1 });
      nothingLeft(kernel);
    },
  );

  test('its host fails before it claims: host-error, and the next attempt begins', async () => {
    const kernel = await begin({ guest: guests({ bootMs: 60 * MINUTE_MS }) }, SPOT);
    happen(kernel, 'compute.hostError');
    await kernel.run(5 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')?.attempts).toMatchObject([{ cause: 'host-error' }, {}]);
    nothingLeft(kernel);
  });

  test('somebody deletes it: cancelled-outside as soon as it is gone, and never again', async () => {
    const kernel = await begin(SLOW, SPOT);
    const params = { project: SETTINGS.plan.project, zone: ZONE, instance: NAME };
    kernel.call({ method: 'compute.instances.delete', params });
    await kernel.run(10_000, QUIET);
    expect(current(kernel)).toMatchObject({ state: 'RUNNING', end: null });
    expect(changesOf(kernel)).toEqual([]);
    await kernel.run(MINUTE_MS, QUIET);
    const ended = { status: 'CANCELLED', cause: 'cancelled-outside' };
    expect(kernel.result('r1')).toMatchObject(ended);
    nothingLeft(kernel);
  });

  test('its time is up, it never reports, and is gone when that is told: TIMED_OUT', async () => {
    const world = { compute: { ttlOperation: true }, logging: { sink: { delayMs: 30_000 } } };
    const guest = guests({ silentFrom: 'work' });
    const kernel = await begin({ world, guest }, { ttlSeconds: 600 });
    await kernel.run(11 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')).toMatchObject({ status: 'TIMED_OUT', cause: 'ttl' });
    nothingLeft(kernel);
  });

  test('after a good end the last of its run goes without a sweep', async () => {
    const kernel = await begin({ guest: () => GOOD_GUEST });
    await kernel.run(3 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    nothingLeft(kernel);
  });

  test('B90: preempted, and the operations cannot be read: nothing is decided before they can', async () => {
    const kernel = await begin({}, SPOT);
    kernel.world.faults.plant({
      match: { method: 'compute.zoneOperations.list' },
      effect: 'before',
      kind: 'status',
      status: 503,
      times: Number.POSITIVE_INFINITY,
    });
    happen(kernel, 'compute.preempt');
    await kernel.run(10 * MINUTE_MS);
    expect(current(kernel)).toMatchObject({ state: 'RUNNING', end: null });
    kernel.world.faults.clear();
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.result('r1')?.attempts[0]).toMatchObject({ cause: 'preempted' });
    nothingLeft(kernel);
  });

  test('B64: the preemption of another machine of that name is not this one’s', async () => {
    const kernel = await begin({}, SPOT);
    const id = kernel.works[0]?.instanceId ?? '';
    for (const operation of kernel.world.compute.operations.values()) {
      Object.assign(operation, {
        operationType: 'compute.instances.preempted',
        targetId: `${id}0`,
      });
    }
    const params = { project: SETTINGS.plan.project, zone: ZONE, instance: NAME };
    kernel.call({ method: 'compute.instances.delete', params });
    await kernel.run(2_000, QUIET);
    signal(kernel, entry(NAME));
    await kernel.run(MINUTE_MS, QUIET);
    expect(kernel.result('r1')).toMatchObject({ cause: 'cancelled-outside' });
  });
});

describe('signals that change nothing', () => {
  test.each(EVENTS)(
    '%s of a machine in good health: it is looked at and left alone',
    async (methodName) => {
      const kernel = await begin();
      const before = current(kernel);
      signal(kernel, entry(NAME, { methodName }));
      await kernel.run(MINUTE_MS, QUIET);
      expect(statuses(kernel)).toEqual([204]);
      expect(count(kernel, 'signal-read')).toBe(1);
      expect(current(kernel)).toEqual(before);
      expect(changesOf(kernel)).toEqual([]);
      expect(kernel.machines()).toEqual([NAME]);
    },
  );

  test.each([
    ['ended', {}],
    ['failed', { status: { code: 13, message: 'INTERNAL_ERROR' } }],
  ])('a delete that %s, of a machine that is there', async (_how, change) => {
    const kernel = await begin();
    const before = current(kernel);
    signal(kernel, deleteEntry(NAME, 'last', change));
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel)).toEqual([204]);
    expect(current(kernel)).toEqual(before);
    expect(changesOf(kernel)).toEqual([]);
  });

  const forged: [string, object][] = [
    ['somebody else’s machine', entry('somebody')],
    ['another deployment’s machine', entry(instanceName('other', 'r1', 1))],
    ['a name of ours without a marker', entry(instanceName('mayfly', 'nobody', 1))],
    ['a further attempt’s, that there is not', entry(instanceName('mayfly', 'r1', 2))],
    ['another project’s', entry(NAME, { resourceName: `projects/x/zones/z/instances/${NAME}` })],
    ['a delete that has only begun', deleteEntry(NAME, 'first')],
    ['a request', { runId: 'r1', image: 'alpine' }],
  ];
  test.each(forged)(
    'forged: %s: acknowledged and counted, no machine is asked after',
    async (_name, value) => {
      const kernel = await begin();
      const before = current(kernel);
      signal(kernel, value);
      await kernel.run(MINUTE_MS, QUIET);
      expect(statuses(kernel)).toEqual([204]);
      expect(count(kernel, 'signal-ignored')).toBe(1);
      expect(
        callsOf(kernel).filter((call) => !/^storage\.objects\.get$/.test(call.method)),
      ).toEqual([]);
      expect(current(kernel)).toEqual(before);
    },
  );

  const markers: [string, (text: string) => string][] = [
    ['of another run', (text) => text.replace('"run_id":"r1"', '"run_id":"r2"')],
    ['of another attempt', (text) => text.replace('"attempt":1', '"attempt":2')],
    ['that cannot be read', (text) => text.slice(0, 40)],
  ];
  test.each(markers)('a marker %s leads to no run', async (_name, change) => {
    const kernel = await begin();
    const before = current(kernel);
    kernel.put(markerObject(NAME), change(kernel.object(markerObject(NAME)) ?? ''));
    signal(kernel, entry(NAME));
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel)).toEqual([204]);
    expect(count(kernel, 'signal-ignored')).toBe(1);
    expect(current(kernel)).toEqual(before);
  });

  test('a marker of an attempt that the record does not have leads nowhere', async () => {
    const kernel = await begin();
    const before = current(kernel);
    const second = instanceName('mayfly', 'r1', 2);
    const text = kernel.object(markerObject(NAME))?.replace('"attempt":1', '"attempt":2') ?? '';
    kernel.put(markerObject(second), text);
    signal(kernel, entry(second));
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel)).toEqual([204]);
    expect(count(kernel, 'signal-ignored')).toBe(1);
    expect(current(kernel)).toEqual(before);
  });

  test('D3: a machine that cannot be seen yet, and its operation is done a moment later: it is not lost', async () => {
    const world = { compute: { getLagMs: 5_000 } };
    const around: Interference['around'] = async (actor, call, perform) => {
      const asks = actor.name === 'signals' && call.method === 'compute.zoneOperations.get';
      if (asks) await kernel.clock.sleep(5_000);
      return await perform();
    };
    const kernel: Kernel = new Kernel({ guest: guests(), world, interference: { around } });
    kernel.request({ ...REQUEST, runId: 'r1', place: { zones: [ZONE] } });
    await kernel.run(3_000, QUIET);
    signal(kernel, entry(NAME));
    await kernel.run(MINUTE_MS, QUIET);
    expect(callsOf(kernel)).toContainEqual(
      expect.objectContaining({ method: 'compute.zoneOperations.get' }),
    );
    expect(current(kernel)).toMatchObject({ state: 'RUNNING', attempts: [{ end: null }] });
    expect(kernel.machines()).toEqual([NAME]);
  });

  test('a marker of another nonce says whose machine it is, and nothing else', async () => {
    const kernel = await begin();
    const word = { status: 'SUCCEEDED', exit_code: 0, cause: 'exit', nonce: '0'.repeat(32) };
    const text = JSON.stringify({ schema: 1, instance: NAME, run_id: 'r1', attempt: 1, ...word });
    kernel.put(markerObject(NAME), text);
    signal(kernel, entry(NAME));
    await kernel.run(MINUTE_MS, QUIET);
    expect(current(kernel)).toMatchObject({ state: 'RUNNING', end: null });
    expect(kernel.machines()).toEqual([NAME]);
    expect(changesOf(kernel)).toEqual([]);
  });

  test('P97: log lines, split or without labels, and what is no entry at all: acknowledged and counted', async () => {
    const kernel = await begin();
    const before = current(kernel);
    const entries = [
      { textPayload: '{"mayfly_event":{"seq":4,"msg":"abc', labels: { run_id: 'r1' } },
      { textPayload: 'def"}}' },
      { insertId: 'no-labels' },
      '{"textPayload":"cut',
      '[]',
      'null',
      '\u0000',
    ];
    for (const value of entries) signal(kernel, value);
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel)).toEqual(entries.map(() => 204));
    expect(count(kernel, 'signal-ignored')).toBe(entries.length);
    expect(callsOf(kernel)).toEqual([]);
    expect(current(kernel)).toEqual(before);
  });

  test('late: after the end everything is there once, and stays as it is', async () => {
    const kernel = await begin({ guest: () => GOOD_GUEST });
    await kernel.run(10 * MINUTE_MS);
    nothingLeft(kernel);
    const ended = current(kernel);
    const before = changesOf(kernel).length;
    for (const methodName of EVENTS) signal(kernel, entry(NAME, { methodName }));
    signal(kernel, deleteEntry(NAME, 'last'));
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel).every((status) => status === 204)).toBe(true);
    expect(changesOf(kernel)).toHaveLength(before);
    expect(current(kernel)).toEqual(ended);
    expect(kernel.events()).toHaveLength(1);
  });

  test('late: attempt 1’s, while attempt 2 works', async () => {
    const guest = ({ name }: { readonly name: string }) =>
      name.endsWith('-2') ? { ...GOOD_GUEST, workMs: 60 * MINUTE_MS } : guests()({ name });
    const kernel = await begin({ guest }, SPOT);
    happen(kernel, 'compute.preempt');
    await kernel.run(2 * MINUTE_MS, QUIET);
    const before = current(kernel);
    expect(before).toMatchObject({ state: 'RUNNING', attempts: [{}, { end: null }] });
    const changes = changesOf(kernel).length;
    for (const methodName of EVENTS) signal(kernel, entry(NAME, { methodName }));
    signal(kernel, deleteEntry(NAME, 'last'));
    await kernel.run(MINUTE_MS, QUIET);
    expect(current(kernel)).toEqual(before);
    expect(changesOf(kernel)).toHaveLength(changes);
    expect(kernel.machines()).toEqual([instanceName('mayfly', 'r1', 2)]);
  });

  test('repeated: each of them ten times, all at once: one more attempt, one insert of it', async () => {
    const world = { logging: { sink: { duplication: 1 } }, pubsub: { duplication: 0.5 } };
    const kernel = await begin({ world }, SPOT);
    happen(kernel, 'compute.preempt');
    for (let copy = 0; copy < 10; copy++) signal(kernel, entry(NAME));
    await kernel.run(10 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')).toMatchObject({ status: 'SUCCEEDED' });
    expect(kernel.result('r1')?.attempts).toHaveLength(2);
    expect(kernel.inserts).toHaveLength(2);
    nothingLeft(kernel);
  });
});

describe('lost signals', () => {
  test('the sweep does it all', async () => {
    const world = { logging: { sink: { loss: 1 } } };
    const kernel = await begin({ world }, SPOT);
    happen(kernel, 'compute.preempt');
    await kernel.run(20 * MINUTE_MS);
    expect(callsOf(kernel)).toEqual([]);
    expect(kernel.result('r1')?.attempts).toMatchObject([
      { cause: 'preempted' },
      { status: 'SUCCEEDED' },
    ]);
    nothingLeft(kernel);
  });
});

describe('no signal makes work without end', () => {
  const SLOW_STOP = { containerMs: 10_000, reports: false };

  test('deletes that come to nothing again and again are not repeated by their own signals', async () => {
    const guest = guests({ workMs: 60_000, selfDeleteMs: null, shutdown: SLOW_STOP });
    const kernel = await begin({ guest });
    kernel.world.compute.reluctant.set(NAME, Number.POSITIVE_INFINITY);
    await kernel.run(30 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')?.status).toBe('SUCCEEDED');
    // finalize's own delete, and its last entry.
    expect(deletesOf(kernel)).toEqual([]);
    expect(statuses(kernel)).toEqual([204]);
    expect(kernel.machines()).toEqual([NAME]);
    kernel.world.compute.reluctant.clear();
    await kernel.run(10 * MINUTE_MS);
    nothingLeft(kernel);
  });

  test('an event makes one delete at most, and its end none', async () => {
    const kernel = await begin({ guest: guests({ shutdown: SLOW_STOP }) }, SPOT);
    kernel.world.compute.reluctant.set(NAME, Number.POSITIVE_INFINITY);
    happen(kernel, 'compute.preempt');
    await kernel.run(30 * MINUTE_MS, QUIET);
    expect(deletesOf(kernel)).toHaveLength(1);
    expect(statuses(kernel)).toEqual([204, 204]);
  });
});

describe('what may pass', () => {
  test('a machine that cannot be asked after: a retry status, and the work goes on from there', async () => {
    const kernel = await begin({}, SPOT);
    kernel.world.faults.plant({
      match: { method: 'compute.instances.get' },
      effect: 'before',
      kind: 'status',
      status: 503,
      times: Number.POSITIVE_INFINITY,
    });
    happen(kernel, 'compute.preempt');
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel)).toContain(503);
    expect(statuses(kernel)).not.toContain(204);
    kernel.world.faults.clear();
    await kernel.run(20 * MINUTE_MS, QUIET);
    expect(kernel.result('r1')?.attempts).toMatchObject([{ cause: 'preempted' }, {}]);
  });

  test('the bucket is away: nothing is acknowledged', async () => {
    const kernel = await begin({}, SPOT);
    const { bucket } = SETTINGS.plan;
    const set = (available: boolean) =>
      kernel.call({ method: 'local.storage.bucket', params: { bucket }, body: { available } });
    set(false);
    signal(kernel, entry(NAME));
    await kernel.run(MINUTE_MS, QUIET);
    expect(statuses(kernel).length).toBeGreaterThan(0);
    expect(statuses(kernel)).not.toContain(204);
    set(true);
    await kernel.run(10 * MINUTE_MS, QUIET);
    expect(statuses(kernel).at(-1)).toBe(204);
  });
});

test('a signal that meets the note that the run is running goes on to what it came for', async () => {
  let noted = false;
  const kernel = await begin({
    world: { storage: { notificationLoss: 1 } },
    // finalize's note, in the moment before signals writes the same.
    before: (call, world) => {
      const writes = call.method === 'storage.objects.insert' && call.name.endsWith('record.json');
      if (call.function !== 'signals' || !writes || noted) return;
      noted = true;
      const running = { ...current(world), state: 'RUNNING', writer: 'finalize' };
      world.put(recordObject('r1'), JSON.stringify(running));
    },
  });
  expect(current(kernel).state).toBe('PROVISIONING');
  kernel.call({ method: 'local.compute.hostError', params: { zone: ZONE, name: NAME } });
  await kernel.run(2 * MINUTE_MS, QUIET);
  expect(noted).toBe(true);
  expect(current(kernel).attempts[0]?.end).toMatchObject({ cause: 'host-error' });
});

test('a delete of our own is nobody’s decision, whichever function sent it; one from outside is', async () => {
  for (const [who, ending] of [
    ['ours', 'none'],
    ['somebody', 'deleted'],
  ] as const) {
    const kernel = new Kernel({ guest: () => ({ ...GOOD_GUEST, bootMs: 60 * MINUTE_MS }) });
    kernel.request({ ...REQUEST, runId: 'r1' });
    await kernel.run(30_000, { sweeps: false });
    const [machine] = [...kernel.world.compute.machines.values()];
    if (machine === undefined) throw new Error('no machine');
    const { deps } = openDelivery(kernel, 'sweep');
    if (who === 'ours') await deleteMachine(deps, null, machine.name, machine.zone);
    else {
      const params = { project: 'local-project', zone: machine.zone, instance: machine.name };
      kernel.call({
        method: 'compute.instances.delete',
        params,
        principal: 'ann@example.com',
      });
    }
    expect(await readEnding(deps, machine.zone, machine.id)).toBe(ending);
  }
});
