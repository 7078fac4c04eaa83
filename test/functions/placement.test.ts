// Placement over the local cloud: what a run's record and result say of it.
import { describe, expect, test } from 'vitest';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel, type KernelOptions } from '#test/simulation/kernel.ts';
import { REQUEST } from '#test/simulation/layout.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const TWO_ZONES = { place: { zones: ['us-central1-a', 'us-central1-b'] } };

function begin(options: KernelOptions = {}, request: object = {}): Kernel {
  const kernel = new Kernel(options);
  kernel.request({ ...REQUEST, ...TWO_ZONES, runId: 'r1', ...request });
  return kernel;
}

const machinesOf = (kernel: Kernel) => [...kernel.world.compute.machines.values()];
const outcome = (kernel: Kernel, body: object) =>
  kernel.call({ method: 'local.compute.outcome', params: {}, body });

describe('the outcome of an insert is its operation’s', () => {
  test('P27: accepted, 20 s later out of stock: the next zone, in the same attempt', async () => {
    const kernel = begin({ world: { compute: { refusalMs: 20_000 } } });
    outcome(kernel, { match: { zone: 'us-central1-a' }, code: 'ZONE_RESOURCE_POOL_EXHAUSTED' });
    await kernel.run(10_000, { sweeps: false });
    expect(kernel.record('r1')).toMatchObject({ state: 'PROVISIONING', placesCount: 0 });
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')).toMatchObject({
      status: 'SUCCEEDED',
      attempts: [{ attempt: 1, zone: 'us-central1-b' }],
      places: [{ zone: 'us-central1-a', code: 'ZONE_RESOURCE_POOL_EXHAUSTED' }],
    });
  });

  test('P35: a machine that stops and goes while it is made is a refusal of that place, no loss', async () => {
    const kernel = begin({ guest: () => ({ ...GOOD_GUEST, silentFrom: 'boot' as const }) });
    outcome(kernel, {
      match: { zone: 'us-central1-a' },
      code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
      machineLives: true,
    });
    await kernel.run(1000, { sweeps: false });
    const [machine] = machinesOf(kernel);
    if (machine === undefined) throw new Error('no machine is being made');
    const params = { project: 'local-project', zone: machine.zone, instance: machine.name };
    kernel.call({ method: 'compute.instances.delete', params });
    await kernel.run(3 * MINUTE_MS);
    expect(kernel.record('r1')).toMatchObject({
      used: { preempted: 0, infrastructure: 0, abandoned: 0 },
      placesCount: 1,
    });
    expect(kernel.record('r1')?.attempts).toHaveLength(1);
  });
});

describe('what is kept of a placement', () => {
  test('A101, A110, A111, A112: each place with its error, the machine with its zone and id, every state', async () => {
    const kernel = begin({ guest: () => ({ ...GOOD_GUEST, workMs: 10 * MINUTE_MS }) });
    outcome(kernel, { match: { zone: 'us-central1-a' }, code: 'ZONE_RESOURCE_POOL_EXHAUSTED' });
    await kernel.run(2 * MINUTE_MS);
    const [machine] = machinesOf(kernel);
    const record = kernel.record('r1');
    expect(record).toMatchObject({
      places: [
        { zone: 'us-central1-a', code: 'ZONE_RESOURCE_POOL_EXHAUSTED', verdict: 'next-zone' },
      ],
      attempts: [
        {
          instance: machine?.name,
          intents: [{ candidate: { zone: 'us-central1-b' }, instanceId: machine?.id }],
        },
      ],
    });
    expect(record?.history.map(({ state }) => state)).toEqual([
      'ACCEPTED',
      'PLACING',
      'PROVISIONING',
      'PLACING',
      'PROVISIONING',
      'RUNNING',
    ]);
    await kernel.run(HOUR_MS);
    expect(kernel.result('r1')?.attempts).toMatchObject([
      {
        instance: machine?.name,
        region: 'us-central1',
        zone: 'us-central1-b',
        machineType: 'e2-standard-4',
      },
    ]);
  });

  test('A107: each insert is logged with name, zone, machine, model and time limit', async () => {
    const kernel = begin();
    await kernel.run(MINUTE_MS);
    expect(kernel.logs.find(({ event }) => event === 'insert-sent')).toMatchObject({
      fields: {
        runId: 'r1',
        attempt: 1,
        intent: 1,
        zone: 'us-central1-a',
        machineType: 'e2-standard-4',
        provisioningModel: 'STANDARD',
        ttlSeconds: 3600,
      },
    });
  });

  test('A96: the instance is named after the run, and asked for once in its zone', async () => {
    const kernel = begin({}, { runId: 'nightly-forecast' });
    await kernel.run(20_000);
    expect(machinesOf(kernel).map(({ name }) => name)).toEqual([
      expect.stringMatching(/^mayfly-nightly-forecast-[0-9a-f]{12}-1$/),
    ]);
    expect(kernel.inserts.map(({ url }) => new URL(url).pathname)).toEqual([
      '/compute/v1/projects/local-project/zones/us-central1-a/instances',
    ]);
  });
});

describe('a further attempt', () => {
  test('P66: the last try’s success is the run’s, and the first one’s late event changes nothing', async () => {
    const kernel = begin(
      {
        guest: () => ({
          ...GOOD_GUEST,
          workMs: 10 * MINUTE_MS,
          shutdown: { containerMs: 1000, reports: true },
        }),
      },
      { provisioning: 'spot' },
    );
    await kernel.run(2 * MINUTE_MS);
    const first = kernel.record('r1')?.attempts[0]?.instance ?? '';
    const params = { zone: 'us-central1-a', name: first };
    kernel.call({ method: 'local.compute.preempt', params });
    await kernel.run(HOUR_MS);
    const result = kernel.result('r1');
    expect(result).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 });
    expect(result?.attempts.map(({ cause }) => cause)).toEqual(['preempted', 'exit']);
    // The next candidate came first.
    expect(result?.attempts.map(({ zone }) => zone)).toEqual(['us-central1-a', 'us-central1-b']);
    const before = kernel.object('runs/state/r1/record.json');
    kernel.publish('run-status', '', {
      bucketId: 'mayfly-local',
      objectId: `runs/gce-status/${first}.json`,
      eventType: 'OBJECT_FINALIZE',
    });
    await kernel.run(10 * MINUTE_MS);
    expect(kernel.object('runs/state/r1/record.json')).toBe(before);
    expect(kernel.result('r1')).toEqual(result);
  });
});
