import { expect, test } from 'vitest';
import { PushGate } from '#scripts/local-cloud/server/push-gate.ts';

test('a server gets so many requests at a time, in their order; another one has its own room', async () => {
  const gate = new PushGate(2);
  const begun: string[] = [];
  const open = new Map<string, () => void>();
  const send = (name: string, url: string) =>
    gate.pass(url, () => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      open.set(name, resolve);
      return promise;
    });
  const sent = ['a1', 'a2', 'a3', 'a4'].map((name) => send(name, `http://a/${name}`));
  const other = send('b1', 'http://b/');
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  open.get('a2')?.();
  await sent[1];
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  for (const name of ['a1', 'a3']) open.get(name)?.();
  await Promise.all([sent[0], sent[2]]);
  for (const name of ['a4', 'b1']) open.get(name)?.();
  await Promise.all([sent[3], other]);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});

test('one that fails makes room too', async () => {
  const gate = new PushGate(1);
  const fails = gate.pass('http://a/', async () => {
    throw new Error('no');
  });
  const next = gate.pass('http://a/', async () => 'answered');
  await expect(fails).rejects.toThrow('no');
  expect(await next).toBe('answered');
});
