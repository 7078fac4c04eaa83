import { expect, test } from 'vitest';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { parseRequest } from '#shared/plan/request.ts';
import { lastCheckpoints } from '#shared/runs/jobs/checkpoints.ts';
import { START_MS } from '#test/local-cloud/fixtures.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const SHA = 'a'.repeat(64);
const file = (change: object = {}) => ({ path: 'model/state', sha256: SHA, bytes: 3, ...change });

function open(tasks = 1) {
  const cloud = inProcessCloud({ world: createWorld(), nowMs: () => START_MS });
  const parsed = parseRequest(
    {
      runId: 'r1',
      runtime: 'cloudrun-jobs',
      resources: { class: 'S', base: 'base-ml' },
      command: ['fit'],
      checkpoint: { '/ckpt': 'gs://local-bucket/ckpt/' },
      tasks,
    },
    { defaultRunId: 'r1', settings: SETTINGS.plan },
  );
  if (parsed.kind === 'invalid') throw new Error(JSON.stringify(parsed.faults));
  const store = cloud.store('local-bucket');
  return {
    put: (name: string, value: unknown) =>
      store.write(`ckpt/${name}`, typeof value === 'string' ? value : JSON.stringify(value), {
        ifGeneration: '0',
      }),
    read: () => lastCheckpoints((bucket) => cloud.store(bucket), parsed.request),
  };
}
const manifest = (...files: object[]) => ({ schema: 1, files });

test('C160: the newest of the newest attempt, by number and not by name', async () => {
  const { put, read } = open();
  await put('checkpoints/2-0000000009.json', manifest(file({ path: 'second' })));
  await put('checkpoints/10-0000000001.json', manifest(file({ path: 'tenth' })));
  await put('checkpoints/10-0000000002.json', manifest(file({ path: 'tenth, later' })));
  await put('checkpoints/other.json', manifest(file({ path: 'no manifest' })));
  expect(await read()).toEqual({ '/ckpt': { 0: [file({ path: 'tenth, later' })] } });
});

test('C160: each task has its own', async () => {
  const { put, read } = open(3);
  await put('tasks/0/checkpoints/1-0000000001.json', manifest(file({ path: 'zero' })));
  await put('tasks/2/checkpoints/1-0000000001.json', manifest(file({ path: 'two' })));
  expect(await read()).toEqual({
    '/ckpt': { 0: [file({ path: 'zero' })], 2: [file({ path: 'two' })] },
  });
});

test.each([
  ['no JSON', 'half a manif'],
  ['another schema', { schema: 2, files: [file()] }],
  ['a path from the root', manifest(file({ path: '/etc/passwd' }))],
  ['a path out of the folder', manifest(file({ path: 'a/../../b' }))],
  ['an empty path', manifest(file({ path: '' }))],
  ['a name that is no checksum', manifest(file({ sha256: '../../secret' }))],
  ['too many files', manifest(...Array.from({ length: 1_001 }, () => file()))],
])('%s: the one before it counts', async (_name, bad) => {
  const { put, read } = open();
  await put('checkpoints/1-0000000001.json', manifest(file({ path: 'good' })));
  await put('checkpoints/1-0000000002.json', bad);
  expect(await read()).toEqual({ '/ckpt': { 0: [file({ path: 'good' })] } });
});
