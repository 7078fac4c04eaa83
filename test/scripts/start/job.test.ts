import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readJob } from '#scripts/start/job.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-job-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const job = async (text: string) => {
  await writeFile(join(folder, 'job.json'), text);
  return readJob('job.json', folder);
};

test('the machine may reach what its request names, but none of our own objects', async () => {
  const { objects } = await job(
    JSON.stringify({
      image: 'x',
      inputs: { '/a': 'gs://mine/a.csv', '/b': 'gs://local-bucket/runs/state/other/request.json' },
      outputs: { '/out': 'gs://local-bucket/out/', '/all': 'gs://local-bucket/' },
    }),
  );
  expect(objects).toEqual(['gs://mine/a.csv', 'gs://local-bucket/out/']);
});

test('a request without an id gets one, a given one stays', async () => {
  const made = await job('{"image":"x"}');
  expect(JSON.parse(made.text)).toEqual({ runId: made.runId, image: 'x' });
  expect(await job('{"image":"x","runId":"mine"}')).toMatchObject({ runId: 'mine' });
});

test('a file that is no request is refused by name', async () => {
  await expect(job('nonsense')).rejects.toThrow(/^job\.json: the message is not JSON/);
  await expect(job('[]')).rejects.toThrow('job.json: a request is a JSON object');
  await expect(readJob('absent.json', folder)).rejects.toThrow(/^absent\.json cannot be read/);
});
