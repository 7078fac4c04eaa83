// Topics, push subscriptions with their policies, and the job that calls the sweep.
import {
  ACK_DEADLINE_SECONDS,
  DELIVERY_ATTEMPTS_MAX,
  SUBSCRIPTIONS,
  type Subscription,
  SWEEP_SCHEDULE,
  TOPICS,
} from '#scripts/local-cloud/deployment/inventory.ts';
import {
  asNumber,
  asObject,
  asString,
  durationMs,
  type JsonObject,
} from '#scripts/local-cloud/json.ts';
import { accountOf, type Deployed } from '#scripts/mayfly/doctor/deployed.ts';
import { type Finding, firstBroken, ok } from '#scripts/mayfly/doctor/finding.ts';
import { eachOf, judgeAnswer } from '#scripts/mayfly/doctor/reader.ts';

export function checkTopics({ reader, project, deployment }: Deployed): Promise<Finding[]> {
  return eachOf(TOPICS, async (topic) => {
    const check = `topic ${deployment}-${topic}`;
    const answer = await reader.get(
      'PUBSUB',
      `v1/projects/${project}/topics/${deployment}-${topic}`,
    );
    return judgeAnswer(check, answer, {
      missing: 'mayfly deploy',
      judge: () => ok(check, 'there'),
    });
  });
}

export function checkSubscriptions(deployed: Deployed): Promise<Finding[]> {
  const { reader, project, deployment } = deployed;
  return eachOf(SUBSCRIPTIONS, async (wanted) => {
    const name = `${deployment}-${wanted.name}`;
    const check = `subscription ${name}`;
    const answer = await reader.get('PUBSUB', `v1/projects/${project}/subscriptions/${name}`);
    return judgeAnswer(check, answer, {
      missing: 'mayfly deploy',
      judge: (body) => firstBroken(check, subscriptionRules(deployed, wanted, body)),
    });
  });
}

/** What Pub/Sub counts to when a policy does not say. */
const ATTEMPTS_LEFT_OUT = 5;

type Rules = Parameters<typeof firstBroken>[1];

/** The right values are the design's: 600 s, retries, 31 days or one, never expiring, one dead topic. */
function subscriptionRules(deployed: Deployed, wanted: Subscription, body: JsonObject): Rules {
  const { project, deployment, urls, audiences } = deployed;
  const update = (flag: string) =>
    `gcloud pubsub subscriptions update ${deployment}-${wanted.name} --project=${project} ${flag}`;
  const push = asObject(body.pushConfig);
  const token = asObject(push.oidcToken);
  const endpoints = urls.get(wanted.function)?.map((url) => `${trim(url)}${wanted.path}`) ?? null;
  const endpoint = asString(push.pushEndpoint);
  const account = accountOf(deployed, 'push');
  const retry = asObject(body.retryPolicy);
  const dead = asObject(body.deadLetterPolicy);
  const topic = `projects/${project}/topics/${deployment}-`;
  const audience = audiences.get(wanted.function) ?? token.audience;
  // Neither can be changed; messages that wait are lost.
  const again = `gcloud pubsub subscriptions delete ${deployment}-${wanted.name} --project=${project} && mayfly deploy`;
  const seconds = wanted.retentionSeconds;
  const ack = `--ack-deadline=${ACK_DEADLINE_SECONDS}`;
  const letters = `--dead-letter-topic=${deployment}-dead --max-delivery-attempts=${DELIVERY_ATTEMPTS_MAX}`;
  return [
    [body.topic === topic + wanted.topic, `is on ${body.topic}`, 'mayfly deploy'],
    [
      endpoint !== undefined &&
        (endpoints === null || endpoints.map(trim).includes(trim(endpoint))),
      `pushes to ${endpoint ?? 'nobody'}`,
      update(`--push-endpoint=${endpoints?.[0] ?? 'URL'}`),
    ],
    [
      token.serviceAccountEmail === account,
      `pushes as ${token.serviceAccountEmail ?? 'nobody'}`,
      update(`--push-auth-service-account=${account}`),
    ],
    [
      token.audience === audience,
      `its tokens are for ${token.audience}, the function wants ${audience}`,
      update(`--push-auth-token-audience=${audience}`),
    ],
    [
      asNumber(body.ackDeadlineSeconds) === ACK_DEADLINE_SECONDS,
      `waits ${body.ackDeadlineSeconds ?? 10} s for an answer`,
      update(ack),
    ],
    [
      'expirationPolicy' in body && asObject(body.expirationPolicy).ttl === undefined,
      'is deleted when nothing comes for 31 days',
      update('--expiration-period=never'),
    ],
    [
      durationMs(retry.minimumBackoff) === 10_000 && durationMs(retry.maximumBackoff) === 600_000,
      'does not wait longer from repeat to repeat (10 s to 600 s)',
      update('--min-retry-delay=10s --max-retry-delay=600s'),
    ],
    [
      durationMs(body.messageRetentionDuration) === seconds * 1000,
      `keeps messages for ${body.messageRetentionDuration ?? '7 days'}, not for ${seconds} s`,
      update(`--message-retention-duration=${seconds}s`),
    ],
    [
      (asString(body.filter) ?? '') === '',
      `drops every message that is not ${asString(body.filter)}`,
      again,
    ],
    [
      body.enableMessageOrdering !== true,
      'holds all messages of an ordering key back behind one that fails',
      again,
    ],
    [push.noWrapper === undefined, 'pushes bare data, without ids and attributes', 'mayfly deploy'],
    [
      !wanted.deadLetters ||
        (dead.maxDeliveryAttempts ?? ATTEMPTS_LEFT_OUT) === DELIVERY_ATTEMPTS_MAX,
      `gives a message up after ${dead.maxDeliveryAttempts ?? ATTEMPTS_LEFT_OUT} attempts, minutes of a fault`,
      update(letters),
    ],
    wanted.deadLetters
      ? [dead.deadLetterTopic === `${topic}dead`, 'has no dead letter policy', update(letters)]
      : [
          dead.deadLetterTopic === undefined,
          'has a dead letter policy',
          update('--clear-dead-letter-policy'),
        ],
  ];
}

const trim = (url: string) => url.replace(/\/+$/, '');

export async function checkScheduler(deployed: Deployed): Promise<Finding[]> {
  const { reader, project, region, deployment, urls, audiences } = deployed;
  const name = `${deployment}-sweep`;
  const check = `scheduler ${name}`;
  const path = `v1/projects/${project}/locations/${region}/jobs/${name}`;
  const answer = await reader.get('SCHEDULER', path);
  const update = (flag: string) =>
    `gcloud scheduler jobs update http ${name} --project=${project} --location=${region} ${flag}`;
  const judge = (body: JsonObject) => {
    const target = asObject(body.httpTarget);
    const token = asObject(target.oidcToken);
    const uri = asString(target.uri) ?? '';
    const right = urls.get('sweep') ?? [uri];
    const account = accountOf(deployed, 'push');
    const audience = audiences.get('sweep') ?? token.audience;
    return firstBroken(check, [
      [body.state === 'ENABLED', `is ${body.state}: nothing sweeps`, 'mayfly sweep --resume'],
      [
        body.schedule === SWEEP_SCHEDULE,
        `calls at ${body.schedule}, not every two minutes`,
        update(`--schedule='${SWEEP_SCHEDULE}'`),
      ],
      [right.map(trim).includes(trim(uri)), `calls ${uri}`, update(`--uri=${right[0]}`)],
      [
        durationMs(body.attemptDeadline) === 1_800_000,
        `gives a sweep up after ${body.attemptDeadline ?? '180s'}`,
        update('--attempt-deadline=1800s'),
      ],
      [
        token.serviceAccountEmail === account,
        `calls as ${token.serviceAccountEmail ?? 'nobody'}`,
        update(`--oidc-service-account-email=${account}`),
      ],
      [
        token.audience === audience,
        `its tokens are for ${token.audience}, the function wants ${audience}`,
        update(`--oidc-token-audience=${audience}`),
      ],
    ]);
  };
  return [judgeAnswer(check, answer, { missing: 'mayfly deploy', judge })];
}
