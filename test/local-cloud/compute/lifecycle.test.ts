// A machine's way through its states, by the documented rules of Compute Engine.
import { describe, expect, test } from 'vitest';
import { PROJECT, reasonOf, TestWorld, ZONE } from '#test/local-cloud/fixtures.ts';

const SECOND = 1000;
const statusOf = (world: TestWorld, name: string) =>
  world.instance('get', name).body?.status ?? world.instance('get', name).status;

/** A world with one machine that is RUNNING. */
function running(fields: Record<string, unknown> = {}, choices = {}): TestWorld {
  const world = new TestWorld(choices);
  expect(world.insert('vm', fields).status).toBe(200);
  world.pass(5 * SECOND);
  expect(statusOf(world, 'vm')).toBe('RUNNING');
  return world;
}

test('an insert takes time: PENDING, RUNNING, DONE beside PROVISIONING, STAGING, RUNNING', () => {
  const world = new TestWorld();
  const inserted = world.insert('vm', {}, { requestId: '11111111-1111-4111-8111-111111111111' });
  const seen = [0, 600, 1500, 3000].map((milliseconds) => {
    world.pass(milliseconds);
    return [statusOf(world, 'vm'), world.operation(inserted).status];
  });
  expect(seen).toEqual([
    ['PROVISIONING', 'PENDING'],
    ['PROVISIONING', 'RUNNING'],
    ['STAGING', 'RUNNING'],
    ['RUNNING', 'DONE'],
  ]);
  expect(world.operation(inserted)).toMatchObject({
    operationType: 'insert',
    clientOperationId: '11111111-1111-4111-8111-111111111111',
    targetId: world.instance('get', 'vm').body?.id,
    targetLink: expect.stringMatching(/\/zones\/us-central1-a\/instances\/vm$/),
    endTime: '2026-12-01T12:00:05.000Z',
  });
  expect(world.machineEvents()).toEqual(['machine-started']);
  expect(world.events[0]).toMatchObject({
    boot: 1,
    principal: 'worker@local-project.iam.gserviceaccount.com',
    metadata: { 'startup-script': 'true' },
  });
});

describe('the time limit', () => {
  test('counts from RUNNING, and deletes the machine with its disk', () => {
    const world = running();
    world.pass(600 * SECOND - 1);
    expect(statusOf(world, 'vm')).toBe('RUNNING');
    world.pass(1);
    expect(statusOf(world, 'vm')).toBe('STOPPING');
    world.pass(60 * SECOND);
    expect(statusOf(world, 'vm')).toBe(404);
    expect(world.world.compute.disks.size).toBe(0);
    expect(world.machineEvents()).toEqual(['machine-started', 'machine-stopping', 'machine-gone']);
  });

  test('STOP leaves a TERMINATED machine with its disk', () => {
    const scheduling = { maxRunDuration: { seconds: '600' }, instanceTerminationAction: 'STOP' };
    const world = running({ scheduling });
    world.pass(700 * SECOND);
    expect(statusOf(world, 'vm')).toBe('TERMINATED');
    expect(world.world.compute.disks.size).toBe(1);
  });

  test('is cleared when the guest powers itself off: the machine and its disk stay for ever', () => {
    const world = running();
    const id = String(world.instance('get', 'vm').body?.id);
    expect(world.call('local.machine.poweredOff', { id }).status).toBe(200);
    expect(world.instance('get', 'vm').body).toMatchObject({ status: 'TERMINATED' });
    expect(operationTypes(world)).toContain('compute.instances.guestTerminate');
    expect(world.instance('get', 'vm').body).not.toHaveProperty('resourceStatus');
    world.pass(30 * 24 * 3600 * SECOND);
    expect(statusOf(world, 'vm')).toBe('TERMINATED');
    expect(world.world.compute.disks.size).toBe(1);
  });

  test('starts over when a stopped machine runs again, which is another boot', () => {
    const world = running();
    world.instance('stop', 'vm');
    world.pass(60 * SECOND);
    expect(statusOf(world, 'vm')).toBe('TERMINATED');
    world.instance('start', 'vm');
    world.pass(599 * SECOND);
    expect(statusOf(world, 'vm')).toBe('RUNNING');
    const boots = world.events.flatMap((event) =>
      event.kind === 'machine-started' ? event.boot : [],
    );
    expect(boots).toEqual([1, 2]);
    world.pass(60 * SECOND);
    expect(statusOf(world, 'vm')).toBe(404);
  });

  test('goes on over a reset, which never leaves RUNNING', () => {
    const world = running();
    world.pass(300 * SECOND);
    world.instance('reset', 'vm');
    world.pass(300 * SECOND);
    expect(statusOf(world, 'vm')).toBe('STOPPING');
  });
});

function operationTypes(world: TestWorld): unknown[] {
  const listed = world.call('compute.zoneOperations.list', { project: PROJECT, zone: ZONE });
  const items = (listed.body?.items ?? []) as { operationType: string }[];
  return items.map((item) => item.operationType);
}

describe('delete', () => {
  test('A52: DELETE of a running machine is an operation; then STOPPING, then 404', () => {
    const world = running();
    const deleted = world.instance('delete', 'vm');
    expect(deleted).toMatchObject({ status: 200, body: { operationType: 'delete' } });
    expect(statusOf(world, 'vm')).toBe('STOPPING');
    world.pass(21 * SECOND);
    expect(world.operation(deleted).status).toBe('RUNNING');
    world.pass(2 * SECOND);
    expect(world.operation(deleted).status).toBe('DONE');
    expect(statusOf(world, 'vm')).toBe(404);
    expect(reasonOf(world.instance('delete', 'vm'))).toBe('notFound');
  });

  test('a guest that powers itself off during the delete ends it early', () => {
    const world = running();
    const id = String(world.instance('get', 'vm').body?.id);
    world.instance('delete', 'vm');
    world.pass(SECOND);
    world.call('local.machine.poweredOff', { id });
    world.pass(2 * SECOND);
    expect(statusOf(world, 'vm')).toBe(404);
  });

  test('while it is being made: taken, or refused where the world says so', () => {
    const world = new TestWorld();
    const inserted = world.insert('vm');
    world.instance('delete', 'vm');
    world.pass(3 * SECOND);
    expect(statusOf(world, 'vm')).toBe(404);
    expect(world.operation(inserted)).toMatchObject({ status: 'DONE' });
    expect(world.machineEvents()).toEqual([]);
    const strict = new TestWorld({ compute: { deleteWhileCreating: 'not-ready' } });
    strict.insert('vm');
    expect(reasonOf(strict.instance('delete', 'vm'))).toBe('resourceNotReady');
  });

  test('of a stopped machine takes its disk too', () => {
    const world = running();
    world.instance('stop', 'vm');
    world.pass(60 * SECOND);
    world.instance('delete', 'vm');
    world.pass(3 * SECOND);
    expect(world.world.compute.disks.size).toBe(0);
  });

  test('may be taken and come to nothing, when the world is planted so', () => {
    const world = running();
    world.world.compute.reluctant.set('vm', 1);
    const deleted = world.instance('delete', 'vm');
    world.pass(60 * SECOND);
    expect(world.operation(deleted).status).toBe('DONE');
    expect(statusOf(world, 'vm')).toBe('RUNNING');
    world.instance('delete', 'vm');
    world.pass(60 * SECOND);
    expect(statusOf(world, 'vm')).toBe(404);
  });

  test('a disk without autoDelete is left behind, and then deleted by itself', () => {
    const disks = [{ boot: true, initializeParams: { diskName: 'kept', labels: { a: 'b' } } }];
    const world = running({ disks });
    const place = { project: PROJECT, zone: ZONE, disk: 'kept' };
    expect(world.call('compute.disks.get', place).body).toMatchObject({
      labels: { a: 'b' },
      users: [expect.stringMatching(/instances\/vm$/)],
    });
    expect(reasonOf(world.call('compute.disks.delete', place))).toBe(
      'resourceInUseByAnotherResource',
    );
    world.instance('delete', 'vm');
    world.pass(60 * SECOND);
    expect(world.call('compute.disks.get', place).body).not.toHaveProperty('users');
    const deleted = world.call('compute.disks.delete', place);
    world.pass(2 * SECOND);
    expect(world.operation(deleted).status).toBe('DONE');
    expect(world.call('compute.disks.get', place).status).toBe(404);
  });
});

describe('what happens to a machine', () => {
  test('a preempted Spot machine with DELETE is gone, and its operation tells why', () => {
    const scheduling = { provisioningModel: 'SPOT', instanceTerminationAction: 'DELETE' };
    const world = running({ scheduling }, { compute: { spotShutdownMs: 30_000 } });
    const { id } = world.instance('get', 'vm').body ?? {};
    world.call('local.compute.preempt', { zone: ZONE, name: 'vm' });
    expect(world.world.compute.machinesById.get(String(id))?.preempted).toBe(true);
    world.pass(29 * SECOND);
    expect(statusOf(world, 'vm')).toBe('STOPPING');
    world.pass(10 * SECOND);
    expect(statusOf(world, 'vm')).toBe(404);
    const filter = `targetId=${id}`;
    const listed = world.call('compute.zoneOperations.list', {
      project: PROJECT,
      zone: ZONE,
      filter,
    });
    expect(listed.body?.items).toContainEqual(
      expect.objectContaining({
        name: expect.stringMatching(/^systemevent-/),
        operationType: 'compute.instances.preempted',
        status: 'DONE',
      }),
    );
  });

  test('a host error without automaticRestart leaves it TERMINATED, with it the TTL starts again', () => {
    const lost = running();
    lost.call('local.compute.hostError', { zone: ZONE, name: 'vm' });
    expect(statusOf(lost, 'vm')).toBe('TERMINATED');
    expect(operationTypes(lost)).toContain('compute.instances.hostError');
    const restarted = running({ scheduling: { maxRunDuration: { seconds: '600' } } });
    restarted.pass(500 * SECOND);
    restarted.call('local.compute.hostError', { zone: ZONE, name: 'vm' });
    restarted.pass(500 * SECOND);
    expect(statusOf(restarted, 'vm')).toBe('RUNNING');
  });
});

test('equal worlds and equal calls give equal worlds, ids and all', () => {
  const tell = () => {
    const world = running({}, { seed: 7 });
    world.instance('delete', 'vm');
    world.pass(60 * SECOND);
    return JSON.stringify([
      world.events,
      world.call('compute.zoneOperations.list', { zone: ZONE }),
    ]);
  };
  expect(tell()).toBe(tell());
});
