// What may be wrong with APIs, topics, subscriptions and the agents that fill them; see doctor-faults.ts.
import { localAccount } from '#scripts/local-cloud/deployment/environment.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import {
  type PlantedFault,
  PROJECT,
  PUSH,
  policy,
  push,
  removed,
  subscription,
  token,
  without,
} from '#test/scripts/mayfly/doctor-plants.ts';

const TOPICS = ['run-requests', 'run-status', 'run-signals', 'run-results', 'run-events', 'dead'];
const SUBSCRIPTIONS = ['submit', 'finalize', 'signals', 'notify', 'dead'];
const APIS: readonly PlantedFault[] = ['compute', 'pubsub', 'run', 'secretmanager'].map((api) => ({
  name: `the API ${api} is not enabled`,
  plant: (send) => send('POST', `${PROJECT}/services/${api}.googleapis.com:disable`),
  check: `api ${api}.googleapis.com`,
  fix: `gcloud services enable ${api}.googleapis.com`,
}));

const MESSAGES: readonly PlantedFault[] = [
  ...TOPICS.map((topic) => ({
    name: `topic ${topic} is missing`,
    plant: removed(`${PROJECT}/topics/mayfly-${topic}`),
    check: `topic mayfly-${topic}`,
    fix: 'mayfly deploy',
  })),
  ...SUBSCRIPTIONS.map((name) => ({
    name: `P123: subscription ${name} is missing`,
    plant: removed(`${PROJECT}/subscriptions/mayfly-${name}`),
    check: `subscription mayfly-${name}`,
    fix: 'mayfly deploy',
  })),
  ...(
    [
      [
        'another endpoint',
        push((old) => ({ ...old, pushEndpoint: 'https://else.test/' })),
        '--push-endpoint',
      ],
      ['another audience', token({ audience: 'https://else.test' }), '--push-auth-token-audience'],
      [
        'another push account',
        token({ serviceAccountEmail: localAccount('worker') }),
        '--push-auth-service-account',
      ],
      ['no push at all', without('pushConfig'), '--push-endpoint'],
      [
        'an ack deadline of 10 s',
        (old: JsonObject) => ({ ...old, ackDeadlineSeconds: 10 }),
        '--ack-deadline=600',
      ],
      [
        'an end after 31 days',
        (old: JsonObject) => ({ ...old, expirationPolicy: { ttl: '2678400s' } }),
        '--expiration-period=never',
      ],
      ['no retry policy', without('retryPolicy'), '--min-retry-delay=10s'],
      [
        'a retention of a day',
        (old: JsonObject) => ({ ...old, messageRetentionDuration: '86400s' }),
        '--message-retention-duration',
      ],
      ['no dead letter policy', without('deadLetterPolicy'), '--dead-letter-topic'],
      [
        'five attempts before a message is given up',
        ({ deadLetterPolicy, ...old }: JsonObject) => ({
          ...old,
          deadLetterPolicy: { ...(deadLetterPolicy as JsonObject), maxDeliveryAttempts: 5 },
        }),
        '--max-delivery-attempts=100',
      ],
      [
        'a filter',
        (old: JsonObject) => ({ ...old, filter: 'attributes.never = "x"' }),
        'subscriptions delete mayfly-submit --project=local-project && mayfly deploy',
      ],
      [
        'ordering',
        (old: JsonObject) => ({ ...old, enableMessageOrdering: true }),
        'subscriptions delete mayfly-submit --project=local-project && mayfly deploy',
      ],
      [
        'pushes without the envelope',
        push((old) => ({ ...old, noWrapper: { writeMetadata: false } })),
        'mayfly deploy',
      ],
    ] as const
  ).map(([what, change, fix]) => ({
    name: `P123: subscription submit has ${what}`,
    plant: subscription('submit', change),
    check: 'subscription mayfly-submit',
    fix,
  })),
  {
    name: 'P123: the Pub/Sub agent may not publish dead letters',
    plant: policy(`${PROJECT}/topics/mayfly-dead`),
    check: 'agent gcp-sa-pubsub: pubsub.topics.publish on mayfly-dead',
    fix: 'gcloud pubsub topics add-iam-policy-binding mayfly-dead',
  },
  {
    name: 'P123: the Pub/Sub agent may not take messages off the subscription',
    plant: policy(`${PROJECT}/subscriptions/mayfly-submit`),
    check: 'agent gcp-sa-pubsub: pubsub.subscriptions.consume on mayfly-submit',
    fix: 'gcloud pubsub subscriptions add-iam-policy-binding mayfly-submit',
  },
  {
    name: 'P123: the Pub/Sub agent may not make tokens of the push account',
    plant: policy(PUSH, [
      {
        role: 'roles/iam.serviceAccountTokenCreator',
        members: [
          'serviceAccount:service-100000000001@gcp-sa-cloudscheduler.iam.gserviceaccount.com',
        ],
      },
    ]),
    check: 'agent gcp-sa-pubsub: iam.serviceAccounts.getOpenIdToken on mayfly-push',
    fix: 'gcloud iam service-accounts add-iam-policy-binding',
  },
  {
    name: 'the storage agent may not announce markers',
    plant: policy(`${PROJECT}/topics/mayfly-run-status`),
    check: 'agent gs-project-accounts: pubsub.topics.publish on mayfly-run-status',
    fix: 'gcloud pubsub topics add-iam-policy-binding mayfly-run-status',
  },
  {
    name: 'the log sink may not publish',
    plant: policy(`${PROJECT}/topics/mayfly-run-signals`),
    check: 'agent gcp-sa-logging: pubsub.topics.publish on mayfly-run-signals',
    fix: 'gcloud pubsub topics add-iam-policy-binding mayfly-run-signals',
  },
];

export const MESSAGE_FAULTS: readonly PlantedFault[] = [...APIS, ...MESSAGES];
