// Rarer faults, one for each further rule of a check; see doctor-faults.ts.
import {
  LOCAL_PROJECT,
  LOCAL_REGION,
  localAccount,
} from '#scripts/local-cloud/deployment/environment.ts';
import { asObject, type JsonObject } from '#scripts/local-cloud/json.ts';
import {
  bucket,
  type Change,
  notification,
  type PlantedFault,
  PROJECT,
  policy,
  quota,
  RUN,
  remake,
  sink,
  subscription,
  sweepJob,
} from '#test/scripts/mayfly/doctor-plants.ts';

const jobToken =
  (fields: JsonObject): Change =>
  ({ httpTarget, ...rest }) => {
    const { oidcToken, ...target } = asObject(httpTarget);
    return { ...rest, httpTarget: { ...target, oidcToken: { ...asObject(oidcToken), ...fields } } };
  };
const functionWith =
  (name: string, change: Change) => (send: Parameters<PlantedFault['plant']>[0]) =>
    remake(
      send,
      `${RUN}/functions/mayfly-${name}`,
      ({ serviceConfig, ...rest }) => ({ ...rest, serviceConfig: change(asObject(serviceConfig)) }),
      ['POST', `${RUN}/functions?functionId=mayfly-${name}`],
    );
const variable =
  (fields: JsonObject): Change =>
  ({ environmentVariables, ...rest }) => ({
    ...rest,
    environmentVariables: { ...asObject(environmentVariables), ...fields },
  });

export const MORE_FAULTS: readonly PlantedFault[] = [
  {
    name: 'the scheduler calls as another account',
    plant: sweepJob(jobToken({ serviceAccountEmail: localAccount('worker') })),
    check: 'scheduler mayfly-sweep',
    fix: `--oidc-service-account-email=${localAccount('push')}`,
  },
  {
    name: 'the scheduler’s tokens are for another audience',
    plant: sweepJob(jobToken({ audience: 'https://else.test' })),
    check: 'scheduler mayfly-sweep',
    fix: '--oidc-token-audience=https://mayfly.local',
  },
  {
    name: 'the scheduler’s agent may not make tokens of the push account',
    plant: policy(`${PROJECT}/serviceAccounts/${localAccount('push')}`, [
      {
        role: 'roles/iam.serviceAccountTokenCreator',
        members: ['serviceAccount:service-100000000001@gcp-sa-pubsub.iam.gserviceaccount.com'],
      },
    ]),
    check: 'agent gcp-sa-cloudscheduler: iam.serviceAccounts.getOpenIdToken on mayfly-push',
    fix: 'gcloud iam service-accounts add-iam-policy-binding',
  },
  {
    name: 'the storage agent may not announce results',
    plant: policy(`${PROJECT}/topics/mayfly-run-results`),
    check: 'agent gs-project-accounts: pubsub.topics.publish on mayfly-run-results',
    fix: 'gcloud pubsub topics add-iam-policy-binding mayfly-run-results',
  },
  {
    name: 'P125: subscription finalize has a dead letter policy',
    plant: subscription('finalize', (old) => ({
      ...old,
      deadLetterPolicy: {
        deadLetterTopic: `projects/${LOCAL_PROJECT}/topics/mayfly-dead`,
        maxDeliveryAttempts: 5,
      },
    })),
    check: 'subscription mayfly-finalize',
    fix: '--clear-dead-letter-policy',
  },
  {
    name: 'subscription notify is on another topic',
    plant: subscription('notify', (old) => ({
      ...old,
      topic: `projects/${LOCAL_PROJECT}/topics/mayfly-run-events`,
    })),
    check: 'subscription mayfly-notify',
    fix: 'mayfly deploy',
  },
  {
    name: 'markers are announced without their names',
    plant: notification('runs/gce-status/', (old) => ({ ...old, payload_format: 'NONE' })),
    check: 'notification runs/gce-status/',
    fix: '--payload-format=json',
  },
  {
    name: 'deletes of results are announced, not results',
    plant: notification('runs/results/', (old) => ({ ...old, event_types: ['OBJECT_DELETE'] })),
    check: 'notification runs/results/',
    fix: '--event-types=OBJECT_FINALIZE',
  },
  {
    name: 'the sweep is called once a year',
    plant: sweepJob((old) => ({ ...old, schedule: '0 0 1 1 *' })),
    check: 'scheduler mayfly-sweep',
    fix: "--schedule='*/2 * * * *'",
  },
  {
    name: 'a retention policy keeps objects from being overwritten',
    plant: bucket({ retentionPolicy: { retentionPeriod: '864000' } }),
    check: 'bucket retention',
    fix: '--clear-retention-period',
  },
  {
    name: 'new objects of the bucket get a hold',
    plant: bucket({ defaultEventBasedHold: true }),
    check: 'bucket retention',
    fix: '--no-default-event-based-hold',
  },
  {
    name: 'the sink for machines leaves machines out',
    plant: sink('mayfly-signals', (old) => ({
      ...old,
      exclusions: [{ name: 'all', filter: 'resource.type="gce_instance"' }],
    })),
    check: 'sink signals',
    fix: '--clear-exclusions',
  },
  {
    name: 'the Jobs of one region are gone',
    plant: async (send) => {
      const { jobs } = await send('GET', `${RUN}/jobs`);
      for (const { name } of jobs as { name: string }[]) await send('DELETE', `/v2/${name}`);
    },
    check: `jobs ${LOCAL_REGION}`,
    fix: 'mayfly deploy',
  },
  {
    name: 'the sink for executions is disabled',
    plant: sink('mayfly-executions', (old) => ({ ...old, disabled: true })),
    check: 'sink executions',
    fix: '--no-disabled',
  },
  {
    name: 'function submit runs as another account',
    plant: functionWith('submit', (old) => ({
      ...old,
      serviceAccountEmail: '100000000001-compute@developer.gserviceaccount.com',
    })),
    check: 'function mayfly-submit',
    fix: 'mayfly deploy',
  },
  {
    name: 'a setting of function sweep is wrong',
    plant: functionWith('sweep', variable({ MAYFLY_SWEEP_PERIOD_SECONDS: 'often' })),
    check: 'function mayfly-sweep settings',
    fix: 'mayfly deploy',
  },
  {
    name: 'function notify wants tokens for another audience than its subscription has',
    plant: functionWith('notify', variable({ MAYFLY_PUSH_AUDIENCE: 'https://own.test' })),
    check: 'subscription mayfly-notify',
    fix: '--push-auth-token-audience=https://own.test',
  },
  {
    name: 'there is a Job of a class that is not in the inventory',
    plant: async (send) => {
      const { name: _, ...job } = await send('GET', `${RUN}/jobs/mayfly-base-ml-s`);
      await send('POST', `${RUN}/jobs?jobId=mayfly-base-old-s`, job);
    },
    check: `jobs ${LOCAL_REGION}`,
    fix: 'mayfly deploy',
  },
  {
    name: 'a region has no L4',
    plant: quota('us-central1', 'NVIDIA_L4_GPUS'),
    check: 'quota us-central1 NVIDIA_L4_GPUS',
    fix: 'https://console.cloud.google.com/iam-admin/quotas',
    state: 'warning',
  },
  {
    name: 'P126: everybody with a Google account may call finalize',
    plant: policy(`${RUN}/services/mayfly-finalize`, [
      {
        role: 'roles/run.invoker',
        members: [`serviceAccount:${localAccount('push')}`, 'allAuthenticatedUsers'],
      },
    ]),
    check: 'invoker mayfly-finalize',
    fix: '--member=allAuthenticatedUsers',
  },
];
