// Every setting of a deployment: its variable, its default and its effect. The reference page prints
// this table; config.ts reads by it.
import { type Setting, setting } from '#shared/cloud/setting.ts';
import { guestSettings } from '#shared/cloud/settings-guest.ts';
import { JOBS_SETTINGS } from '#shared/cloud/settings-jobs.ts';
import {
  amount,
  baseUrl,
  emulatorHost,
  flag,
  listOf,
  namesAndValues,
  oneOf,
  serviceAccount,
  textOf,
  wholeNumber,
} from '#shared/cloud/settings-parse.ts';
import { TTL_SECONDS_CEILING, TTL_SECONDS_MIN } from '#shared/plan/limits.ts';
import { BUCKET_RULE, DEPLOYMENT_RULE, PROJECT_RULE } from '#shared/plan/setting-rules.ts';

const REGION = textOf({
  pattern: /^[a-z]+-[a-z]+[0-9]{1,2}$/,
  rule: 'a region is given by its name',
  accepted: 'europe-west1 (no zone, no capital letters)',
});
const SUBSCRIPTION = textOf({
  pattern: /^(?:projects\/[a-z0-9.:-]+\/subscriptions\/)?[A-Za-z][A-Za-z0-9._~%+-]{2,254}$/,
  rule: 'a subscription is given by its name',
  accepted: 'mayfly-submit or projects/p/subscriptions/mayfly-submit',
});
const IMAGE_HOST = textOf({
  pattern: /^(?=[a-z0-9*])(?:[a-z0-9-]*\*?[a-z0-9-]*)(?:\.(?:\*|[a-z0-9-]+))*(?::[0-9]+)?$/,
  rule: 'a host may have * for one label or a part of it',
  accepted: '*-docker.pkg.dev, gcr.io, *.gcr.io',
});
const CAPABILITY = textOf({
  pattern: /^(?!CAP_)[A-Z][A-Z_]+$/,
  rule: 'a Linux capability is given without CAP_',
  accepted: 'SYS_PTRACE',
});
const NETWORK_TAG = textOf({
  pattern: /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
  rule: 'a network tag has lower-case letters, digits and hyphens, 63 at most',
  accepted: 'mayfly-worker',
});
const KMS_KEY = textOf({
  pattern: /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+$/,
  rule: 'a key is given by its full name, without a version',
  accepted: 'projects/p/locations/l/keyRings/r/cryptoKeys/k',
});
const PROJECT = textOf(PROJECT_RULE);
const BUCKET = textOf(BUCKET_RULE);
const DEPLOYMENT = textOf(DEPLOYMENT_RULE);
const AUDIENCE = textOf({
  pattern: /^\S{1,512}$/,
  rule: 'it is one text without blanks',
  accepted: 'https://submit-x.run.app',
});
const SECRET = textOf({
  pattern: /^\S{16,512}$/,
  rule: 'it has 16 characters at least and no blanks',
  accepted: 'random text',
});

const endpoint = (service: string, name: string) =>
  setting(
    `ENDPOINT_${service}`,
    '',
    baseUrl,
    `Base URL of ${name} where it is not Google's own; calls carry the account's token as usual.`,
  );
const emulator = (service: string, name: string): Setting<string> => ({
  name: `${service}_EMULATOR_HOST`,
  initial: '',
  parse: emulatorHost,
  effect: `Address of an emulator of ${name}, host:port; no credentials are looked up or sent. Goes before MAYFLY_ENDPOINT_${service}.`,
});

export const SETTINGS = {
  project: setting('PROJECT', null, PROJECT, 'The project that everything lives in.'),
  bucket: setting('BUCKET', null, BUCKET, "The deployment's bucket; no two share one."),
  deployment: setting(
    'DEPLOYMENT',
    'mayfly',
    DEPLOYMENT,
    "The installation's name: prefix of machines, topics, subscriptions, and a label.",
  ),
  regions: setting(
    'REGIONS',
    null,
    listOf(REGION),
    'Where machines may run, best first. No default: data must not land somewhere by accident.',
  ),
  subnetworks: setting(
    'SUBNETWORKS',
    '',
    namesAndValues,
    'Region → subnetwork, as JSON or region=subnetwork,…; a name or partial path is completed with the project and region. A region that is left out uses the subnetwork named default.',
  ),
  workerServiceAccounts: setting(
    'WORKER_SERVICE_ACCOUNTS',
    null,
    listOf(serviceAccount),
    'Accounts that machines may run as; the first is the default of a request.',
  ),
  imageHosts: setting(
    'IMAGE_HOSTS',
    '*-docker.pkg.dev,gcr.io,*.gcr.io',
    listOf(IMAGE_HOST),
    "Registries that are sent the worker account's token; * is one label.",
  ),
  capabilitiesAllowed: setting(
    'CAPABILITIES_ALLOWED',
    '',
    listOf(CAPABILITY),
    'Linux capabilities that a request may add to the kept set.',
  ),
  metadataAccessDefault: setting(
    'METADATA_ACCESS_DEFAULT',
    'false',
    flag,
    "Whether containers reach the metadata server, and so the worker account's token, by default.",
  ),
  ttlSecondsMax: setting(
    'TTL_SECONDS_MAX',
    '86400',
    wholeNumber(TTL_SECONDS_MIN, TTL_SECONDS_CEILING),
    'The longest ttlSeconds that a request may ask for.',
  ),
  budgetUsdMax: setting(
    'BUDGET_USD_MAX',
    '',
    amount,
    'The highest budget of one run in US dollars; also the budget of requests without one.',
  ),
  defaultRuntime: setting(
    'DEFAULT_RUNTIME',
    'gce',
    oneOf('gce', 'cloudrun-jobs'),
    'The runtime of requests that name none.',
  ),
  fullLog: setting(
    'FULL_LOG',
    'logging',
    oneOf('logging', 'none'),
    "Where the container's full output goes: Cloud Logging, or nowhere (the tail is always kept).",
  ),
  diskKmsKey: setting('DISK_KMS_KEY', '', KMS_KEY, 'Cloud KMS key of the boot disks.'),
  secureBoot: setting(
    'SECURE_BOOT',
    'false',
    flag,
    'Whether machines boot with Secure Boot, which compute.requireShieldedVm asks for. Container-Optimized OS and its drivers are signed; drivers of other images may not be.',
  ),
  networkTags: setting('NETWORK_TAGS', '', listOf(NETWORK_TAG), 'Network tags of the machines.'),
  instanceMetadata: setting(
    'INSTANCE_METADATA',
    '',
    namesAndValues,
    'Further metadata of the machines, as JSON or name=value,…; keys of our own are refused.',
  ),
  guest: setting(
    'GUEST',
    '',
    guestSettings,
    'Periods, time limits and folders of the scripts on the machine, as JSON; what is left out has a default that fits Compute Engine.',
  ),
  ...JOBS_SETTINGS,
  sweepPeriodSeconds: setting(
    'SWEEP_PERIOD_SECONDS',
    '120',
    wholeNumber(60, 3_600),
    'How often the sweep is scheduled; ages are judged by it.',
  ),
  reapsPerSweepMax: setting(
    'REAPS_PER_SWEEP_MAX',
    '20',
    wholeNumber(0, 1_000),
    'How many machines without a record one sweep may delete; the rest is reported.',
  ),
  retentionDays: setting(
    'RETENTION_DAYS',
    '30',
    wholeNumber(1, 3_650),
    'How long the objects of a run are kept, and its id stays taken.',
  ),
  userProject: setting(
    'USER_PROJECT',
    '',
    PROJECT,
    'The project that is billed for storage requests, for a bucket with "requester pays".',
  ),
  pushMode: setting(
    'PUSH_MODE',
    'platform',
    oneOf('platform', 'verify', 'internal-token'),
    'Who proves the caller: the platform (private service), this code (public endpoint), or a shared token (local only).',
  ),
  pushAudience: setting(
    'PUSH_AUDIENCE',
    '',
    AUDIENCE,
    'The exact audience of push and scheduler tokens; needed unless MAYFLY_PUSH_MODE is internal-token.',
  ),
  pushServiceAccounts: setting(
    'PUSH_SERVICE_ACCOUNTS',
    '',
    listOf(serviceAccount),
    'The accounts that may call; needed unless MAYFLY_PUSH_MODE is internal-token.',
  ),
  pushSubscriptions: setting(
    'PUSH_SUBSCRIPTIONS',
    '',
    listOf(SUBSCRIPTION),
    'The subscriptions that may push, short or full names; unset: any.',
  ),
  pushToken: {
    ...setting(
      'PUSH_TOKEN',
      '',
      SECRET,
      'The shared token; needed when MAYFLY_PUSH_MODE is internal-token.',
    ),
    secret: true,
  },
  jwksUrl: setting(
    'JWKS_URL',
    'https://www.googleapis.com/oauth2/v3/certs',
    baseUrl,
    'Where the public keys of tokens are fetched.',
  ),
  endpointStorage: endpoint('STORAGE', 'Cloud Storage (the machines use it too)'),
  endpointCompute: endpoint('COMPUTE', 'Compute Engine (the machines use it too)'),
  endpointPubsub: endpoint('PUBSUB', 'Pub/Sub'),
  endpointScheduler: endpoint('SCHEDULER', 'Cloud Scheduler'),
  endpointSecretManager: endpoint('SECRETMANAGER', 'Secret Manager, for the machines'),
  endpointLogging: endpoint('LOGGING', 'Cloud Logging, for the machines'),
  endpointRun: endpoint('RUN', "Cloud Run's Admin API"),
  endpointIamCredentials: endpoint('IAMCREDENTIALS', 'IAM Credentials, which signs addresses'),
  emulatorStorage: emulator('STORAGE', 'Cloud Storage'),
  emulatorPubsub: emulator('PUBSUB', 'Pub/Sub'),
} as const;
