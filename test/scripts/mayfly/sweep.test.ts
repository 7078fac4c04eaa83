// `mayfly sweep`: orders to Cloud Scheduler, and a pass that changes nothing.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { activeObject, recordObject } from '#shared/plan/objects.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import {
  environmentOf,
  makeMachine,
  PROJECT,
  put,
  putRecord,
  RUN,
} from '#test/scripts/mayfly/stored-run.ts';

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await startLocalCloud();
});
afterEach(() => cloud[Symbol.asyncDispose]());

const JOB = `projects/${PROJECT}/locations/us-central1/jobs/mayfly-sweep`;
const sweep = (...words: string[]) =>
  callMayfly(['sweep', ...words], {
    environment: {
      ...environmentOf(cloud),
      MAYFLY_REGIONS: 'us-central1',
      MAYFLY_ENDPOINT_SCHEDULER: cloud.baseUrl,
      MAYFLY_ENDPOINT_RUN: cloud.baseUrl,
    },
  });

function makeJob(): void {
  const reply = cloud.call(
    'cloudscheduler.jobs.create',
    { project: PROJECT, location: 'us-central1' },
    {
      name: JOB,
      schedule: '*/2 * * * *',
      timeZone: 'Etc/UTC',
      httpTarget: { uri: 'http://127.0.0.1:9/', httpMethod: 'POST' },
    },
  );
  expect(reply.status).toBe(200);
}
const count = (method: string) => cloud.world.calls.count({ method });

test('run, pause and resume go to the scheduler job of the deployment and region', async () => {
  makeJob();
  expect(await sweep()).toMatchObject({ code: 0 });
  expect(count('cloudscheduler.jobs.run')).toBe(1);
  const paused = await sweep('--pause', '--json');
  expect(JSON.parse(paused.stdout)).toMatchObject({ job: JOB, state: 'PAUSED' });
  expect(paused.stderr).toContain('mayfly sweep --resume');
  expect((await sweep('--resume')).stdout).toBe(
    `the sweep goes by its schedule again; ${JOB} is ENABLED\n`,
  );
});

test('no such job ends with 3 and says what to check; two orders at once end with 2', async () => {
  const elsewhere = await sweep('--region', 'europe-west1');
  expect(elsewhere.code).toBe(3);
  expect(elsewhere.stderr).toContain('is it deployed there?');
  const both = await sweep('--pause', '--dry-run');
  expect(both.code).toBe(2);
  expect(count('cloudscheduler.jobs.pause')).toBe(0);
});

test('--dry-run reports what a pass would do, and changes nothing', async () => {
  putRecord(cloud.call, { state: 'RUNNING' });
  put(cloud.call, activeObject(RUN), '');
  makeMachine(cloud.call);
  const methods = () =>
    [...cloud.world.calls.totals()]
      .filter(({ method }) => !/\.(get|list|aggregatedList|search)$/.test(method))
      .map(({ method, count: times }) => `${method} ${times}`)
      .sort();
  const before = methods();
  const { code, stdout, stderr } = await sweep('--dry-run', '--json');
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    dryRun: true,
    deployment: 'mayfly',
    runs: { seen: 1 },
  });
  expect((await sweep('--dry-run')).stdout).toMatch(/^a pass would see 1 runs /);
  expect(methods()).toEqual(before);
});

test('--dry-run names a run that it cannot judge, and why', async () => {
  put(cloud.call, recordObject(RUN), JSON.stringify({ schema: 99, runId: RUN }));
  put(cloud.call, activeObject(RUN), '');
  const { stdout } = await sweep('--dry-run');
  expect(stdout).toMatch(/1 unknown, /);
  expect(stdout).toMatch(/\n {2}unknown: run run-1: .*99/);
  const { unknownRuns } = JSON.parse((await sweep('--dry-run', '--json')).stdout);
  expect(unknownRuns).toEqual([expect.stringMatching(/^run-1: .*99/)]);
});

test('--dry-run with an emulator for the bucket alone asks for machines nowhere, and says what to set', async () => {
  const { MAYFLY_ENDPOINT_COMPUTE: _, ...environment } = environmentOf(cloud);
  const ended = await callMayfly(['sweep', '--dry-run'], { environment });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toContain('set MAYFLY_ENDPOINT_COMPUTE too');
});
