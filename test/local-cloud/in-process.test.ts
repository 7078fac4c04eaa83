// The product's ports over a world without sockets: what they answer, and how faults reach them.
import { describe, expect, test } from 'vitest';
import { type Around, inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { instanceBody, START_MS } from '#test/local-cloud/fixtures.ts';

function open(around?: Around) {
  const world = createWorld();
  const clock = { nowMs: START_MS };
  const cloud = inProcessCloud({
    world,
    nowMs: () => clock.nowMs,
    ...(around === undefined ? {} : { around }),
  });
  return { world, clock, cloud, store: cloud.store('local-bucket') };
}

describe('objects', () => {
  test('a create-only write is won once, and read back with its generation', async () => {
    const { store } = open();
    const first = await store.write('a/b', 'one', { ifGeneration: '0' });
    expect(first).toEqual({ kind: 'written', generation: expect.stringMatching(/^[0-9]{16}$/) });
    expect(await store.write('a/b', 'two', { ifGeneration: '0' })).toEqual({ kind: 'conflict' });
    const read = await store.read('a/b');
    expect(read).toMatchObject({ kind: 'found' });
    expect(read.kind === 'found' && new TextDecoder().decode(read.bytes)).toBe('one');
    expect(await store.read('a/b', '1234567890123456')).toEqual({ kind: 'absent' });
  });

  test('the second change of a name within a second is a wait, not a conflict', async () => {
    const { store, clock } = open();
    const written = await store.write('a', 'one', { ifGeneration: '0' });
    const ifGeneration = written.kind === 'written' ? written.generation : '';
    await expect(store.write('a', 'two', { ifGeneration })).rejects.toMatchObject({
      code: 'rate-limited',
      retriable: true,
    });
    clock.nowMs += 1000;
    expect(await store.write('a', 'two', { ifGeneration })).toMatchObject({ kind: 'written' });
  });

  test('what is handed out is a copy', async () => {
    const { store } = open();
    await store.write('a', 'one', { ifGeneration: '0' });
    const read = await store.read('a');
    if (read.kind === 'found') read.bytes.fill(0);
    const again = await store.read('a');
    expect(again.kind === 'found' && new TextDecoder().decode(again.bytes)).toBe('one');
  });

  test('a bucket that is not there says nothing about its objects', async () => {
    const { cloud } = open();
    await expect(cloud.store('other').read('a')).rejects.toMatchObject({
      reason: 'bucket-missing',
    });
  });
});

describe('faults', () => {
  test.each([
    { kind: 'cut', code: 'unavailable' },
    { kind: 'hang', code: 'timeout' },
    { kind: 'garbage', code: 'unreadable' },
    { kind: 'status', status: 403, code: 'forbidden' },
    { kind: 'status', status: 429, code: 'rate-limited' },
    { kind: 'status', status: 503, code: 'unavailable' },
  ] as const)('$kind $status after the effect: the write has landed', async (fault) => {
    const { world, store } = open();
    const { code, ...rest } = fault;
    const match = { method: 'storage.objects.insert' };
    world.faults.plant({ match, effect: 'after', times: 1, ...rest });
    await expect(store.write('a', 'one', { ifGeneration: '0' })).rejects.toMatchObject({ code });
    expect(await store.read('a')).toMatchObject({ kind: 'found' });
  });

  test('before the effect nothing has happened, and `after` lets so many calls pass', async () => {
    const { world, store } = open();
    const match = { method: 'storage.objects.*', nameIncludes: 'marker', after: 1 };
    world.faults.plant({ match, effect: 'before', kind: 'cut', times: 1 });
    expect(await store.write('marker', '1', { ifGeneration: '0' })).toMatchObject({
      kind: 'written',
    });
    await store.write('other', '1', { ifGeneration: '0' });
    await expect(store.delete('marker')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.read('marker')).toMatchObject({ kind: 'found' });
  });

  test('a hook may drop the reply of a call that took effect', async () => {
    const seen: string[] = [];
    const { store, world } = open(async (call, perform) => {
      seen.push(`${call.method} ${call.name}`);
      await perform();
      throw new Error('killed');
    });
    await expect(store.write('a', 'one', { ifGeneration: '0' })).rejects.toThrow('killed');
    expect(seen).toEqual(['storage.objects.insert a']);
    expect(world.storage.buckets.get('local-bucket')?.objects.has('a')).toBe(true);
  });
});

test('the transport serves the REST paths of Compute', async () => {
  const { cloud } = open();
  const url = 'https://compute.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instances';
  const made = await cloud.transport({
    method: 'POST',
    url: `${url}?requestId=11111111-1111-4111-8111-111111111111`,
    body: instanceBody('vm-1'),
    timeoutMs: 1000,
  });
  expect(made).toMatchObject({ status: 200, body: { kind: 'compute#operation' } });
  const got = await cloud.transport({ method: 'GET', url: `${url}/vm-1`, timeoutMs: 1000 });
  expect(got).toMatchObject({ status: 200, body: { name: 'vm-1', status: 'PROVISIONING' } });
});

test('the publisher takes short and full names, and says when there is no such topic', async () => {
  const { cloud } = open();
  await cloud.call({
    method: 'pubsub.topics.create',
    params: { project: 'local-project', topic: 'top' },
  });
  expect(await cloud.publisher.publish('top', 'x')).toMatch(/^[0-9]+$/);
  expect(await cloud.publisher.publish('projects/local-project/topics/top', 'x')).toMatch(
    /^[0-9]+$/,
  );
  await expect(cloud.publisher.publish('none', 'x')).rejects.toMatchObject({ code: 'not-found' });
});
