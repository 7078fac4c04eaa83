import { expect, test } from 'vitest';
import { readSettings } from '#shared/cloud/config.ts';
import { type Environment, SettingsError } from '#shared/cloud/settings-reader.ts';
import { SETTINGS } from '#shared/cloud/settings-table.ts';
import { JOBS } from '#test/plan/fixtures.ts';

/** The least that a deployment needs. */
const LEAST: Environment = {
  MAYFLY_PROJECT: 'my-project-123',
  MAYFLY_BUCKET: 'my-project-mayfly',
  MAYFLY_REGIONS: 'europe-west1, us-central1',
  MAYFLY_WORKER_SERVICE_ACCOUNTS: 'worker@my-project-123.iam.gserviceaccount.com',
  MAYFLY_PUSH_AUDIENCE: 'https://submit-abc.a.run.app',
  MAYFLY_PUSH_SERVICE_ACCOUNTS: 'push@my-project-123.iam.gserviceaccount.com',
};

function faults(environment: Environment) {
  try {
    readSettings(environment);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

test('A91, C193, C210: the least environment gives every setting its documented default', () => {
  expect(readSettings(LEAST)).toEqual({
    plan: {
      deployment: 'mayfly',
      project: 'my-project-123',
      bucket: 'my-project-mayfly',
      regions: ['europe-west1', 'us-central1'],
      subnetworks: {
        'europe-west1': 'projects/my-project-123/regions/europe-west1/subnetworks/default',
        'us-central1': 'projects/my-project-123/regions/us-central1/subnetworks/default',
      },
      workerServiceAccounts: ['worker@my-project-123.iam.gserviceaccount.com'],
      imageHosts: ['*-docker.pkg.dev', 'gcr.io', '*.gcr.io'],
      capabilitiesAllowed: [],
      metadataAccessDefault: false,
      ttlSecondsMax: 86_400,
      budgetUsdMax: null,
      defaultRuntime: 'gce',
      fullLog: 'logging',
      diskKmsKey: null,
      secureBoot: false,
      networkTags: [],
      instanceMetadata: {},
      jobs: { ...JOBS, readerServiceAccount: null, uploaderServiceAccount: null },
      endpoints: {
        storage: 'https://storage.googleapis.com',
        compute: 'https://compute.googleapis.com',
        secretManager: 'https://secretmanager.googleapis.com',
        logging: 'https://logging.googleapis.com',
      },
    },
    push: {
      mode: 'platform',
      audience: 'https://submit-abc.a.run.app',
      serviceAccounts: ['push@my-project-123.iam.gserviceaccount.com'],
      subscriptions: null,
      jwksUrl: 'https://www.googleapis.com/oauth2/v3/certs',
      internalToken: null,
    },
    sweepPeriodSeconds: 120,
    reapsPerSweepMax: 20,
    retentionDays: 30,
    endpoints: {
      storage: null,
      compute: null,
      pubsub: null,
      scheduler: null,
      run: null,
      iamCredentials: null,
    },
    emulated: { storage: false, pubsub: false },
    userProject: null,
  });
});

test('A91: every missing variable is named at once', () => {
  const error = faults({});
  const names = Object.keys(LEAST).sort();
  expect(error.faults.map(({ name }) => name).sort()).toEqual(names);
  for (const name of names) expect(error.message).toContain(name);
  expect(error.message).toContain('6 settings');
});

test('A91: every wrong variable is named at once, with its value and what is accepted', () => {
  const error = faults({
    ...LEAST,
    MAYFLY_REGIONS: 'europe-west1-b',
    MAYFLY_TTL_SECONDS_MAX: '90000000',
    MAYFLY_METADATA_ACCESS_DEFAULT: 'yes',
    MAYFLY_FULL_LOG: 'stdout',
  });
  expect(error.faults.map(({ name, value }) => [name, value])).toEqual([
    ['MAYFLY_REGIONS', 'europe-west1-b'],
    ['MAYFLY_METADATA_ACCESS_DEFAULT', 'yes'],
    ['MAYFLY_TTL_SECONDS_MAX', '90000000'],
    ['MAYFLY_FULL_LOG', 'stdout'],
  ]);
  expect(error.message).toContain('600 to 604800');
  expect(error.message).toContain('logging, none');
});

test.each([
  ['MAYFLY_PROJECT', 'My Project'],
  ['MAYFLY_BUCKET', 'gs://my-bucket'],
  ['MAYFLY_DEPLOYMENT', 'much-too-long-name'],
  ['MAYFLY_DEPLOYMENT', 'Mayfly'],
  ['MAYFLY_REGIONS', 'europe-west1,,us-central1'],
  ['MAYFLY_REGIONS', 'auto'],
  ['MAYFLY_SUBNETWORKS', '{"europe-west1": 3}'],
  ['MAYFLY_SUBNETWORKS', '{"europe-west1":'],
  ['MAYFLY_SUBNETWORKS', 'europe-west1'],
  ['MAYFLY_SUBNETWORKS', 'europe-west1=a,europe-west1=b'],
  ['MAYFLY_SUBNETWORKS', 'asia-east1=a'],
  ['MAYFLY_SUBNETWORKS', 'europe-west1=projects/p/regions/us-central1/subnetworks/a'],
  ['MAYFLY_IMAGE_HOSTS', 'https://gcr.io'],
  ['MAYFLY_IMAGE_HOSTS', 'gcr.io/p'],
  ['MAYFLY_CAPABILITIES_ALLOWED', 'CAP_SYS_PTRACE'],
  ['MAYFLY_TTL_SECONDS_MAX', '599'],
  ['MAYFLY_TTL_SECONDS_MAX', '1e4'],
  ['MAYFLY_SWEEP_PERIOD_SECONDS', '1'],
  ['MAYFLY_REAPS_PER_SWEEP_MAX', '-1'],
  ['MAYFLY_BUDGET_USD_MAX', '0'],
  ['MAYFLY_BUDGET_USD_MAX', 'free'],
  ['MAYFLY_DEFAULT_RUNTIME', 'batch'],
  ['MAYFLY_RETENTION_DAYS', '0'],
  ['MAYFLY_DISK_KMS_KEY', 'my-key'],
  ['MAYFLY_SECURE_BOOT', 'on'],
  ['MAYFLY_NETWORK_TAGS', 'Upper'],
  ['MAYFLY_INSTANCE_METADATA', 'startup-script=x'],
  ['MAYFLY_INSTANCE_METADATA', 'startup-script-url=gs://b/o'],
  ['MAYFLY_INSTANCE_METADATA', 'mayfly-nonce=x'],
  ['MAYFLY_INSTANCE_METADATA', 'a key=x'],
  ['MAYFLY_PUSH_MODE', 'none'],
  ['MAYFLY_PUSH_SUBSCRIPTIONS', 'projects/p/topics/t'],
  ['MAYFLY_JWKS_URL', 'ftp://keys'],
  ['MAYFLY_ENDPOINT_COMPUTE', 'compute.example.com'],
  ['MAYFLY_ENDPOINT_STORAGE', 'http://user@host'],
  ['PUBSUB_EMULATOR_HOST', 'http://host/?a'],
])('%s=%j is refused by its name', (name, value) => {
  expect(faults({ ...LEAST, [name]: value }).faults.map((fault) => fault.name)).toEqual([name]);
});

test.each([
  {
    name: 'JSON',
    text: '{"europe-west1": "workers", "us-central1": "regions/us-central1/subnetworks/w"}',
  },
  {
    name: 'pairs',
    text: 'europe-west1=workers, us-central1=projects/my-project-123/regions/us-central1/subnetworks/w',
  },
])('subnetworks as $name are completed to full paths', ({ text }) => {
  expect(readSettings({ ...LEAST, MAYFLY_SUBNETWORKS: text }).plan.subnetworks).toEqual({
    'europe-west1': 'projects/my-project-123/regions/europe-west1/subnetworks/workers',
    'us-central1': 'projects/my-project-123/regions/us-central1/subnetworks/w',
  });
});

test('Secure Boot is a word of the deployment', () => {
  expect(readSettings({ ...LEAST, MAYFLY_SECURE_BOOT: 'true' }).plan.secureBoot).toBe(true);
});

test.each([
  'worker@p.iam.gserviceaccount.com',
  '123456789-compute@developer.gserviceaccount.com',
  'p@appspot.gserviceaccount.com',
  'w@proj.example.com.iam.gserviceaccount.com',
])('P22: %s is a worker account', (account) => {
  const settings = readSettings({ ...LEAST, MAYFLY_WORKER_SERVICE_ACCOUNTS: account });
  expect(settings.plan.workerServiceAccounts).toEqual([account]);
});

test.each(['worker', 'default', 'someone@example.com', '', ' worker@p.iam.gserviceaccount.com'])(
  'P22: %j is no worker account, and the accepted form is told',
  (account) => {
    const error = faults({ ...LEAST, MAYFLY_WORKER_SERVICE_ACCOUNTS: account });
    expect(error.faults.map(({ name }) => name)).toEqual(['MAYFLY_WORKER_SERVICE_ACCOUNTS']);
    expect(error.faults[0]?.accepted).toContain('name@project.iam.gserviceaccount.com');
  },
);

const LOCAL: Environment = {
  ...LEAST,
  MAYFLY_PUSH_AUDIENCE: '',
  MAYFLY_PUSH_SERVICE_ACCOUNTS: '',
  MAYFLY_PUSH_MODE: 'internal-token',
  MAYFLY_PUSH_TOKEN: 'a-shared-token-of-the-local-cloud',
};

test('a local deployment needs its shared token alone', () => {
  expect(readSettings(LOCAL).push).toMatchObject({
    mode: 'internal-token',
    internalToken: 'a-shared-token-of-the-local-cloud',
  });
});

test('C131: the shared token is refused on Cloud Run', () => {
  const error = faults({ ...LOCAL, K_SERVICE: 'submit' });
  expect(error.faults.map(({ name }) => name)).toEqual(['MAYFLY_PUSH_MODE']);
});

test.each([
  { name: 'the token', change: { MAYFLY_PUSH_TOKEN: '' }, missing: 'MAYFLY_PUSH_TOKEN' },
  {
    name: 'the audience',
    change: {
      MAYFLY_PUSH_MODE: 'verify',
      MAYFLY_PUSH_SERVICE_ACCOUNTS: 'p@appspot.gserviceaccount.com',
    },
    missing: 'MAYFLY_PUSH_AUDIENCE',
  },
  {
    name: 'the accounts',
    change: { MAYFLY_PUSH_MODE: 'platform', MAYFLY_PUSH_AUDIENCE: 'a' },
    missing: 'MAYFLY_PUSH_SERVICE_ACCOUNTS',
  },
])('C130, C208: push settings without $name stop the start', ({ change, missing }) => {
  expect(faults({ ...LOCAL, ...change }).faults.map(({ name }) => name)).toEqual([missing]);
});

test('a shared token that is too short is refused, and never printed', () => {
  const error = faults({ ...LOCAL, MAYFLY_PUSH_TOKEN: 'hunter2' });
  expect(error.faults.map(({ name, value }) => [name, value])).toEqual([
    ['MAYFLY_PUSH_TOKEN', null],
  ]);
  expect(error.message).not.toContain('hunter2');
});

test('C131: the shared token is no setting of the other modes', () => {
  const settings = readSettings({ ...LOCAL, ...LEAST, MAYFLY_PUSH_MODE: 'verify' });
  expect(settings.push.internalToken).toBeNull();
});

test('C209: any subscription may push, or those of a list', () => {
  const subscriptionsOf = (text: string) =>
    readSettings({ ...LEAST, MAYFLY_PUSH_SUBSCRIPTIONS: text }).push.subscriptions;
  expect(subscriptionsOf('')).toBeNull();
  expect(subscriptionsOf('mayfly-submit, projects/p/subscriptions/mayfly-dead')).toEqual([
    'mayfly-submit',
    'projects/p/subscriptions/mayfly-dead',
  ]);
});

test('the machines follow the endpoints of the services that they call', () => {
  const { plan, endpoints } = readSettings({
    ...LEAST,
    MAYFLY_ENDPOINT_STORAGE: 'http://127.0.0.1:8080/',
    MAYFLY_ENDPOINT_COMPUTE: 'http://127.0.0.1:8081',
    MAYFLY_ENDPOINT_PUBSUB: 'http://127.0.0.1:8082',
    MAYFLY_ENDPOINT_SCHEDULER: 'http://127.0.0.1:8083',
    MAYFLY_ENDPOINT_SECRETMANAGER: 'http://127.0.0.1:8084/',
    MAYFLY_ENDPOINT_LOGGING: 'http://127.0.0.1:8085',
    MAYFLY_ENDPOINT_RUN: 'http://127.0.0.1:8086/',
    MAYFLY_ENDPOINT_IAMCREDENTIALS: 'http://127.0.0.1:8087',
  });
  expect(plan.endpoints).toEqual({
    storage: 'http://127.0.0.1:8080',
    compute: 'http://127.0.0.1:8081',
    secretManager: 'http://127.0.0.1:8084',
    logging: 'http://127.0.0.1:8085',
  });
  expect(endpoints).toEqual({
    storage: 'http://127.0.0.1:8080',
    compute: 'http://127.0.0.1:8081',
    pubsub: 'http://127.0.0.1:8082',
    scheduler: 'http://127.0.0.1:8083',
    run: 'http://127.0.0.1:8086',
    iamCredentials: 'http://127.0.0.1:8087',
  });
});

test.each(['127.0.0.1:8085', 'http://127.0.0.1:8085', 'http://127.0.0.1:8085/'])(
  'P119: PUBSUB_EMULATOR_HOST=%s is the endpoint, without credentials',
  (host) => {
    const settings = readSettings({
      ...LEAST,
      PUBSUB_EMULATOR_HOST: host,
      MAYFLY_ENDPOINT_PUBSUB: 'http://127.0.0.1:1',
    });
    expect(settings.endpoints.pubsub).toBe('http://127.0.0.1:8085');
    expect(settings.emulated).toEqual({ storage: false, pubsub: true });
  },
);

test('the settings cannot be changed', () => {
  const settings = readSettings(LEAST);
  expect(() => {
    (settings.plan.regions as string[]).push('us-east1');
  }).toThrow(TypeError);
  expect(() => {
    (settings.push as { mode: string }).mode = 'verify';
  }).toThrow(TypeError);
});

test('the table names every variable once, and each default is one that is accepted', () => {
  const rows = Object.values(SETTINGS);
  expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
  for (const { name, initial, effect, parse } of rows) {
    expect(effect, name).toMatch(/^[A-Z].*\.$/);
    if (initial) expect(parse(initial).kind, name).toBe('value');
  }
});
