// What the audit logs say of machines, and how a sink brings it to a topic. The expected entries have the
// fields of entries that Cloud Logging has exported (published by others, 2018 to 2023).
import { describe, expect, test } from 'vitest';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { instanceBody, PROJECT, START_MS, TestWorld, ZONE } from '#test/local-cloud/fixtures.ts';

const TOPIC = `projects/${PROJECT}/topics/signals`;
const SUBSCRIPTION = `projects/${PROJECT}/subscriptions/signals`;
const DESTINATION = `pubsub.googleapis.com/${TOPIC}`;
const FILTER =
  'protoPayload.resourceName:"/instances/ours-" AND ' +
  '(protoPayload.methodName:"compute.instances.delete" OR protoPayload.methodName="compute.instances.preempted")';

interface Entry {
  readonly logName: string;
  readonly timestamp: string;
  readonly severity: string;
  readonly operation: { readonly id: string; readonly first?: boolean; readonly last?: boolean };
  readonly protoPayload: { readonly methodName: string; readonly status?: { code?: number } };
}

function watched(choices: WorldChoices = {}, filter = ''): TestWorld {
  const world = new TestWorld(choices);
  world.call('pubsub.topics.create', { topic: TOPIC }, {});
  const pushConfig = { pushEndpoint: 'http://127.0.0.1:9/' };
  const subscription = { subscription: SUBSCRIPTION };
  world.call('pubsub.subscriptions.create', subscription, { topic: TOPIC, pushConfig });
  const made = world.call(
    'logging.projects.sinks.create',
    { project: PROJECT },
    { name: 'signals', destination: DESTINATION, filter },
  );
  expect(made).toMatchObject({ status: 200, body: { name: 'signals', destination: DESTINATION } });
  return world;
}

function insert(world: TestWorld, name: string, fields: Record<string, unknown> = {}): void {
  const params = { project: PROJECT, zone: ZONE };
  const reply = world.call('compute.instances.insert', params, instanceBody(name, fields));
  expect(reply.status).toBe(200);
  world.pass(10_000);
}

interface Message {
  readonly messageId: string;
  readonly data: string;
  readonly attributes: object;
}

/** Nobody answers the pushes here: each message once, however often it is pushed. */
function messages(world: TestWorld): Message[] {
  const all = world.pushes().map(({ body }) => (body as unknown as { message: Message }).message);
  return [...new Map(all.map((message) => [message.messageId, message])).values()];
}

const told = (world: TestWorld): Entry[] =>
  messages(world).map(({ data }) => JSON.parse(Buffer.from(data, 'base64').toString()));
const machine = (name: string) => ({ project: PROJECT, zone: ZONE, instance: name });

describe('what is said of a machine', () => {
  test('a delete is an entry when it begins and one when the machine is gone, each of its operation', () => {
    const world = watched();
    insert(world, 'vm');
    const before = told(world).length;
    const operation = world.call('compute.instances.delete', machine('vm'), undefined, 'a@b.c');
    world.pass(60_000);
    const [first, last] = told(world).slice(before);
    const id = (operation.body as { name: string }).name;
    const expected = {
      logName: `projects/${PROJECT}/logs/cloudaudit.googleapis.com%2Factivity`,
      severity: 'NOTICE',
      insertId: expect.stringMatching(/^-/),
      resource: {
        type: 'gce_instance',
        labels: {
          instance_id: expect.stringMatching(/^[1-9]\d{18}$/),
          project_id: PROJECT,
          zone: ZONE,
        },
      },
      protoPayload: {
        '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
        authenticationInfo: { principalEmail: 'a@b.c' },
        serviceName: 'compute.googleapis.com',
        methodName: 'v1.compute.instances.delete',
        resourceName: `projects/${PROJECT}/zones/${ZONE}/instances/vm`,
        request: { '@type': 'type.googleapis.com/compute.instances.delete' },
      },
    };
    const producer = 'compute.googleapis.com';
    expect(first).toMatchObject({ ...expected, operation: { id, producer, first: true } });
    expect(last).toMatchObject({ ...expected, operation: { id, producer, last: true } });
    expect(first?.operation).not.toHaveProperty('last');
    expect(last?.operation).not.toHaveProperty('first');
    expect(Date.parse(last?.timestamp ?? '')).toBeGreaterThan(Date.parse(first?.timestamp ?? ''));
    expect(messages(world).at(-1)?.attributes).toEqual({
      'logging.googleapis.com/timestamp': last?.timestamp,
    });
  });

  test('a preemption is one entry of the system, first and last', () => {
    const world = watched({}, FILTER);
    insert(world, 'ours-1', { scheduling: { provisioningModel: 'SPOT' } });
    world.call('local.compute.preempt', { zone: ZONE, name: 'ours-1' });
    expect(told(world)).toEqual([
      {
        protoPayload: {
          '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
          status: { message: 'Instance was preempted.' },
          authenticationInfo: { principalEmail: 'system@google.com' },
          serviceName: 'compute.googleapis.com',
          methodName: 'compute.instances.preempted',
          resourceName: `projects/${PROJECT}/zones/${ZONE}/instances/ours-1`,
          request: { '@type': 'type.googleapis.com/compute.instances.preempted' },
        },
        insertId: expect.any(String),
        resource: {
          type: 'gce_instance',
          labels: { instance_id: expect.any(String), project_id: PROJECT, zone: ZONE },
        },
        timestamp: expect.any(String),
        severity: 'INFO',
        logName: `projects/${PROJECT}/logs/cloudaudit.googleapis.com%2Fsystem_event`,
        operation: {
          id: expect.stringMatching(/^systemevent-/),
          producer: 'compute.instances.preempted',
          first: true,
          last: true,
        },
        receiveTimestamp: expect.any(String),
      },
    ]);
  });

  test.each([
    ['its host fails', 'local.compute.hostError', 'compute.instances.hostError'],
    ['it powers itself off', 'local.machine.poweredOff', 'compute.instances.guestTerminate'],
  ])('%s: an entry of the system', (_what, control, methodName) => {
    const world = watched();
    insert(world, 'vm');
    world.call(control, { zone: ZONE, name: 'vm' });
    expect(told(world).at(-1)).toMatchObject({
      protoPayload: { methodName },
      operation: { first: true, last: true },
    });
  });

  test('its time is up: the system’s deferred delete, where the world tells it at all', () => {
    const methods = (ttlOperation: boolean) => {
      const world = watched({ compute: { ttlOperation } });
      insert(world, 'vm');
      world.pass(700_000);
      return told(world).map(({ protoPayload }) => protoPayload.methodName);
    };
    const insertion = Array(2).fill('v1.compute.instances.insert');
    expect(methods(true)).toEqual([...insertion, 'compute.instances.deferredDelete']);
    expect(methods(false)).toEqual(insertion);
  });

  test('an operation that fails says so in its last entry', () => {
    const world = watched({ compute: { refusalMs: 5000 } });
    const stock = { zone: ZONE, machineType: 'n2-standard-4', available: 0 };
    world.call('local.compute.stock', {}, stock);
    const params = { project: PROJECT, zone: ZONE };
    world.call('compute.instances.insert', params, instanceBody('vm'));
    world.pass(10_000);
    const [first, last] = told(world);
    expect(first).toMatchObject({ severity: 'NOTICE', operation: { first: true } });
    expect(first?.protoPayload).not.toHaveProperty('status');
    expect(last).toMatchObject({ severity: 'ERROR', operation: { last: true } });
    expect(last?.protoPayload.status?.code).not.toBe(0);
  });
});

describe('a sink', () => {
  test('takes what its filter takes, and nothing else', () => {
    const world = watched({}, `${FILTER} AND operation.last=true`);
    insert(world, 'ours-1');
    insert(world, 'theirs-1');
    for (const name of ['ours-1', 'theirs-1']) {
      world.call('compute.instances.delete', machine(name));
    }
    world.pass(60_000);
    expect(told(world)).toMatchObject([
      {
        protoPayload: { resourceName: expect.stringMatching(/ours-1$/) },
        operation: { last: true },
      },
    ]);
  });

  test('takes entries that clients write too, once each', () => {
    const world = watched({}, 'severity=ERROR');
    const entry = {
      logName: `projects/${PROJECT}/logs/app`,
      resource: { type: 'global' },
      insertId: 'a',
      timestamp: '2026-12-01T12:00:00Z',
      severity: 'ERROR',
      textPayload: 'x',
    };
    world.call('logging.entries.write', {}, { entries: [entry] });
    world.call('logging.entries.write', {}, { entries: [entry] });
    world.call(
      'logging.entries.write',
      {},
      { entries: [{ ...entry, logName: 'projects/p/logs/a' }] },
    );
    expect(told(world)).toMatchObject([{ textPayload: 'x' }]);
  });

  test.each([
    ['lost', { loss: 1 }, []],
    ['doubled', { duplication: 1 }, [0, 0]],
    ['late', { delayMs: 5000 }, [5000]],
  ])('its messages can be %s', (_how, sink, delays) => {
    const world = watched({ logging: { sink } }, FILTER);
    insert(world, 'ours-1');
    const atMs = world.nowMs;
    world.call('local.compute.preempt', { zone: ZONE, name: 'ours-1' });
    world.pass(4000);
    world.pass(2000);
    expect(world.pushes().map(({ sentMs }) => sentMs - atMs)).toEqual(delays);
  });

  test('can be read, listed and deleted; without it nothing is told, and the log keeps the entries', () => {
    const world = watched({}, FILTER);
    const params = { project: PROJECT, sink: 'signals' };
    const resource = {
      name: 'signals',
      destination: DESTINATION,
      filter: FILTER,
      writerIdentity: expect.stringMatching(/^serviceAccount:/),
    };
    expect(world.call('logging.projects.sinks.get', params).body).toEqual(resource);
    const list = world.call('logging.projects.sinks.list', { project: PROJECT });
    expect(list.body).toEqual({ sinks: [resource] });
    expect(world.call('logging.projects.sinks.delete', params).status).toBe(200);
    expect(world.call('logging.projects.sinks.get', params).status).toBe(404);
    insert(world, 'ours-1');
    world.call('local.compute.preempt', { zone: ZONE, name: 'ours-1' });
    expect(told(world)).toEqual([]);
    const filter = 'protoPayload.methodName="compute.instances.preempted"';
    const query = { resourceNames: [`projects/${PROJECT}`], filter };
    const { entries } = world.call('logging.entries.list', {}, query).body as { entries: Entry[] };
    expect(entries).toHaveLength(1);
    expect(Date.parse(entries[0]?.timestamp ?? '')).toBe(START_MS + 10_000);
  });

  test.each([
    ['a topic that is not there', { destination: `pubsub.googleapis.com/${TOPIC}x` }, 400],
    ['a filter that cannot be read', { filter: '(severity=ERROR' }, 400],
    ['a name that is none', { name: 'a/b' }, 400],
    ['a name that is taken', { name: 'signals' }, 409],
  ])('with %s is refused', (_what, change, status) => {
    const world = watched();
    const body = { name: 'other', destination: DESTINATION, filter: '', ...change };
    const reply = world.call('logging.projects.sinks.create', { project: PROJECT }, body);
    expect(reply.status).toBe(status);
  });

  test('is made by who may, and nobody else', () => {
    const world = new TestWorld({ grants: [] });
    const params = { project: PROJECT, sink: 'signals' };
    for (const method of ['create', 'get', 'list', 'delete']) {
      const name = `logging.projects.sinks.${method}`;
      expect(world.call(name, params, {}, 'a@b.c').status).toBe(403);
    }
  });
});
