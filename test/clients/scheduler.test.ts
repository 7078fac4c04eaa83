// The official Cloud Scheduler client over REST against the sweep's job of a laid out deployment.
import { CloudSchedulerClient } from '@google-cloud/scheduler';
import { PassThroughClient } from 'google-auth-library';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LaidOut, layOut } from '#test/scripts/mayfly/laid-out.ts';

const parent = 'projects/local-project/locations/europe-west1';
const name = `${parent}/jobs/mayfly-sweep`;
/** Codes of google.rpc.Code. */
const [NOT_FOUND, FAILED_PRECONDITION] = [5, 9];

let laidOut: LaidOut;
let client: CloudSchedulerClient;
beforeAll(async () => {
  laidOut = await layOut(Date.now);
  client = new CloudSchedulerClient({
    servicePath: '127.0.0.1',
    port: laidOut.cloud.port,
    protocol: 'http',
    fallback: true,
    authClient: new PassThroughClient(),
  });
});
afterAll(async () => {
  await client.close();
  await laidOut[Symbol.asyncDispose]();
});

test('lists and reads the job as it was laid out', async () => {
  const [jobs] = await client.listJobs({ parent });
  expect(jobs.map((job) => job.name)).toEqual([name]);
  const [job] = await client.getJob({ name });
  expect(job).toMatchObject({
    name,
    schedule: '*/2 * * * *',
    timeZone: 'Etc/UTC',
    state: 'ENABLED',
    attemptDeadline: { seconds: '1800' },
    httpTarget: {
      httpMethod: 'POST',
      oidcToken: {
        serviceAccountEmail: expect.stringMatching(/^mayfly-push@/),
        audience: 'https://mayfly.local',
      },
    },
  });
});

test('pauses it, runs it while it is paused, and resumes it; neither twice', async () => {
  expect((await client.pauseJob({ name }))[0].state).toBe('PAUSED');
  await expect(client.pauseJob({ name })).rejects.toMatchObject({ code: FAILED_PRECONDITION });
  const { scheduler } = laidOut.cloud.world;
  const before = scheduler.attemptsMade;
  const [run] = await client.runJob({ name });
  expect(run).toMatchObject({ name, state: 'PAUSED' });
  expect(scheduler.attemptsMade).toBe(before + 1);
  expect((await client.resumeJob({ name }))[0].state).toBe('ENABLED');
  await expect(client.resumeJob({ name })).rejects.toMatchObject({ code: FAILED_PRECONDITION });
});

test('is told of a job that is not there', async () => {
  const none = { name: `${parent}/jobs/none` };
  for (const call of [client.getJob(none), client.runJob(none), client.pauseJob(none)]) {
    await expect(call).rejects.toMatchObject({ code: NOT_FOUND });
  }
});
