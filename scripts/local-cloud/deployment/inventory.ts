// What a deployment consists of, as tables: the local layout, doctor's checks and the reference read them,
// and Terraform does from `terraform/inventory.json`.
import { MARKER_PREFIX, REJECTED_PREFIX, RESULT_PREFIX } from '#shared/plan/objects.ts';

const DAY_SECONDS = 86_400;

export const FUNCTION_NAMES = ['submit', 'finalize', 'signals', 'notify', 'sweep'] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/** The APIs that have to be enabled, those that doctor asks among them. */
export const SERVICES = [
  ...['artifactregistry', 'cloudbuild', 'cloudfunctions', 'cloudresourcemanager'],
  ...['cloudscheduler', 'compute', 'iam', 'iamcredentials', 'logging', 'monitoring'],
  ...['policytroubleshooter', 'pubsub', 'run', 'secretmanager', 'serviceusage', 'storage'],
].map((name) => `${name}.googleapis.com`);

export const TOPICS = [
  'run-requests',
  'run-status',
  'run-signals',
  'run-results',
  'run-events',
  'dead',
];
/** The accounts of a run on Cloud Run Jobs. */
export const JOBS_ACCOUNTS = ['jobs-task', 'jobs-reader', 'jobs-uploader'];

export const ACK_DEADLINE_SECONDS = 600;
export const RETRY_POLICY = { minimumBackoff: '10s', maximumBackoff: '600s' };
export const DELIVERY_ATTEMPTS_MAX = 100;
/** Cloud Scheduler's shortest steps are minutes: the sweep's period of 120 s. */
export const SWEEP_SCHEDULE = '*/2 * * * *';

export interface Subscription {
  readonly name: string;
  readonly topic: string;
  readonly function: FunctionName;
  readonly path: string;
  readonly retentionSeconds: number;
  readonly deadLetters: boolean;
}

export const SUBSCRIPTIONS: readonly Subscription[] = [
  {
    name: 'submit',
    topic: 'run-requests',
    function: 'submit',
    path: '/',
    retentionSeconds: 31 * DAY_SECONDS,
    deadLetters: true,
  },
  {
    name: 'finalize',
    topic: 'run-status',
    function: 'finalize',
    path: '/',
    retentionSeconds: DAY_SECONDS,
    deadLetters: false,
  },
  {
    name: 'signals',
    topic: 'run-signals',
    function: 'signals',
    path: '/',
    retentionSeconds: DAY_SECONDS,
    deadLetters: false,
  },
  {
    name: 'notify',
    topic: 'run-results',
    function: 'notify',
    path: '/',
    retentionSeconds: 31 * DAY_SECONDS,
    deadLetters: false,
  },
  {
    name: 'dead',
    topic: 'dead',
    function: 'submit',
    path: '/dead',
    retentionSeconds: 31 * DAY_SECONDS,
    deadLetters: false,
  },
];

export const NOTIFICATIONS = [
  { prefix: MARKER_PREFIX, topic: 'run-status' },
  { prefix: RESULT_PREFIX, topic: 'run-results' },
  { prefix: REJECTED_PREFIX, topic: 'run-results' },
] as const;
