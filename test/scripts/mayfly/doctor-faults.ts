// What may be wrong with a deployment, each planted by Google's own methods (or a control of the local
// cloud where Google has none), with the check that has to find it and words of the fix it has to name.
import {
  LOCAL_PROJECT,
  LOCAL_REGION,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import { LIFETIME_FAULTS } from '#test/scripts/mayfly/doctor-lifetime-faults.ts';
import { MESSAGE_FAULTS } from '#test/scripts/mayfly/doctor-message-faults.ts';
import { MORE_FAULTS } from '#test/scripts/mayfly/doctor-more-faults.ts';
import {
  BUCKET,
  bucket,
  notification,
  type PlantedFault,
  PROJECT,
  policy,
  quota,
  RUN,
  remake,
  removed,
  revoke,
  SCHEDULER,
  sink,
  sweepJob,
} from '#test/scripts/mayfly/doctor-plants.ts';

const STORE: readonly PlantedFault[] = [
  {
    name: 'soft delete is on',
    plant: bucket({ softDeletePolicy: { retentionDurationSeconds: '604800' } }),
    check: 'bucket soft delete',
    fix: '--clear-soft-delete',
  },
  {
    name: 'versioning is on',
    plant: bucket({ versioning: { enabled: true } }),
    check: 'bucket versioning',
    fix: '--no-versioning',
  },
  {
    name: 'access is not uniform',
    plant: bucket({ iamConfiguration: { uniformBucketLevelAccess: { enabled: false } } }),
    check: 'bucket uniform access',
    fix: '--uniform-bucket-level-access',
  },
  {
    name: 'there is no lifecycle rule',
    plant: bucket({ lifecycle: null }),
    check: 'bucket lifecycle',
    fix: 'mayfly deploy',
  },
  {
    name: 'a lifecycle rule deletes what is active',
    plant: bucket({
      lifecycle: {
        rule: [{ action: { type: 'Delete' }, condition: { age: 31, matchesPrefix: ['runs/'] } }],
      },
    }),
    check: 'bucket lifecycle',
    fix: 'mayfly deploy',
  },
  {
    name: 'runs/deployment is missing',
    plant: removed(`${BUCKET}/o/runs%2Fdeployment`),
    check: 'object runs/deployment',
    fix: 'mayfly deploy',
  },
  {
    name: 'runs/deployment has another name',
    plant: (send) =>
      send('POST', '/upload/storage/v1/b/local-bucket/o?uploadType=media&name=runs%2Fdeployment', {
        a: 1,
      }),
    check: 'object runs/deployment',
    fix: 'one bucket serves one deployment',
  },
  {
    name: 'nothing announces markers',
    plant: notification('runs/gce-status/', null),
    check: 'notification runs/gce-status/',
    fix: 'gcloud storage buckets notifications create',
  },
  {
    name: 'results are announced under another prefix',
    plant: notification('runs/results/', (old) => ({ ...old, object_name_prefix: 'results/' })),
    check: 'notification runs/results/',
    fix: '--object-prefix=runs/results/',
  },
  {
    name: 'rejections are announced on another topic',
    plant: notification('runs/rejected/', (old) => ({
      ...old,
      topic: '//pubsub.googleapis.com/projects/local-project/topics/mayfly-run-events',
    })),
    check: 'notification runs/rejected/',
    fix: '--topic=mayfly-run-results',
  },
];

const WORK: readonly PlantedFault[] = [
  {
    name: 'the sweep has no job',
    plant: removed(`${SCHEDULER}/mayfly-sweep`),
    check: 'scheduler mayfly-sweep',
    fix: 'mayfly deploy',
  },
  {
    name: 'the sweep is paused',
    plant: (send) => send('POST', `${SCHEDULER}/mayfly-sweep:pause`),
    check: 'scheduler mayfly-sweep',
    fix: 'mayfly sweep --resume',
  },
  {
    name: 'the sweep is called at another address',
    plant: sweepJob(({ httpTarget, ...rest }) => ({
      ...rest,
      httpTarget: { ...(httpTarget as JsonObject), uri: 'https://else.test/' },
    })),
    check: 'scheduler mayfly-sweep',
    fix: '--uri=',
  },
  {
    name: 'the sweep is given up after three minutes',
    plant: sweepJob((old) => ({ ...old, attemptDeadline: '180s' })),
    check: 'scheduler mayfly-sweep',
    fix: '--attempt-deadline=1800s',
  },
  {
    name: 'there is no sink for machine signals',
    plant: sink('mayfly-signals', null),
    check: 'sink signals',
    fix: 'gcloud logging sinks create mayfly-signals',
  },
  {
    name: 'the sink for task events takes other entries',
    plant: sink('mayfly-task-events', (old) => ({ ...old, filter: 'severity>=ERROR' })),
    check: 'sink task-events',
    fix: 'gcloud logging sinks update mayfly-task-events',
  },
  {
    name: 'function notify is missing',
    plant: removed(`${RUN}/functions/mayfly-notify`),
    check: 'function mayfly-notify',
    fix: 'mayfly deploy',
  },
  {
    name: 'function finalize did not start',
    plant: (send) =>
      remake(send, `${RUN}/functions/mayfly-finalize`, (old) => ({ ...old, state: 'FAILED' }), [
        'POST',
        `${RUN}/functions?functionId=mayfly-finalize`,
      ]),
    check: 'function mayfly-finalize',
    fix: 'mayfly deploy',
  },
  ...(['submit', 'sweep'] as const).map((name) => ({
    name: `P126: the push account may not call ${name}`,
    plant: policy(`${RUN}/services/mayfly-${name}`),
    check: `invoker mayfly-${name}`,
    fix: `gcloud run services add-iam-policy-binding mayfly-${name}`,
  })),
  {
    name: 'P126: everybody may call signals',
    plant: policy(`${RUN}/services/mayfly-signals`, [
      {
        role: 'roles/run.invoker',
        members: [`serviceAccount:${localAccount('push')}`, 'allUsers'],
      },
    ]),
    check: 'invoker mayfly-signals',
    fix: 'gcloud run services remove-iam-policy-binding mayfly-signals',
  },
  {
    name: 'the Job of one class is missing',
    plant: removed(`${RUN}/jobs/mayfly-base-ml-s`),
    check: `jobs ${LOCAL_REGION}`,
    fix: 'mayfly deploy',
  },
  {
    name: 'a region has no processors',
    plant: quota(LOCAL_REGION, 'CPUS'),
    check: `quota ${LOCAL_REGION} CPUS`,
    fix: 'https://console.cloud.google.com/iam-admin/quotas',
  },
  {
    name: 'the project has no GPUs',
    plant: quota('global', 'GPUS_ALL_REGIONS'),
    check: 'quota project GPUS_ALL_REGIONS',
    fix: 'https://console.cloud.google.com/iam-admin/quotas',
    state: 'warning',
  },
];

const ACCOUNTS: readonly PlantedFault[] = [
  {
    name: 'the worker account is missing',
    plant: removed(`${PROJECT}/serviceAccounts/${localAccount('worker')}`),
    check: `account ${localAccount('worker')}`,
    fix: 'mayfly deploy',
  },
  {
    name: 'the push account is missing',
    plant: removed(`${PROJECT}/serviceAccounts/${localAccount('push')}`),
    check: `account ${localAccount('push')}`,
    fix: 'mayfly deploy',
  },
  {
    name: 'the account of submit is disabled',
    plant: (send) => send('POST', `${PROJECT}/serviceAccounts/${localAccount('submit')}:disable`),
    check: `account ${localAccount('submit')}`,
    fix: 'gcloud iam service-accounts enable',
  },
  {
    name: 'workers may not pull images',
    plant: policy(`/v3/projects/${LOCAL_PROJECT}`),
    flags: ['--image', `europe-docker.pkg.dev/${LOCAL_PROJECT}/team/app:1`],
    check: 'permission worker: artifactregistry.repositories.downloadArtifacts',
    fix: 'roles/artifactregistry.reader',
  },
  ...(
    [
      ['submit', 'compute.instances.create'],
      ['finalize', 'compute.instances.delete'],
      ['signals', 'compute.disks.delete'],
      ['sweep', 'compute.instances.list'],
      ['notify', 'pubsub.topics.publish'],
      ['worker', 'logging.logEntries.create'],
      ['jobs-task', 'storage.objects.delete'],
      ['jobs-reader', 'storage.objects.get'],
      ['jobs-uploader', 'storage.objects.create'],
    ] as const
  ).map(([account, permission]) => ({
    name: `${account} lacks ${permission}`,
    plant: revoke(account, permission),
    check: `permission ${account}: ${permission}`,
    fix: 'mayfly deploy',
  })),
];

export const FAULTS: readonly PlantedFault[] = [
  ...MESSAGE_FAULTS,
  ...STORE,
  ...WORK,
  ...ACCOUNTS,
  ...LIFETIME_FAULTS,
  ...MORE_FAULTS,
];
