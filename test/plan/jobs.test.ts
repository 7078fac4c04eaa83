import { describe, expect, test } from 'vitest';
import { acceleratorSeconds, taskUsdPerHour } from '#shared/plan/job-prices.ts';
import { executionOverrides, overrideBody } from '#shared/plan/override-body.ts';
import {
  type Fields,
  faultFields,
  faultsOf,
  JOBS,
  makePlan,
  makeRequest,
  makeSettings,
} from '#test/plan/fixtures.ts';

const settings = makeSettings({
  regions: ['europe-west1', 'us-central1'],
  jobs: { ...JOBS, gpuJobs: true },
});
const job = (fields: Fields = {}): Fields => ({
  image: undefined,
  runtime: 'cloudrun-jobs',
  command: ['python', 'fit.py'],
  ...fields,
});
const planOf = (fields: Fields = {}, changed = settings) => makePlan(job(fields), changed);
const jobsOf = (fields: Fields) =>
  planOf(fields).candidates.map(({ machineType, zone }) => `${machineType} ${zone}`);

describe('candidates', () => {
  test('C16: the Job of base and class, in the deployment’s regions in their order', () => {
    const fields = { resources: { class: 'L', base: 'sklearn' } };
    expect(planOf(fields).candidates[0]).toEqual({
      region: 'europe-west1',
      zone: 'europe-west1',
      subnetwork: '',
      machineType: 'mayfly-base-ml-l',
      provisioningModel: 'STANDARD',
      usdPerHour: 0.7488,
      memoryGiB: 32,
    });
    expect(jobsOf(fields)).toEqual([
      'mayfly-base-ml-l europe-west1',
      'mayfly-base-ml-l us-central1',
    ]);
  });

  test('C66: larger classes follow, as many as retries after "out of memory" may reach', () => {
    const place = { regions: ['us-central1'] };
    const jobs = (outOfMemory: number, jobClass: string) =>
      jobsOf({ place, retry: { outOfMemory }, resources: { class: jobClass } });
    expect(jobs(2, 'S')).toEqual([
      'mayfly-base-bayes-s us-central1',
      'mayfly-base-bayes-m us-central1',
      'mayfly-base-bayes-l us-central1',
    ]);
    expect(jobs(1, 'S')).toHaveLength(2);
    expect(jobs(9, 'L')).toEqual(['mayfly-base-bayes-l us-central1']);
    expect(jobs(9, 'GPU')).toEqual(['mayfly-base-dl-gpu us-central1']);
  });

  test('a run that names no class has the smallest', () => {
    expect(planOf().candidates[0]?.machineType).toBe('mayfly-base-bayes-s');
  });

  test('a request’s regions go before the deployment’s; where it has no Jobs is left out', () => {
    const plan = planOf({ place: { regions: ['us-central1', 'asia-east1', 'europe-west1'] } });
    expect(plan.candidates.slice(0, 2).map(({ region }) => region)).toEqual([
      'us-central1',
      'europe-west1',
    ]);
    expect(plan.warnings).toEqual([
      'region asia-east1 has no Jobs of this deployment and is left out',
    ]);
    expect(faultsOf(job({ place: { regions: ['asia-east1'] } }), settings)).toMatchObject([
      { field: 'place.regions', accepted: 'europe-west1, us-central1' },
    ]);
  });

  test('no more candidates than a walk may try: regions are cut, never classes', () => {
    const regions = Array.from({ length: 45 }, (_, index) => `region-west${index + 10}`);
    const many = makeSettings({ regions });
    const { candidates, warnings } = planOf({ retry: { outOfMemory: 2 } }, many);
    expect(candidates).toHaveLength(99);
    expect(new Set(candidates.map(({ machineType }) => machineType)).size).toBe(3);
    expect(warnings).toEqual(['45 regions are cut to the first 33']);
  });

  test.each([
    { account: 'readerServiceAccount', variable: 'MAYFLY_JOBS_READER_SERVICE_ACCOUNT' },
    { account: 'uploaderServiceAccount', variable: 'MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT' },
  ])(
    'a deployment without $account runs no jobs, and says what to set',
    ({ account, variable }) => {
      const lacking = makeSettings({ jobs: { ...JOBS, [account]: null } });
      expect(faultsOf(job(), lacking)).toMatchObject([
        { field: 'runtime', accepted: `gce; or set ${variable}` },
      ]);
    },
  );
});

describe('what is refused', () => {
  test('C3, C10: the runtime is the request’s, else the setting’s; an unknown one is refused', () => {
    const byDefault = makeSettings({ defaultRuntime: 'cloudrun-jobs' });
    const fields = { image: undefined, command: ['fit'] };
    expect(makeRequest(fields, byDefault).runtime).toBe('cloudrun-jobs');
    expect(makeRequest({ runtime: 'gce' }, byDefault).runtime).toBe('gce');
    expect(faultFields({ runtime: 'kubernetes' })).toContain('runtime');
  });

  test('C27: only the base that can takes the class GPU', () => {
    expect(faultsOf(job({ resources: { class: 'GPU', base: 'sklearn' } }), settings)).toMatchObject(
      [
        {
          field: 'resources.base',
          rule: 'only base-dl runs on the class GPU',
          accepted: 'base-dl',
        },
      ],
    );
    expect(jobsOf({ resources: { class: 'GPU', base: 'dl' } })[0]).toContain('base-dl-gpu');
  });

  test('C42, C198: without the switch the class GPU is not on offer', () => {
    const fields = job({ resources: { class: 'GPU' } });
    expect(faultFields(fields, settings)).toEqual([]);
    const [refusal, ...more] = faultsOf(fields, makeSettings());
    expect(more).toEqual([]);
    expect(refusal).toMatchObject({ field: 'resources.class', value: '"GPU"' });
    expect(refusal?.rule).toContain('JOBS_GPU_JOBS');
  });

  test('C33: class XL is refused as not yet there', () => {
    const [refusal] = faultsOf(job({ resources: { class: 'XL' } }), settings);
    expect(refusal).toMatchObject({ rule: 'class XL is not yet there', accepted: 'S, M, L, GPU' });
  });

  test('C196: a base that no setting names is refused with all that there are', () => {
    const [refusal] = faultsOf(job({ resources: { base: 'base-r' } }), settings);
    expect(refusal?.accepted).toContain('base-bayes, base-ml, base-forecast, base-dl, mmm');
  });

  test('a command is required: the image of a Job has none', () => {
    expect(faultFields(job({ command: undefined }), settings)).toEqual(['command']);
  });

  test('a run lives no longer than the addresses of its data are good for, with the reason', () => {
    const ttl = (ttlSeconds: number) => faultsOf(job({ ttlSeconds }), settings);
    expect(ttl(41_400)).toEqual([]);
    const [refusal] = ttl(41_401);
    expect(refusal).toMatchObject({ field: 'ttlSeconds', value: '41401' });
    expect(refusal?.rule).toContain('12 hours');
    expect(refusal?.accepted).toContain('gce');
    const gce = faultsOf({ ttlSeconds: 41_401 }, settings);
    expect(gce).toEqual([]);
  });

  test.each([
    {
      field: 'inputs./in',
      fields: { inputs: { '/in': 'gs://p-mayfly/runs/state/r/record.json' } },
    },
    {
      field: 'inputs./in',
      fields: { inputs: { '/in': 'gs://p-mayfly/runs/bootstrap/' } },
    },
    { field: 'inputs./in', fields: { inputs: { '/in': 'gs://p-mayfly/' } } },
    {
      field: 'outputs./out',
      fields: { outputs: { '/out': 'gs://p-mayfly/runs/gce-status/' } },
    },
    {
      field: 'outputs./out',
      fields: { outputs: { '/out': 'gs://p-mayfly/runs/code/' } },
    },
    { field: 'outputs./out', fields: { outputs: { '/out': 'gs://p-mayfly/' } } },
    {
      field: 'checkpoint./c',
      fields: { checkpoint: { '/c': 'gs://p-mayfly/runs/work/' } },
    },
    {
      field: 'package.uri',
      fields: { package: { uri: 'gs://p-mayfly/runs/state/r/x.tar.gz', sha256: 'ab'.repeat(32) } },
    },
  ])('the deployment’s own objects are out of reach: $field', ({ fields, field }) => {
    const told = faultFields(job(fields), settings).map((name) => name.replaceAll(/[["\]]+/g, '.'));
    expect(told.map((name) => name.replace(/\.$/, ''))).toEqual([field]);
    if (!('checkpoint' in fields)) expect(faultsOf(fields, settings)).toHaveLength(1);
  });

  test('what lies beside the deployment’s own objects is a run’s to use', () => {
    const fields = {
      package: { uri: `gs://p-mayfly/runs/code/app-${'ab'.repeat(32)}.tar.gz` },
      inputs: { '/in': 'gs://p-mayfly/data/', '/two': 'gs://other/runs/x' },
      outputs: { '/out': 'gs://p-mayfly/outputs/r/', '/plots': 'gs://p-mayfly/runs-2/' },
    };
    expect(faultFields(job(fields), settings)).toEqual([]);
    expect(faultFields(fields, settings)).toEqual([]);
  });

  test('P113: two hours are fine, not so with a GPU: gce is the other way', () => {
    const hours = { timeoutSeconds: 7200, ttlSeconds: 14_400 };
    expect(faultsOf(job(hours), settings)).toEqual([]);
    const [refusal, ...more] = faultsOf(job({ ...hours, resources: { class: 'GPU' } }), settings);
    expect(more).toEqual([]);
    expect(refusal).toMatchObject({
      field: 'timeoutSeconds',
      value: '7200',
      accepted: '1 to 3480; or the runtime gce',
    });
    expect(refusal?.rule).toContain('3600 seconds');
  });

  test('P113: a week leaves no time to report', () => {
    const week = makeSettings({ ttlSecondsMax: 604_800 });
    const fields = job({ timeoutSeconds: 604_800, ttlSeconds: 604_800 });
    expect(faultFields(fields, week)).toContain('timeoutSeconds');
  });

  test('P113: what the platform allows a task with a GPU is a setting', () => {
    const longer = makeSettings({ jobs: { ...JOBS, gpuJobs: true, gpuTaskSecondsMax: 43_200 } });
    const fields = job({ timeoutSeconds: 7200, ttlSeconds: 14_400, resources: { class: 'GPU' } });
    expect(faultsOf(fields, longer)).toEqual([]);
  });

  test.each([
    { id: 'C52', resources: {}, margin: 120, most: 1080, without: 900 },
    { id: 'C52', resources: {}, margin: 400, most: 800, without: 800 },
  ])('$id: with a margin of $margin a command may take $most of 1200 seconds', (row) => {
    const jobs = { ...JOBS, timeoutMarginSeconds: row.margin };
    const changed = makeSettings({ jobs });
    const fields = { ttlSeconds: 1200, resources: row.resources };
    const faults = (timeoutSeconds: number) =>
      faultFields(job({ ...fields, timeoutSeconds }), changed);
    expect(faults(row.most)).toEqual([]);
    expect(faults(row.most + 1)).toEqual(['timeoutSeconds']);
    expect(makeRequest(job(fields), changed).timeoutSeconds).toBe(row.without);
  });

  test('P113: a command without a limit of its own stays within the platform’s', () => {
    const request = makeRequest(job({ resources: { class: 'GPU' } }), settings);
    expect(request.timeoutSeconds).toBe(3480);
  });
});

describe('what it costs', () => {
  // cloud.google.com/run/pricing: instance-based, tier 1 and tier 2; L4 without a reserve in a second zone.
  test.each([
    { id: 'C46', jobClass: 'S', region: 'us-central1', usd: 3600 * (2 * 0.000018 + 8 * 0.000002) },
    { id: 'C46', jobClass: 'M', region: 'us-west2', usd: 3600 * (4 * 0.0000216 + 16 * 0.0000024) },
    {
      id: 'C46',
      jobClass: 'GPU',
      region: 'europe-west4',
      usd: 3600 * (8 * 0.000018 + 32 * 0.000002 + 0.0001867),
    },
  ] as const)('$id: an hour of class $jobClass in $region', ({ jobClass, region, usd }) => {
    expect(taskUsdPerHour(jobClass, region)).toBeCloseTo(usd, 6);
  });

  test('a region that stands in no list has no known price', () => {
    expect(taskUsdPerHour('S', 'moon-west1')).toBeNull();
  });

  test('C45: a GPU is there for as long as its task', () => {
    expect(acceleratorSeconds('GPU', 90)).toBe(90);
    expect(acceleratorSeconds('L', 90)).toBe(0);
  });

  test('C97, C98, C105: all tasks are paid for', () => {
    const one = planOf().candidates[0]?.usdPerHour ?? Number.NaN;
    expect(planOf({ tasks: 8 }).candidates[0]?.usdPerHour).toBeCloseTo(8 * one, 6);
  });

  test('the first attempt is priced in its own class, further ones in the largest', () => {
    const retry = { preempted: 5, infrastructure: 1, outOfMemory: 1, failed: 0 };
    const { estimate } = planOf({ ttlSeconds: 3600, retry });
    const small = 3600 * (2 * 0.000018 + 8 * 0.000002);
    expect(estimate.attemptUsd).toBeCloseTo(small, 6);
    expect(estimate.totalUsd).toBeCloseTo(small + 2 * 2 * small, 6);
  });

  test('an unknown price is no price', () => {
    const elsewhere = makeSettings({ regions: ['moon-west1'] });
    expect(planOf({}, elsewhere).estimate).toEqual({ attemptUsd: null, totalUsd: null });
  });

  test('a class above the budget is left out; nothing in it at all is refused', () => {
    const fields = { ttlSeconds: 3600, place: { regions: ['us-central1'] } };
    const plan = planOf({ ...fields, budgetUsd: 0.2 });
    expect(plan.candidates.map(({ machineType }) => machineType)).toEqual(['mayfly-base-bayes-s']);
    expect(plan.warnings.join()).toContain('mayfly-base-bayes-m');
    expect(faultFields(job({ ...fields, budgetUsd: 0.1 }), settings)).toEqual(['budgetUsd']);
  });
});

describe('overrides', () => {
  const overrides = executionOverrides(
    makeRequest(job({ tasks: 8, timeoutSeconds: 3600, args: ['--a'], env: { B: 'c' } }), settings),
    JOBS,
    { attempt: 2, nonce: 'abc', deadline: '2026-12-01T12:00:00Z' },
  );

  test('C49, C50: run and nonce are variables', () => {
    expect(overrides.env).toEqual({
      MAYFLY_RUN_ID: 'run-1',
      MAYFLY_NONCE: 'abc',
      MAYFLY_ATTEMPT: '2',
      MAYFLY_DEADLINE: '2026-12-01T12:00:00Z',
    });
  });

  test('C51, C97, C98: homogeneous tasks are one execution', () => {
    expect(overrides.taskCount).toBe(8);
  });

  test('C52, C204: the platform’s limit is the command’s and the margin', () => {
    expect(overrides.timeoutSeconds).toBe(3720);
  });

  test('C14, C15, C54: environment, task count and time limit, and nothing else', () => {
    expect(overrideBody(overrides)).toEqual({
      containerOverrides: [
        {
          env: [
            { name: 'MAYFLY_RUN_ID', value: 'run-1' },
            { name: 'MAYFLY_ATTEMPT', value: '2' },
            { name: 'MAYFLY_NONCE', value: 'abc' },
            { name: 'MAYFLY_DEADLINE', value: '2026-12-01T12:00:00Z' },
          ],
        },
      ],
      taskCount: 8,
      timeout: '3720s',
    });
  });
});
