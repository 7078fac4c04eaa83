// What an ObjectStore promises, whoever stands behind it: run against the real client over a server,
// and against the local cloud's port without sockets.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ObjectStore } from '#shared/cloud/storage.ts';

export interface OpenedStore extends AsyncDisposable {
  /** An empty bucket without versioning and without the limit of one write a second. */
  readonly store: ObjectStore;
  /** Makes many empty objects in a quicker way than one by one, where there is one. */
  fill?(names: readonly string[]): void;
}

const NAMES = [
  'runs/active/a',
  'runs/active/B~1._-',
  'runs/active/ä ö/ü',
  'runs/active/percent%41',
  'runs/active/question?x=1&y=2',
  'runs/active/hash#1',
  'runs/active/plus+colon:1',
  'runs/active/emoji-🪰',
];

/** Declares the suite for one implementation. */
export function describeObjectStore(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore;
    let store: ObjectStore;
    beforeAll(async () => {
      opened = await open();
      store = opened.store;
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    /** A new object; its generation. */
    const create = async (object: string, text = '{}') => {
      const reply = await store.write(object, text, { ifGeneration: '0' });
      if (reply.kind !== 'written') throw new Error(`${object} was there already`);
      return reply.generation;
    };

    test('what was never written is absent', async () => {
      expect(await store.read('never')).toEqual({ kind: 'absent' });
      expect(await store.read('never', '1700000000000001')).toEqual({ kind: 'absent' });
      expect(await store.delete('never')).toEqual({ kind: 'absent' });
      expect(await store.delete('never', '1700000000000001')).not.toEqual({ kind: 'deleted' });
    });

    test('what was written is read back, at its own generation and live', async () => {
      const bytes = new Uint8Array([0, 0xff, 0xfe, 10, 13, 0x7b]);
      const reply = await store.write('binary', bytes, { ifGeneration: '0' });
      if (reply.kind !== 'written') throw new Error('not written');
      const read = await store.read('binary');
      expect(read).toMatchObject({ kind: 'found', generation: reply.generation });
      if (read.kind !== 'found') throw new Error('not found');
      expect([...read.bytes]).toEqual([...bytes]);
      expect(read.updatedMs).toBeGreaterThan(0);
      expect(await store.read('binary', reply.generation)).toEqual(read);
    });

    test('an empty object is an object', async () => {
      const generation = await create('empty', '');
      const read = await store.read('empty');
      expect(read).toMatchObject({ kind: 'found', generation });
      expect(read.kind === 'found' && read.bytes.byteLength).toBe(0);
    });

    test('creating what is there is a conflict and changes nothing', async () => {
      const generation = await create('once', 'first');
      expect(await store.write('once', 'second', { ifGeneration: '0' })).toEqual({
        kind: 'conflict',
      });
      const read = await store.read('once');
      expect(read).toMatchObject({ generation });
      expect(read.kind === 'found' && new TextDecoder().decode(read.bytes)).toBe('first');
    });

    test('compare-and-swap: the right generation wins, an older one is a conflict', async () => {
      const first = await create('swapped', '1');
      const reply = await store.write('swapped', '2', { ifGeneration: first });
      if (reply.kind !== 'written') throw new Error('not written');
      expect(BigInt(reply.generation)).toBeGreaterThan(BigInt(first));
      expect(await store.write('swapped', '3', { ifGeneration: first })).toEqual({
        kind: 'conflict',
      });
      expect(await store.write('swapped-not-there', '1', { ifGeneration: first })).toEqual({
        kind: 'conflict',
      });
    });

    test('of writers with the same generation exactly one wins', async () => {
      const generation = await create('raced', '0');
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          store.write('raced', String(index), { ifGeneration: generation }),
        ),
      );
      expect(replies.filter(({ kind }) => kind === 'written')).toHaveLength(1);
      expect(replies.filter(({ kind }) => kind === 'conflict')).toHaveLength(7);
    });

    test('P59: a generation that was replaced is absent', async () => {
      const first = await create('replaced', '1');
      await store.write('replaced', '2', { ifGeneration: first });
      expect(await store.read('replaced', first)).toEqual({ kind: 'absent' });
      expect((await store.read('replaced')).kind).toBe('found');
    });

    test('deleting with a generation spares what came later', async () => {
      const first = await create('deleted', '1');
      const reply = await store.write('deleted', '2', { ifGeneration: first });
      expect(await store.delete('deleted', first)).toEqual({ kind: 'conflict' });
      expect((await store.read('deleted')).kind).toBe('found');
      if (reply.kind !== 'written') throw new Error('not written');
      expect(await store.delete('deleted', reply.generation)).toEqual({ kind: 'deleted' });
      expect(await store.read('deleted')).toEqual({ kind: 'absent' });
    });

    test('deleting without a generation deletes what lives', async () => {
      await create('lives', '1');
      expect(await store.delete('lives')).toEqual({ kind: 'deleted' });
      expect(await store.delete('lives')).toEqual({ kind: 'absent' });
    });

    test('a name that was deleted can be created again, with a later generation', async () => {
      const first = await create('again', '1');
      await store.delete('again', first);
      expect(BigInt(await create('again', '2'))).toBeGreaterThan(BigInt(first));
    });

    test('names of any characters go there and back, and are listed in the order of their bytes', async () => {
      for (const name of NAMES) await create(name, name);
      for (const name of NAMES) {
        const read = await store.read(name);
        expect(read.kind === 'found' && new TextDecoder().decode(read.bytes), name).toBe(name);
      }
      const page = await store.list('runs/active/');
      const sorted = [...NAMES].sort((left, right) =>
        Buffer.compare(Buffer.from(left), Buffer.from(right)),
      );
      expect(page.objects.map(({ name }) => name)).toEqual(sorted);
      expect(page.nextPageToken).toBeNull();
      const [first] = page.objects;
      const read = await store.read(first?.name ?? '');
      expect(read).toMatchObject({ generation: first?.generation });
      expect(first?.bytes).toBe(Buffer.byteLength(first?.name ?? ''));
      expect((await store.list('runs/none/')).objects).toEqual([]);
    });

    test('custom metadata is listed with its object, and is empty where none was given', async () => {
      const metadata = { counted: '{"team":"\\u00e4 \\"x\\""}', other: '' };
      await store.write('noted/a', '', { ifGeneration: '0', metadata });
      await create('noted/b');
      const { objects } = await store.list('noted/');
      expect(objects.map((object) => object.metadata)).toEqual([metadata, {}]);
    });

    test('a list of more than 1,000 names comes in pages, each name once', async () => {
      const names = Array.from({ length: 1001 }, (_, index) => `many/${10_000 + index}`);
      if (opened.fill === undefined) await Promise.all(names.map((name) => create(name, '')));
      else opened.fill(names);
      const first = await store.list('many/');
      expect(first.objects).toHaveLength(1000);
      expect(first.nextPageToken).not.toBeNull();
      const second = await store.list('many/', first.nextPageToken);
      expect(second.nextPageToken).toBeNull();
      expect([...first.objects, ...second.objects].map(({ name }) => name)).toEqual(names);
    });
  });
}
