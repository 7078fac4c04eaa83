import { expect, test } from 'vitest';
import { readSettings } from '#shared/cloud/config.ts';
import { type Environment, SettingsError } from '#shared/cloud/settings-reader.ts';

const LEAST: Environment = {
  MAYFLY_PROJECT: 'my-project-123',
  MAYFLY_BUCKET: 'my-project-mayfly',
  MAYFLY_REGIONS: 'europe-west1',
  MAYFLY_WORKER_SERVICE_ACCOUNTS: 'worker@my-project-123.iam.gserviceaccount.com',
  MAYFLY_PUSH_AUDIENCE: 'https://submit-abc.a.run.app',
  MAYFLY_PUSH_SERVICE_ACCOUNTS: 'push@my-project-123.iam.gserviceaccount.com',
};

const jobs = (more: Environment = {}) => readSettings({ ...LEAST, ...more }).plan.jobs;

function faultsOf(more: Environment): readonly string[] {
  try {
    jobs(more);
  } catch (error) {
    if (error instanceof SettingsError) return error.faults.map(({ name }) => name);
    throw error;
  }
  return [];
}

// Checklist of the second runtime: the defaults of its settings.
test.each([
  ['C195', 'jobTemplate', '{deployment}-{base}-{class}'],
  ['C197', 'defaultBase', 'base-bayes'],
  ['C198', 'gpuJobs', false],
  ['C199', 'submitsPerMinute', 150],
  ['C200', 'submitBurst', 10],
  ['C201', 'max429Retries', 6],
  ['C202', 'backoffBaseSeconds', 1],
  ['C203', 'backoffCapSeconds', 64],
  ['C204', 'timeoutMarginSeconds', 120],
  ['C207', 'adoptLookbackSeconds', 93_600],
  ['P113', 'gpuTaskSecondsMax', 3600],
] as const)('%s: %s is %j unless it is set', (_, name, value) => {
  expect(jobs()[name]).toBe(value);
});

test.each([
  ['C195', 'JOB_TEMPLATE', 'jobTemplate', 'x-{class}-{base}', 'x-{class}-{base}'],
  ['C196', 'PLUGIN_BASES', 'pluginBases', '{"r": "base-r"}', { r: 'base-r' }],
  ['C196', 'PLUGIN_BASES', 'pluginBases', 'r=base-r,s=base-s', { r: 'base-r', s: 'base-s' }],
  ['C197', 'DEFAULT_BASE', 'defaultBase', 'base-ml', 'base-ml'],
  ['C198', 'GPU_JOBS', 'gpuJobs', 'true', true],
  ['C199', 'SUBMITS_PER_MINUTE', 'submitsPerMinute', '180', 180],
  ['C200', 'SUBMIT_BURST', 'submitBurst', '1', 1],
  ['C201', 'MAX_429_RETRIES', 'max429Retries', '0', 0],
  ['C202', 'BACKOFF_BASE_S', 'backoffBaseSeconds', '2', 2],
  ['C203', 'BACKOFF_CAP_S', 'backoffCapSeconds', '300', 300],
  ['C204', 'TIMEOUT_MARGIN_S', 'timeoutMarginSeconds', '60', 60],
  ['C207', 'ADOPT_LOOKBACK_S', 'adoptLookbackSeconds', '7200', 7200],
  ['P113', 'GPU_TASK_SECONDS_MAX', 'gpuTaskSecondsMax', '43200', 43_200],
] as const)('%s: MAYFLY_JOBS_%s sets %s', (_, variable, name, text, value) => {
  expect(jobs({ [`MAYFLY_JOBS_${variable}`]: text })[name]).toEqual(value);
});

test.each([
  ['C195', 'JOB_TEMPLATE', '{deployment}-{base}'],
  ['C195', 'JOB_TEMPLATE', '{base}-{class}-{env}'],
  ['C195', 'JOB_TEMPLATE', 'Mayfly-{base}-{class}'],
  ['C195', 'JOB_TEMPLATE', '{base}-{class}-'],
  ['C195', 'JOB_TEMPLATE', `${'x'.repeat(48)}-{base}-{class}`],
  ['C196', 'PLUGIN_BASES', '{"r": '],
  ['C196', 'PLUGIN_BASES', '{"r": 3}'],
  ['C196', 'PLUGIN_BASES', '["base-r"]'],
  ['C196', 'PLUGIN_BASES', '{"r": "Base R"}'],
  ['C196', 'PLUGIN_BASES', '{"R r": "base-r"}'],
  ['C197', 'DEFAULT_BASE', 'Base'],
  ['C198', 'GPU_JOBS', 'yes'],
  ['C199', 'SUBMITS_PER_MINUTE', '181'],
  ['C199', 'SUBMITS_PER_MINUTE', '0'],
  ['C200', 'SUBMIT_BURST', '0'],
  ['C201', 'MAX_429_RETRIES', '-1'],
  ['C202', 'BACKOFF_BASE_S', '0'],
  ['C202', 'BACKOFF_BASE_S', '0.5'],
  ['C203', 'BACKOFF_CAP_S', 'inf'],
  ['C204', 'TIMEOUT_MARGIN_S', '59'],
  ['C204', 'TIMEOUT_MARGIN_S', '481'],
  ['C207', 'ADOPT_LOOKBACK_S', '60'],
  ['P113', 'GPU_TASK_SECONDS_MAX', '604801'],
  ['P22', 'READER_SERVICE_ACCOUNT', 'reader'],
  ['P22', 'UPLOADER_SERVICE_ACCOUNT', 'uploader@example.com'],
])('%s: MAYFLY_JOBS_%s=%j is refused by its name', (_, variable, text) => {
  const name = `MAYFLY_JOBS_${variable}`;
  expect(faultsOf({ [name]: text })).toEqual([name]);
});

test('C203: the longest wait is not shorter than the first', () => {
  const more = { MAYFLY_JOBS_BACKOFF_BASE_S: '30', MAYFLY_JOBS_BACKOFF_CAP_S: '29' };
  expect(faultsOf(more)).toEqual(['MAYFLY_JOBS_BACKOFF_CAP_S']);
  expect(faultsOf({ ...more, MAYFLY_JOBS_BACKOFF_CAP_S: '30' })).toEqual([]);
});

test('C195: a template that makes an illegal name of this deployment is refused', () => {
  const ending = { MAYFLY_JOBS_JOB_TEMPLATE: '{base}-{class}-{deployment}' };
  expect(faultsOf({ ...ending, MAYFLY_DEPLOYMENT: 'blue' })).toEqual([]);
  expect(faultsOf({ ...ending, MAYFLY_DEPLOYMENT: 'blue-' })).toEqual(['MAYFLY_JOBS_JOB_TEMPLATE']);
});

test('C193, C194: project and regions have to be set; all that is wrong is told at once', () => {
  const faults = faultsOf({
    MAYFLY_PROJECT: '',
    MAYFLY_REGIONS: '',
    MAYFLY_JOBS_SUBMITS_PER_MINUTE: '181',
    MAYFLY_JOBS_GPU_JOBS: 'maybe',
  });
  expect([...faults].sort()).toEqual([
    'MAYFLY_JOBS_GPU_JOBS',
    'MAYFLY_JOBS_SUBMITS_PER_MINUTE',
    'MAYFLY_PROJECT',
    'MAYFLY_REGIONS',
  ]);
});

test('the accounts that sign may be missing: then there are no jobs', () => {
  expect(jobs()).toMatchObject({ readerServiceAccount: null, uploaderServiceAccount: null });
  const reader = 'reader@my-project-123.iam.gserviceaccount.com';
  expect(jobs({ MAYFLY_JOBS_READER_SERVICE_ACCOUNT: reader }).readerServiceAccount).toBe(reader);
});
