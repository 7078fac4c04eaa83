// Lays one deployment out in the local cloud, as Terraform does in the real one: bucket, topics, push
// subscriptions with their policies, bucket notifications by prefix, the log sink, the sweep's job.
// Everything goes through Google's REST paths, so that the same calls would do it there.
import { completionFilter, taskEventFilter } from '#functions/signals/job-entry.ts';
import { signalFilter } from '#functions/signals/signal.ts';
import {
  ACK_DEADLINE_SECONDS,
  DELIVERY_ATTEMPTS_MAX,
  type FunctionName,
  NOTIFICATIONS,
  RETRY_POLICY,
  SUBSCRIPTIONS,
  type Subscription,
  SWEEP_SCHEDULE,
  TOPICS,
} from '#scripts/local-cloud/deployment/inventory.ts';
import { lifetimesOf } from '#scripts/local-cloud/deployment/lifetimes.ts';
import { type SetUpCall, send } from '#scripts/local-cloud/deployment/set-up-call.ts';
import { type JobDefinition, jobDefinitions } from '#shared/plan/jobs-inventory.ts';
import type { PlanSettings } from '#shared/plan/model.ts';
import { DEPLOYMENT_OBJECT } from '#shared/plan/objects.ts';

export interface LocalDeployment {
  /** Of the local cloud; no trailing slash. */
  readonly baseUrl: string;
  /** Of the broker, where that is not the local cloud. */
  readonly pubsubUrl?: string;
  readonly project: string;
  readonly bucket: string;
  readonly deployment: string;
  /** The settings that its functions are given: which Jobs there are follows from them. */
  readonly plan: PlanSettings;
  /** The account of every execution. */
  readonly taskAccount: string;
  /** Of bucket and scheduler job. */
  readonly region: string;
  /** The account that pushes speak for, and what their tokens are meant for. */
  readonly pushAccount: string;
  readonly audience: string;
  /** Of the objects of a run; 30 unless given. */
  readonly retentionDays?: number;
  /** Base URLs of the running functions; no trailing slash. */
  readonly functionUrls: Readonly<Record<FunctionName, string>>;
}

/** Everything that a deployment needs, in the order in which it can be made. */
export function setUpCalls(deployment: LocalDeployment): SetUpCall[] {
  const { project, bucket, deployment: name, region, retentionDays = 30 } = deployment;
  const bucketBody = {
    name: bucket,
    location: region,
    iamConfiguration: { uniformBucketLevelAccess: { enabled: true } },
    softDeletePolicy: { retentionDurationSeconds: '0' },
    versioning: { enabled: false },
    lifecycle: { rule: lifecycleRules(retentionDays) },
  };
  return [
    { verb: 'POST', path: `/storage/v1/b?project=${project}`, body: bucketBody },
    uploadCall(bucket, DEPLOYMENT_OBJECT, name),
    ...topicCalls(deployment),
    ...SUBSCRIPTIONS.map((subscription) => subscriptionCall(deployment, subscription)),
    ...NOTIFICATIONS.map(({ prefix, topic }) => ({
      verb: 'POST' as const,
      path: `/storage/v1/b/${bucket}/notificationConfigs`,
      body: {
        topic: `//pubsub.googleapis.com/${topicName(deployment, topic)}`,
        payload_format: 'JSON_API_V1',
        event_types: ['OBJECT_FINALIZE'],
        object_name_prefix: prefix,
      },
    })),
    ...sinkCalls(deployment),
    ...deployment.plan.regions.flatMap((place) =>
      jobDefinitions(deployment.plan, place).map((job) => jobCall(deployment, place, job)),
    ),
    sweepJobCall(deployment),
  ];
}

const lifecycleRules = (retentionDays: number) =>
  lifetimesOf(retentionDays).map(({ days, prefixes }) => ({
    action: { type: 'Delete' },
    condition: { age: days, matchesPrefix: prefixes },
  }));

/** Makes it all; throws with the service's own words when something is refused. */
export async function layOutDeployment(
  deployment: LocalDeployment,
  more: readonly SetUpCall[] = [],
): Promise<void> {
  for (const call of [...setUpCalls(deployment), ...more]) await send(deployment.baseUrl, call);
}

/** Publishes a request as any publisher would, and gives the message's id. */
export async function publish(deployment: LocalDeployment, text: string): Promise<string> {
  const path = `/v1/${topicName(deployment, 'run-requests')}:publish`;
  const messages = [{ data: Buffer.from(text).toString('base64') }];
  const { pubsubUrl = deployment.baseUrl } = deployment;
  const reply = await send(pubsubUrl, { verb: 'POST', path, body: { messages } });
  const [id] = (JSON.parse(reply) as { messageIds?: readonly string[] }).messageIds ?? [];
  if (id === undefined) throw new Error(`${path} gave no message id`);
  return id;
}

/** The full name of the scheduler job that sweeps. */
export function sweepJobName({
  project,
  region,
  deployment,
}: Pick<LocalDeployment, 'project' | 'region' | 'deployment'>): string {
  return `projects/${project}/locations/${region}/jobs/${deployment}-sweep`;
}

/** Stores bytes under a name of the deployment's bucket, whatever stood there. */
export async function putObject(
  { baseUrl, bucket }: Pick<LocalDeployment, 'baseUrl' | 'bucket'>,
  name: string,
  bytes: Uint8Array | string,
): Promise<void> {
  await send(baseUrl, uploadCall(bucket, name, bytes));
}

function uploadCall(bucket: string, name: string, body: Uint8Array | string): SetUpCall {
  const query = `uploadType=media&name=${encodeURIComponent(name)}`;
  return { verb: 'POST', path: `/upload/storage/v1/b/${bucket}/o?${query}`, body };
}

export function topicCalls(deployment: LocalDeployment): SetUpCall[] {
  return TOPICS.map((topic) => {
    return { verb: 'PUT', path: `/v1/${topicName(deployment, topic)}`, body: {} };
  });
}

/** The body is JSON; its `pushConfig.pushEndpoint` is the function's URL. */
export function subscriptionCall(deployment: LocalDeployment, subscription: Subscription) {
  const { project, deployment: name, functionUrls } = deployment;
  const { pushAccount: serviceAccountEmail, audience } = deployment;
  const body = {
    topic: topicName(deployment, subscription.topic),
    ackDeadlineSeconds: ACK_DEADLINE_SECONDS,
    messageRetentionDuration: `${subscription.retentionSeconds}s`,
    expirationPolicy: {},
    retryPolicy: RETRY_POLICY,
    pushConfig: {
      pushEndpoint: `${functionUrls[subscription.function]}${subscription.path}`,
      oidcToken: { serviceAccountEmail, audience },
    },
    ...(subscription.deadLetters ? { deadLetterPolicy: deadLetters(deployment) } : {}),
  };
  const path = `/v1/projects/${project}/subscriptions/${name}-${subscription.name}`;
  return { verb: 'PUT' as const, path, body };
}

function deadLetters(deployment: LocalDeployment) {
  const deadLetterTopic = topicName(deployment, 'dead');
  return { deadLetterTopic, maxDeliveryAttempts: DELIVERY_ATTEMPTS_MAX };
}

/** What the logs tell of the deployment's machines, tasks and executions comes to `run-signals`. */
function sinkCalls(deployment: LocalDeployment): SetUpCall[] {
  const { project, deployment: name, plan } = deployment;
  const filters = {
    signals: signalFilter(name),
    'task-events': taskEventFilter(plan),
    executions: completionFilter(plan),
  };
  return Object.entries(filters).map(([what, filter]) => ({
    verb: 'POST',
    path: `/v2/projects/${project}/sinks?uniqueWriterIdentity=true`,
    body: {
      name: `${name}-${what}`,
      destination: `pubsub.googleapis.com/${topicName(deployment, 'run-signals')}`,
      filter,
    },
  }));
}

/** Its image is a name alone: here the supervisor is started as a program. */
function jobCall(
  { project, taskAccount }: LocalDeployment,
  region: string,
  job: JobDefinition,
): SetUpCall {
  const container = {
    image: `mayfly.local/jobs/${job.base}`,
    resources: { limits: job.limits },
    env: Object.entries(job.env).map(([name, value]) => ({ name, value })),
  };
  const template = {
    containers: [container],
    maxRetries: job.maxRetries,
    timeout: `${job.timeoutSeconds}s`,
    serviceAccount: taskAccount,
    executionEnvironment: job.executionEnvironment,
    ...(job.nodeSelector === null ? {} : { nodeSelector: job.nodeSelector }),
    ...(job.gpuZonalRedundancyDisabled ? { gpuZonalRedundancyDisabled: true } : {}),
  };
  const path = `/v2/projects/${project}/locations/${region}/jobs?jobId=${job.name}`;
  return { verb: 'POST', path, body: { template: { template } } };
}

function sweepJobCall(deployment: LocalDeployment): SetUpCall {
  const { project, region, functionUrls } = deployment;
  const { pushAccount: serviceAccountEmail, audience } = deployment;
  const body = {
    name: sweepJobName(deployment),
    schedule: SWEEP_SCHEDULE,
    timeZone: 'Etc/UTC',
    attemptDeadline: '1800s',
    httpTarget: {
      uri: `${functionUrls.sweep}/`,
      httpMethod: 'POST',
      oidcToken: { serviceAccountEmail, audience },
    },
  };
  return { verb: 'POST', path: `/v1/projects/${project}/locations/${region}/jobs`, body };
}

function topicName({ project, deployment }: LocalDeployment, topic: string): string {
  return `projects/${project}/topics/${deployment}-${topic}`;
}
