// The v1 paths of Cloud Run, which gcloud uses: their shapes and labels are those that gcloud reads.
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { PROJECT } from '#test/local-cloud/fixtures.ts';
import { JOB, jobBody, RunWorld, TASK_ACCOUNT } from '#test/local-cloud/run/run-fixture.ts';

const V1 = `/apis/run.googleapis.com/v1/namespaces/${PROJECT}`;

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

const namesOf = (body: unknown) => (body as Listed).items.map(({ metadata }) => metadata.name);

test('C62: an execution is shown with its conditions, counts, labels and template', () => {
  const world = new RunWorld();
  const short = world.run({ taskCount: 2, timeout: '720s' }).replace(/^.*\//, '');
  world.pass(5000);
  world.end(short, { task: 0, exitCode: 16 });
  expect(world.rest('GET', `${V1}/executions/${short}`).body).toMatchObject({
    apiVersion: 'run.googleapis.com/v1',
    kind: 'Execution',
    metadata: { name: short, labels: { 'run.googleapis.com/job': JOB } },
    spec: {
      taskCount: 2,
      template: {
        spec: { maxRetries: 0, timeoutSeconds: '720', serviceAccountName: TASK_ACCOUNT },
      },
    },
    status: {
      conditions: [
        { type: 'Completed', status: 'Unknown' },
        { type: 'ResourcesAvailable', status: 'True' },
        { type: 'Started', status: 'True' },
      ],
      runningCount: 1,
      failedCount: 1,
    },
  });
  world.end(short, { task: 1 });
  expect(world.rest('GET', `${V1}/executions/${short}`).body).toMatchObject({
    status: {
      conditions: [{ status: 'False', reason: 'NonZeroExitCode' }, {}, {}],
      succeededCount: 1,
    },
  });
  const selector = encodeURIComponent(`run.googleapis.com/execution = ${short}`);
  expect(world.rest('GET', `${V1}/tasks?labelSelector=${selector}`).body).toMatchObject({
    items: [
      { metadata: { name: `${short}-task0` }, status: { lastAttemptResult: { exitCode: 16 } } },
      { metadata: { name: `${short}-task1` }, status: { index: 1 } },
    ],
  });
});

test('C62: lists by Job, cancels and deletes', () => {
  const world = new RunWorld();
  const [first, second] = [world.run(), world.run()].map((name) => name.replace(/^.*\//, ''));
  world.pass(5000);
  const all = world.rest('GET', `${V1}/executions`).body;
  expect(namesOf(all).sort()).toEqual([first, second].sort());
  // A client of Google's crashes where a list has none.
  expect(all).toMatchObject({ kind: 'ExecutionList', metadata: {} });
  const select = (job: string) => encodeURIComponent(`run.googleapis.com/job = ${job}`);
  const listed = (job: string) =>
    namesOf(world.rest('GET', `${V1}/executions?labelSelector=${select(job)}`).body);
  expect([listed(JOB).length, listed('other').length]).toEqual([2, 0]);
  expect(world.rest('POST', `${V1}/executions/${first}:cancel`, {}).status).toBe(200);
  expect(world.taskEvents().at(-1)).toMatchObject({
    kind: 'task-stopping',
    executionName: first,
  });
  expect(world.rest('DELETE', `${V1}/executions/${second}`).status).toBe(200);
  expect(world.rest('GET', `${V1}/executions/${second}`).status).toBe(404);
  expect(world.rest('GET', `${V1}/jobs/${JOB}`).body).toMatchObject({ metadata: { name: JOB } });
  expect(world.rest('GET', `${V1}/jobs/none`).status).toBe(404);
});

test('C62: through a proxy the host’s name tells the region; an unknown path is no object', async () => {
  await using cloud = await startLocalCloud({ world: { buckets: ['apis'] } });
  const place = (location: string) => ({ project: PROJECT, location });
  for (const [location, job] of [
    ['us-central1', 'here'],
    ['europe-west1', 'there'],
  ] as const) {
    const params = { ...place(location), jobId: job };
    cloud.call('run.projects.locations.jobs.create', params, jobBody());
  }
  /** As a client asks its proxy: the whole address stands in the request line. */
  const ask = (path: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const options = { host: '127.0.0.1', port: cloud.port, path };
      const sent = request(options, async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, text });
      });
      sent.once('error', reject).end();
    });
  const jobs = await ask(`http://us-central1-run.local${V1}/jobs`);
  expect(namesOf(JSON.parse(jobs.text))).toEqual(['here']);
  expect(namesOf(JSON.parse((await ask(`http://run.local${V1}/jobs`)).text))).toHaveLength(2);
  expect(await ask(`${V1}/unknown`)).toMatchObject({
    status: 404,
    text: expect.stringContaining('was not found on this server'),
  });
});
