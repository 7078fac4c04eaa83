// `mayfly submit` refuses what no deployment could take, and sends what only the deployment can judge.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, PROJECT } from '#test/scripts/mayfly/stored-run.ts';

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await startLocalCloud();
  cloud.call('pubsub.topics.create', { project: PROJECT, topic: 'mayfly-run-requests' });
});
afterEach(() => cloud[Symbol.asyncDispose]());

const submit = (request: object, more: Record<string, string> = {}, flags: string[] = []) =>
  callMayfly(['submit', '-', ...flags], {
    environment: { ...environmentOf(cloud), ...more },
    stdin: JSON.stringify({ image: 'alpine:3.20', ...request }),
  });
const sent = () => cloud.world.calls.count({ method: 'pubsub.topics.publish' });

describe('what no deployment could take', () => {
  test.each([
    { name: 'an image that is none', request: { image: 'not an image' }, field: 'image' },
    { name: 'an unknown field', request: { imagee: 'x' }, field: 'imagee' },
    { name: 'too short a time', request: { ttlSeconds: 1 }, field: 'ttlSeconds' },
    { name: 'a time above every limit', request: { ttlSeconds: 604_801 }, field: 'ttlSeconds' },
    { name: 'a GPU that is none', request: { resources: { gpu: 'X9' } }, field: 'resources.gpu' },
    {
      name: 'a field of the other runtime',
      request: { runtime: 'gce', resources: { class: 'M' } },
      field: 'resources.class',
    },
  ])('$name: ends with 2, names the field, and nothing is sent', async ({ request, field }) => {
    const ended = await submit(request);
    expect(ended, ended.stderr).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(`  ${field} is `);
    expect(sent()).toBe(0);
  });

  test('with --json the faults are data', async () => {
    const { code, stdout } = await submit({ ttlSeconds: 1 }, {}, ['--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ errors: [{ field: 'ttlSeconds', value: '1' }] });
  });
});

describe('what will be otherwise than asked for is told with the id', () => {
  const odd = { resources: { machineType: 'z9-standard-4' }, labels: { Team: 'a' } };
  const zone = {
    resources: { machineType: 'n2-standard-4' },
    place: { zones: ['europe-west1-z'] },
  };
  const OWN = {
    MAYFLY_REGIONS: 'europe-west1',
    MAYFLY_WORKER_SERVICE_ACCOUNTS: 'w@p-12345.iam.gserviceaccount.com',
  };

  test('of machine and labels always', async () => {
    const { code, stdout, stderr } = await submit(odd);
    expect({ code, sent: sent() }).toEqual({ code: 0, sent: 1 });
    expect(stdout).toMatch(/^\S+\n$/);
    expect(stderr).toContain('warning: z9-standard-4 stands in no table here');
    expect(stderr).toContain('warning: label key "Team" is written as "team"');
  });

  test('of places where the settings are the caller’s own, for others are no word on them', async () => {
    const about = 'zone europe-west1-z stands in no table here';
    expect((await submit(zone, OWN)).stderr).toContain(`warning: ${about}`);
    expect((await submit(zone)).stderr).not.toContain('warning');
  });
});

const JOB = { image: undefined, runtime: 'cloudrun-jobs', command: ['fit'] };

describe('what the deployment alone can judge', () => {
  const judged = [
    {
      name: 'a long time',
      request: { ttlSeconds: 604_800 },
      setting: { TTL_SECONDS_MAX: '86400' },
    },
    {
      name: 'an account',
      request: { serviceAccount: 'ml@another-project.iam.gserviceaccount.com' },
      setting: { WORKER_SERVICE_ACCOUNTS: 'w@p-12345.iam.gserviceaccount.com' },
    },
    {
      name: 'a capability',
      request: { capabilities: ['SYS_PTRACE'] },
      setting: { CAPABILITIES_ALLOWED: 'NET_ADMIN' },
    },
    { name: 'a budget', request: { budgetUsd: 500 }, setting: { BUDGET_USD_MAX: '100' } },
    {
      name: 'a base image',
      request: { ...JOB, resources: { base: 'base-r' } },
      setting: { JOBS_PLUGIN_BASES: '{"ts": "base-forecast"}' },
    },
    {
      name: 'a class',
      request: { ...JOB, resources: { class: 'GPU' } },
      setting: { JOBS_GPU_JOBS: 'false' },
    },
    {
      name: 'a long task with a GPU',
      request: { ...JOB, ttlSeconds: 14_400, timeoutSeconds: 7200, resources: { class: 'GPU' } },
      setting: { JOBS_GPU_TASK_SECONDS_MAX: '3600' },
    },
  ];
  test.each(judged)('$name is sent, and refused where the caller has the setting', async (row) => {
    const plain = await submit(row.request);
    expect(plain, plain.stderr).toMatchObject({ code: 0 });
    expect(sent()).toBe(1);
    const [[name, value] = []] = Object.entries(row.setting);
    const known = await submit(row.request, { [`MAYFLY_${name}`]: value ?? '' });
    expect(known, known.stderr).toMatchObject({ code: 2 });
    expect(sent()).toBe(1);
  });

  test('A119: what was sent is named by its run id, the only thing on stdout', async () => {
    const ended = await submit({ runId: 'nightly-7' });
    expect(ended, ended.stderr).toMatchObject({ code: 0, stdout: 'nightly-7\n' });
  });

  test('a request that only the other runtime takes is sent when it names none', async () => {
    const command = ['python', 'fit.py'];
    const ended = await callMayfly(['submit', '-'], {
      environment: environmentOf(cloud),
      stdin: JSON.stringify({ command, resources: { class: 'M' } }),
    });
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
  });
});

test('a GPU asked of the local cloud is told with the id, and the request is sent', async () => {
  const { code, stderr } = await submit({ resources: { gpu: { type: 'L4' } } });
  expect({ code, sent: sent() }).toEqual({ code: 0, sent: 1 });
  expect(stderr).toMatch(/warning: MAYFLY_ENDPOINT_COMPUTE names a local cloud.*no GPU/);
  expect((await submit({})).stderr).not.toContain('no GPU');
});
