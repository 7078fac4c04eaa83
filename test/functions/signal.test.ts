// Which log entries are signals: what the sink of a deployment takes, and what the function reads.
import { describe, expect, test } from 'vitest';
import { readSignal, signalFilter } from '#functions/signals/signal.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { instanceName } from '#shared/plan/names.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import { deleteEntry, entry } from '#test/functions/signal-entries.ts';

const NAME = instanceName('mayfly', 'r1', 1);
const ZONE = 'us-central1-a';
const PLAN = { project: 'local-project', deployment: 'mayfly' };
const RESOURCE = `projects/local-project/zones/${ZONE}/instances/${NAME}`;

function message(data: Uint8Array | string): PushMessage {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const rest = { publishTimeMs: null, subscription: null, deliveryAttempt: null };
  return { messageId: '1', data: bytes, attributes: {}, ...rest };
}

const read = (value: object) => readSignal(message(JSON.stringify(value)), PLAN);

function taken(value: object): boolean {
  const matches = compileFilter(signalFilter('mayfly'));
  if (typeof matches === 'string') throw new Error(matches);
  return matches(value as Record<string, unknown>);
}

describe('entries that are signals', () => {
  test.each([
    'compute.instances.preempted',
    'compute.instances.guestTerminate',
    'compute.instances.hostError',
    'compute.instances.terminateOnHostMaintenance',
    'compute.instances.deferredDelete',
  ])('%s', (methodName) => {
    const value = entry(NAME, { methodName });
    expect(taken(value)).toBe(true);
    const signal = { kind: 'signal', what: 'event', methodName, instance: NAME, zone: ZONE };
    expect(read(value)).toEqual(signal);
  });

  test.each(['v1', 'beta', 'alpha'])('the last entry of a %s delete', (version) => {
    const methodName = `${version}.compute.instances.delete`;
    const value = deleteEntry(NAME, 'last', { methodName });
    expect(taken(value)).toBe(true);
    expect(read(value)).toMatchObject({ kind: 'signal', what: 'deleted', instance: NAME });
  });

  test('the project by its number', () => {
    const resourceName = RESOURCE.replace('local-project', '100000000001');
    expect(read(entry(NAME, { resourceName }))).toMatchObject({ kind: 'signal', zone: ZONE });
  });

  test('the last entry of a delete, whatever its status: nothing may have been there any more', () => {
    for (const status of [{}, { code: 0 }, { code: 5, message: 'RESOURCE_NOT_FOUND' }]) {
      expect(read(deleteEntry(NAME, 'last', { status }))).toMatchObject({ kind: 'signal' });
    }
  });
});

describe('entries that neither the sink takes nor the function reads', () => {
  const cases: [string, object][] = [
    ['a delete that has only begun', deleteEntry(NAME, 'first')],
    ['a stop', entry(NAME, { methodName: 'v1.compute.instances.stop' })],
    ['a migration', entry(NAME, { methodName: 'compute.instances.migrateOnHostMaintenance' })],
    ['an insert', deleteEntry(NAME, 'last', { methodName: 'v1.compute.instances.insert' })],
    [
      'the delete of something else',
      deleteEntry(NAME, 'last', { methodName: 'v1.compute.instanceGroups.delete' }),
    ],
    ['another service', entry(NAME, { serviceName: 'run.googleapis.com' })],
    ['a machine of another name', entry('somebody')],
    ['another deployment’s', entry(instanceName('other', 'r1', 1))],
    ['a disk', entry(NAME, { resourceName: RESOURCE.replace('/instances/', '/disks/') })],
    ['no audit log', { textPayload: 'Instance was preempted.', resource: { type: 'global' } }],
  ];
  test.each(cases)('%s', (_name, value) => {
    expect(taken(value)).toBe(false);
    expect(read(value)).toMatchObject({ kind: 'foreign' });
  });
});

describe('entries that the function does not read, whoever sends them', () => {
  const cases: [string, object][] = [
    ['another project’s', entry(NAME, { resourceName: RESOURCE.replace('local-', 'their-') })],
    ['a name that only begins like ours', entry('mayfly-web-1')],
    ['a name in another’s', entry(`x-${NAME}`)],
    ['a longer resource', entry(NAME, { resourceName: `${RESOURCE}/../x` })],
    ['a resource without a zone', entry(NAME, { resourceName: `instances/${NAME}` })],
    ['an entry too large', { ...entry(NAME), labels: { x: 'x'.repeat(256 * 1024) } }],
    ['a method that is no text', { protoPayload: { methodName: 7 } }],
  ];
  test.each(cases)('%s', (_name, value) => {
    expect(read(value)).toMatchObject({ kind: 'foreign', reason: expect.stringMatching(/./) });
  });

  const bodies: [string, Uint8Array | string][] = [
    ['nothing', ''],
    ['no JSON', '{"protoPayload":'],
    ['a list', '[]'],
    ['null', 'null'],
    ['no UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
  ];
  test.each(bodies)('%s', (_name, data) => {
    expect(readSignal(message(data), PLAN)).toMatchObject({ kind: 'foreign' });
  });
});

test('another deployment whose name begins like ours is told by its marker alone', () => {
  // Its names are names that ours could give as well.
  const value = entry(instanceName('mayfly-dev', 'r1', 1));
  expect(read(value)).toMatchObject({ kind: 'signal' });
});
