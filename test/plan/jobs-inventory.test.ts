import { expect, test } from 'vitest';
import { baseNamed, diffInventory, jobDefinitions } from '#shared/plan/jobs-inventory.ts';
import { JOBS, makeSettings } from '#test/plan/fixtures.ts';

const REGION = 'europe-west1';
const settingsWith = (jobs: Partial<typeof JOBS>) => makeSettings({ jobs: { ...JOBS, ...jobs } });
const withGpu = settingsWith({ gpuJobs: true });

test('C16, C24: twelve Jobs, one for each base and class, in lower case', () => {
  expect(jobDefinitions(makeSettings(), REGION).map(({ name }) => name)).toEqual([
    'mayfly-base-bayes-s',
    'mayfly-base-bayes-m',
    'mayfly-base-bayes-l',
    'mayfly-base-ml-s',
    'mayfly-base-ml-m',
    'mayfly-base-ml-l',
    'mayfly-base-forecast-s',
    'mayfly-base-forecast-m',
    'mayfly-base-forecast-l',
    'mayfly-base-dl-s',
    'mayfly-base-dl-m',
    'mayfly-base-dl-l',
  ]);
});

test('C25, C26: with the switch on, one base has one Job with a GPU', () => {
  const without = jobDefinitions(makeSettings(), REGION).map(({ name }) => name);
  const names = jobDefinitions(withGpu, REGION).map(({ name }) => name);
  expect(names.filter((name) => !without.includes(name))).toEqual(['mayfly-base-dl-gpu']);
});

test.each([
  { id: 'C17', name: 'mayfly-base-ml-s', limits: { cpu: '2', memory: '8Gi' } },
  { id: 'C18', name: 'mayfly-base-ml-m', limits: { cpu: '4', memory: '16Gi' } },
  { id: 'C19', name: 'mayfly-base-ml-l', limits: { cpu: '8', memory: '32Gi' } },
  {
    id: 'C35',
    name: 'mayfly-base-dl-gpu',
    limits: { cpu: '8', memory: '32Gi', 'nvidia.com/gpu': '1' },
  },
])('$id: the Job $name has $limits', ({ name, limits }) => {
  const found = jobDefinitions(withGpu, REGION).find((job) => job.name === name);
  expect(found?.limits).toEqual(limits);
});

test('C1, C29: every Job is of the second generation and is never tried again by the platform', () => {
  for (const job of jobDefinitions(withGpu, REGION)) {
    expect(job).toMatchObject({
      maxRetries: 0,
      executionEnvironment: 'EXECUTION_ENVIRONMENT_GEN2',
    });
  }
});

test('C31: a Job’s own variables are the bootstrap’s address without its nonce, class and region', () => {
  const [job] = jobDefinitions(makeSettings(), REGION);
  expect(job?.env).toEqual({
    MAYFLY_BOOTSTRAP_URL: 'https://storage.googleapis.com/p-mayfly/runs/bootstrap/{nonce}',
    MAYFLY_CLASS: 'S',
    MAYFLY_REGION: 'europe-west1',
  });
});

test('C36, C37, C38, P112: a Job with a GPU differs from its base’s largest in the GPU alone', () => {
  const all = jobDefinitions(withGpu, REGION);
  const large = all.find(({ name }) => name === 'mayfly-base-dl-l');
  const gpu = all.find(({ name }) => name === 'mayfly-base-dl-gpu');
  expect(gpu).toEqual({
    ...large,
    name: 'mayfly-base-dl-gpu',
    class: 'GPU',
    limits: { ...large?.limits, 'nvidia.com/gpu': '1' },
    nodeSelector: { accelerator: 'nvidia-l4' },
    gpuZonalRedundancyDisabled: true,
    env: { ...large?.env, MAYFLY_CLASS: 'GPU' },
  });
  expect(large).toMatchObject({ nodeSelector: null, gpuZonalRedundancyDisabled: false });
});

test.each([
  { id: 'C20', base: 'base-bayes', plugins: ['mmm', 'sci', 'tabular', 'ingest', 'describe'] },
  { id: 'C21', base: 'base-ml', plugins: ['sklearn'] },
  { id: 'C22', base: 'base-forecast', plugins: ['ts', 'causal'] },
  { id: 'C23', base: 'base-dl', plugins: ['dl'] },
])('$id: $base serves $plugins', ({ base, plugins }) => {
  for (const word of [base, ...plugins]) expect(baseNamed(word, 'S', JOBS)).toBe(base);
});

test('C197: a run that names no base has the default one, with a GPU the one that can', () => {
  const jobs = { ...JOBS, defaultBase: 'base-ml' };
  expect(baseNamed(undefined, 'S', jobs)).toBe('base-ml');
  expect(baseNamed(undefined, 'GPU', jobs)).toBe('base-dl');
});

test.each(['none', 'constructor', '__proto__'])('there is no base of the name %s', (word) => {
  expect(baseNamed(word, 'S', JOBS)).toBeNull();
});

test('C195, C196: template and bases are settings', () => {
  const settings = settingsWith({
    jobTemplate: 'run-{class}-{base}',
    pluginBases: { R: 'base-r' },
    defaultBase: 'base-julia',
  });
  expect(jobDefinitions(settings, REGION).map(({ name }) => name)).toEqual([
    'run-s-base-r',
    'run-m-base-r',
    'run-l-base-r',
    'run-s-base-julia',
    'run-m-base-julia',
    'run-l-base-julia',
  ]);
});

test('C28: what is missing and what is too much is named; Jobs of others are not', () => {
  const names = jobDefinitions(makeSettings(), REGION).map(({ name }) => name);
  const there = [
    ...names.filter((name) => name !== 'mayfly-base-ml-m'),
    'mayfly-base-dl-gpu',
    'mayfly-base-old-s',
    'mayfly-b-base-ml-s',
    'mayfly-base-ml-s-2',
    'nightly-report',
  ].map((name) => ({ name, region: REGION }));
  const elsewhere = [{ name: 'mayfly-base-ml-m', region: 'us-central1' }];
  expect(diffInventory(makeSettings(), REGION, [...there, ...elsewhere])).toEqual({
    missing: ['mayfly-base-ml-m'],
    surplus: ['mayfly-base-dl-gpu', 'mayfly-base-old-s'],
  });
});

test('C28: Jobs that are exactly the inventory’s make no difference', () => {
  const jobs = jobDefinitions(withGpu, REGION).map(({ name }) => ({ name, region: REGION }));
  expect(diffInventory(withGpu, REGION, jobs)).toEqual({ missing: [], surplus: [] });
});
