// The local deployment's part of the second runtime: its Jobs, its sinks, and who may do what.
import { describe, expect, test } from 'vitest';
import {
  LOCAL_BUCKET,
  LOCAL_PROJECT,
  localAccount,
  localEnvironment,
} from '#scripts/local-cloud/deployment/environment.ts';
import { localGrants } from '#scripts/local-cloud/deployment/grants.ts';
import { type LocalDeployment, setUpCalls } from '#scripts/local-cloud/deployment/layout.ts';
import { isAllowed } from '#scripts/local-cloud/iam.ts';
import { routeRequest } from '#scripts/local-cloud/rest/router.ts';
import { readSettings } from '#shared/cloud/config.ts';
import { TestWorld } from '#test/local-cloud/fixtures.ts';

const REGIONS = ['europe-west1', 'us-central1'];

/** A world that is laid out by those variables on top of the local ones. */
function laidOut(variables: Readonly<Record<string, string>> = {}): TestWorld {
  const { plan } = readSettings({ ...localEnvironment('http://cloud:1'), ...variables });
  const urls = { submit: 'http://f/', finalize: 'http://f/', signals: 'http://f/' };
  const deployment: LocalDeployment = {
    baseUrl: 'http://cloud:1',
    ...{ project: LOCAL_PROJECT, bucket: LOCAL_BUCKET, deployment: plan.deployment, plan },
    ...{ region: 'europe-west1', audience: 'a' },
    taskAccount: localAccount('jobs-task'),
    pushAccount: localAccount('push'),
    functionUrls: { ...urls, notify: 'http://f/', sweep: 'http://f/' },
  };
  const world = new TestWorld({ buckets: [] });
  for (const { verb, path, body } of setUpCalls(deployment)) {
    const target = routeRequest(verb, path);
    const { method = '', params = {} } = target ?? {};
    const sent =
      typeof body === 'object' && !(body instanceof Uint8Array)
        ? body
        : { bytes: Buffer.from(body), metadata: {} };
    const reply = world.call(method, params, sent);
    if (reply.status !== 200) throw new Error(`${verb} ${path}: ${JSON.stringify(reply.body)}`);
  }
  return world;
}

interface JobResource {
  readonly name: string;
  readonly template: { readonly template: Record<string, unknown> };
}

function jobsOf(world: TestWorld, location: string): JobResource[] {
  const params = { project: LOCAL_PROJECT, location };
  const reply = world.call('run.projects.locations.jobs.list', params);
  return (reply.body?.jobs ?? []) as JobResource[];
}

const shortNames = (jobs: readonly JobResource[]) =>
  jobs.map(({ name }) => name.replace(/^.*\//, ''));

describe('Jobs', () => {
  test('C16, C24: one for each base and class in each region, by their names', () => {
    const world = laidOut();
    for (const region of REGIONS) {
      expect(shortNames(jobsOf(world, region))).toEqual([
        ...['mayfly-base-bayes-l', 'mayfly-base-bayes-m', 'mayfly-base-bayes-s'],
        ...['mayfly-base-dl-l', 'mayfly-base-dl-m', 'mayfly-base-dl-s'],
        ...['mayfly-base-forecast-l', 'mayfly-base-forecast-m', 'mayfly-base-forecast-s'],
        ...['mayfly-base-ml-l', 'mayfly-base-ml-m', 'mayfly-base-ml-s'],
      ]);
    }
  });

  test('C29, C31, C38: none is tried again; account and environment are the same for all', () => {
    const world = laidOut({ MAYFLY_JOBS_GPU_JOBS: 'true' });
    for (const region of REGIONS) {
      const jobs = jobsOf(world, region);
      expect(jobs).toHaveLength(13);
      for (const { name, template } of jobs) {
        expect(template.template).toMatchObject({
          maxRetries: 0,
          serviceAccount: 'mayfly-jobs-task@local-project.iam.gserviceaccount.com',
          executionEnvironment: 'EXECUTION_ENVIRONMENT_GEN2',
          containers: [
            {
              env: [
                {
                  name: 'MAYFLY_BOOTSTRAP_URL',
                  value: 'http://cloud:1/local-bucket/runs/bootstrap/{nonce}',
                },
                { name: 'MAYFLY_CLASS', value: /-gpu$/.test(name) ? 'GPU' : expect.anything() },
                { name: 'MAYFLY_REGION', value: region },
              ],
            },
          ],
        });
      }
    }
  });

  test('C25, C26, C35, C36, C37: one with a GPU where that is switched on, of the one base', () => {
    const gpu = (world: TestWorld) =>
      jobsOf(world, 'europe-west1').filter(({ name }) => name.endsWith('-gpu'));
    expect(gpu(laidOut())).toEqual([]);
    const found = gpu(laidOut({ MAYFLY_JOBS_GPU_JOBS: 'true' }));
    expect(shortNames(found)).toEqual(['mayfly-base-dl-gpu']);
    expect(found[0]?.template.template).toMatchObject({
      nodeSelector: { accelerator: 'nvidia-l4' },
      gpuZonalRedundancyDisabled: true,
      containers: [{ resources: { limits: { cpu: '8', memory: '32Gi', 'nvidia.com/gpu': '1' } } }],
    });
  });
});

test('C59, C107: sinks take event lines and ends of the deployment’s own Jobs, and nothing else', () => {
  const world = laidOut();
  const place = { project: LOCAL_PROJECT, location: 'europe-west1' };
  const other = { template: { template: { containers: [{ image: 'i' }], maxRetries: 0 } } };
  world.call('run.projects.locations.jobs.create', { ...place, jobId: 'another' }, other);
  for (const job of ['mayfly-base-ml-s', 'another']) {
    const reply = world.call('run.projects.locations.jobs.run', { ...place, job }, {});
    const { name: execution = '' } = (reply.body?.metadata ?? {}) as { name?: string };
    world.pass(5000);
    const event = JSON.stringify({ message: job, mayfly_event: { payload: 'p', hmac: 'h' } });
    for (const line of [event, 'no event']) {
      world.call('local.run.log', {}, { execution, task: 0, stream: 'stdout', line });
    }
    world.call('local.run.taskEnded', {}, { execution, task: 0, exitCode: 0 });
  }
  const pushed = world
    .pushes()
    .filter(({ origin }) => origin.endsWith('/mayfly-signals'))
    .map(({ body }) => {
      const { message } = body as unknown as { message: { data: string } };
      return JSON.parse(Buffer.from(message.data, 'base64').toString());
    });
  expect(pushed).toMatchObject([
    { jsonPayload: { message: 'mayfly-base-ml-s' } },
    { protoPayload: { methodName: '/Jobs.RunJob' } },
  ]);
});

describe('rights', () => {
  const world = new TestWorld({ grants: localGrants(['gs://models/out/']) });
  const context = { world: world.world, nowMs: world.nowMs, emit: () => {} };
  const may = (account: string, permission: string, resource: string) =>
    isAllowed(context, localAccount(account), permission, resource);
  const object = (name: string, bucket = LOCAL_BUCKET) =>
    `projects/_/buckets/${bucket}/objects/${name}`;
  /** Of get, create, list and delete those that the account has there. */
  const onObject = (account: string, name: string, bucket?: string) =>
    ['get', 'list', 'create', 'delete'].filter((verb) =>
      may(account, `storage.objects.${verb}`, object(name, bucket)),
    );

  test.each([
    { account: 'jobs-task', name: 'runs/bootstrap/n', rights: ['get', 'delete'] },
    { account: 'jobs-task', name: 'runs/work/r/1/claim.json', rights: [] },
    { account: 'jobs-task', name: 'data/in.csv', rights: [] },
    { account: 'jobs-reader', name: 'data/in.csv', rights: ['get'] },
    { account: 'jobs-reader', name: 'runs/work/r/1/claim.json', rights: ['get'] },
    { account: 'jobs-reader', name: 'runs/code/a.tar.gz', rights: ['get'] },
    { account: 'jobs-reader', name: 'runs/state/r/record.json', rights: [] },
    { account: 'jobs-reader', name: 'out/a', bucket: 'models', rights: ['get'] },
    { account: 'jobs-reader', name: 'other/a', bucket: 'models', rights: [] },
    { account: 'jobs-uploader', name: 'runs/work/r/1/claim.json', rights: ['create'] },
    { account: 'jobs-uploader', name: 'runs/gce-status/i.json', rights: ['create'] },
    { account: 'jobs-uploader', name: 'runs/state/r/record.json', rights: [] },
    { account: 'jobs-uploader', name: 'runs/bootstrap/n', rights: [] },
    { account: 'jobs-uploader', name: 'outputs/a', rights: ['create', 'delete'] },
    { account: 'jobs-uploader', name: 'out/a', bucket: 'models', rights: ['create', 'delete'] },
    { account: 'jobs-uploader', name: 'other/a', bucket: 'models', rights: [] },
  ])('C30, C147: $account may $rights at $name', ({ account, name, bucket, rights }) => {
    expect(onObject(account, name, bucket)).toEqual(rights);
  });

  test('C12, C13: who starts, looks at, cancels and counts executions', () => {
    const execution = `projects/${LOCAL_PROJECT}/locations/europe-west1/jobs/j/executions/e`;
    const all = [
      ...['jobs.run', 'jobs.runWithOverrides', 'jobs.list', 'jobs.create'],
      ...['executions.get', 'executions.list', 'executions.cancel', 'executions.delete'],
      'tasks.list',
    ];
    const of = (account: string) => all.filter((right) => may(account, `run.${right}`, execution));
    const looks = ['executions.get', 'executions.list', 'executions.cancel', 'tasks.list'];
    expect(of('submit')).toEqual(['jobs.run', 'jobs.runWithOverrides', ...looks]);
    expect(of('signals')).toEqual(looks);
    expect(of('sweep')).toEqual(looks);
    // A marker alone never ends an execution, and the record tells what there is of Jobs.
    for (const account of [
      'finalize',
      'notify',
      'worker',
      'jobs-task',
      'jobs-reader',
      'jobs-uploader',
    ]) {
      expect(of(account)).toEqual([]);
    }
  });

  test('C145: submit alone may have anything signed, and as those two accounts alone', () => {
    const signing = (caller: string, account: string) => {
      const resource = `projects/-/serviceAccounts/${localAccount(account)}`;
      return may(caller, 'iam.serviceAccounts.signBlob', resource);
    };
    const accounts = ['jobs-reader', 'jobs-uploader', 'jobs-task', 'worker', 'submit'];
    expect(accounts.filter((account) => signing('submit', account))).toEqual([
      'jobs-reader',
      'jobs-uploader',
    ]);
    for (const caller of ['finalize', 'signals', 'sweep', 'notify', 'worker', 'jobs-task']) {
      expect(accounts.filter((account) => signing(caller, account))).toEqual([]);
    }
  });
});
