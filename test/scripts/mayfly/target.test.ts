import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-target-'));
  await writeFile(
    join(folder, '.mayfly.json'),
    JSON.stringify({ project: 'from-file', bucket: 'bucket-file', deployment: 'filed' }),
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What a plan was made for, from its instance's name and its script. */
async function targetOf(environment: Readonly<Record<string, string>>, ...flags: string[]) {
  const stdin = '{"runId":"r","image":"gcr.io/p/i:1"}';
  const words = ['plan', '-', '--json', ...flags];
  const ended = await callMayfly(words, { folder, environment, stdin });
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  const { startupScript, instanceName } = JSON.parse(ended.stdout);
  const blank = (name: string) => new RegExp(`^${name}='([^']*)'$`, 'm').exec(startupScript)?.[1];
  return [blank('PROJECT'), blank('BUCKET'), instanceName.split('-')[0]];
}

test.each([
  { name: 'the file', environment: {}, flags: [], target: ['from-file', 'bucket-file', 'filed'] },
  {
    name: 'variables over the file',
    environment: { MAYFLY_PROJECT: 'from-env', MAYFLY_BUCKET: 'bucket-env' },
    flags: [],
    target: ['from-env', 'bucket-env', 'filed'],
  },
  {
    name: 'the file where a variable is empty',
    environment: { MAYFLY_PROJECT: '' },
    flags: [],
    target: ['from-file', 'bucket-file', 'filed'],
  },
  {
    name: 'flags over all',
    environment: { MAYFLY_PROJECT: 'from-env' },
    flags: ['--project', 'from-flag', '--deployment', 'flagged'],
    target: ['from-flag', 'bucket-file', 'flagged'],
  },
  {
    name: 'Google’s own variable last',
    environment: { GOOGLE_CLOUD_PROJECT: 'from-google' },
    flags: [],
    target: ['from-file', 'bucket-file', 'filed'],
  },
])('which deployment is meant: $name', async ({ environment, flags, target }) => {
  expect(await targetOf(environment, ...flags)).toEqual(target);
});

test('what is missing is named at once, with the ways to give it', async () => {
  const ended = await callMayfly(['show', 'r'], { folder: tmpdir() });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(/project \(--project or MAYFLY_PROJECT\) and the bucket \(--bucket/);
});

test('a run id that would name other objects is refused', async () => {
  const environment = { MAYFLY_PROJECT: 'p', MAYFLY_BUCKET: 'bucket' };
  const ended = await callMayfly(['show', '../x'], { environment });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain('"../x"');
});
