// Pub/Sub subscriptions: create, get, list, delete, and for people and tests pull and acknowledge.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  copyJson,
  durationMs,
  lastPart,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import { checkShortName } from '#scripts/local-cloud/pubsub.ts';
import { compileAttributeFilter } from '#scripts/local-cloud/pubsub-filter.ts';
import type { PushTarget, Subscription } from '#scripts/local-cloud/pubsub-state.ts';

const ACK_DEADLINE_SECONDS_DEFAULT = 10;
const RETENTION_MS_DEFAULT = 7 * 86_400_000;
const RETENTION_MS_MAX = 31 * 86_400_000;
const BACKOFF_MS_MAX = 600_000;
const PULL_MESSAGES_MAX = 1000;

/** `params.subscription` is the full name, or the short one beside `params.project`. */
const nameIn = ({ project = '', subscription = '' }: Call['params']) =>
  subscription.includes('/') ? subscription : `projects/${project}/subscriptions/${subscription}`;

function readPush(value: unknown): PushTarget | null {
  const config = asObject(value);
  const endpoint = asString(config.pushEndpoint);
  if (endpoint === undefined) {
    return null;
  }
  const { serviceAccountEmail, audience } = asObject(config.oidcToken);
  const unwrapped = config.noWrapper !== undefined && config.noWrapper !== null;
  return {
    endpoint,
    email: asString(serviceAccountEmail) ?? null,
    audience: asString(audience) ?? endpoint,
    unwrapped,
    writeMetadata: asObject(config.noWrapper).writeMetadata === true,
  };
}

/** The subscription that a body describes, or what is wrong with it. */
function readSubscription(context: Context, call: Call): Subscription | string {
  const body = asObject(call.body);
  const topic = asString(body.topic) ?? '';
  const seconds = asNumber(body.ackDeadlineSeconds) ?? ACK_DEADLINE_SECONDS_DEFAULT;
  const retentionMs = durationMs(body.messageRetentionDuration) ?? RETENTION_MS_DEFAULT;
  const retry = readRetry(body.retryPolicy);
  const deadLetter = readDeadLetter(context, body.deadLetterPolicy);
  const matches = compileAttributeFilter(asString(body.filter) ?? '');
  if (seconds !== 0 && (seconds < 10 || seconds > 600)) {
    return `Invalid ack deadline given: ${seconds}. It is 10 to 600 seconds.`;
  }
  if (retentionMs < 600_000 || retentionMs > RETENTION_MS_MAX) {
    return 'messageRetentionDuration is 10 minutes to 31 days.';
  }
  if (typeof retry === 'string' || typeof deadLetter === 'string' || typeof matches === 'string') {
    return [retry, deadLetter, matches].find((part) => typeof part === 'string') ?? '';
  }
  return {
    name: nameIn(call.params),
    topic,
    push: readPush(body.pushConfig),
    ackDeadlineMs: (seconds === 0 ? ACK_DEADLINE_SECONDS_DEFAULT : seconds) * 1000,
    retry,
    deadLetter,
    retentionMs,
    matches,
    resource: { ...copyJson(body), name: nameIn(call.params), state: 'ACTIVE' },
    backlog: new Map(),
    failuresInARow: 0,
  };
}

function readRetry(value: unknown): Subscription['retry'] | string {
  if (value === undefined || value === null) {
    return null;
  }
  const { minimumBackoff, maximumBackoff } = asObject(value);
  const minMs = durationMs(minimumBackoff) ?? 10_000;
  const maxMs = durationMs(maximumBackoff) ?? BACKOFF_MS_MAX;
  return maxMs <= BACKOFF_MS_MAX && minMs <= maxMs
    ? { minMs, maxMs }
    : 'Back-offs are 0 to 600 seconds, and the minimum is not above the maximum.';
}

function readDeadLetter(context: Context, value: unknown): Subscription['deadLetter'] | string {
  if (value === undefined || value === null) {
    return null;
  }
  const { deadLetterTopic, maxDeliveryAttempts } = asObject(value);
  const topic = asString(deadLetterTopic) ?? '';
  const attemptsMax = asNumber(maxDeliveryAttempts) ?? 5;
  if (!context.world.pubsub.topics.has(topic)) {
    return `The dead letter topic ${topic} does not exist.`;
  }
  return attemptsMax >= 5 && attemptsMax <= 100
    ? { topic, attemptsMax }
    : `maxDeliveryAttempts is 5 to 100, not ${attemptsMax}.`;
}

function createSubscription(context: Context, call: Call): Reply {
  const name = nameIn(call.params);
  const { subscriptions, topics } = context.world.pubsub;
  const refusal =
    denied(context, call.principal, 'pubsub.subscriptions.create', name) ??
    checkShortName('subscriptions', lastPart(name));
  if (refusal !== null || subscriptions.has(name)) {
    return refusal ?? refuseRpc(409, `Resource already exists in the project (resource=${name}).`);
  }
  const read = readSubscription(context, call);
  if (typeof read === 'string') {
    return refuseRpc(400, read);
  }
  if (!topics.has(read.topic)) {
    return refuseRpc(404, `Resource not found (resource=${read.topic}).`);
  }
  subscriptions.set(name, read);
  return ok(copyJson(read.resource));
}

function findSubscription(context: Context, call: Call, verb: string): Subscription | Reply {
  const name = nameIn(call.params);
  return (
    denied(context, call.principal, `pubsub.subscriptions.${verb}`, name) ??
    context.world.pubsub.subscriptions.get(name) ??
    refuseRpc(404, `Resource not found (resource=${name}).`)
  );
}

function getSubscription(context: Context, call: Call): Reply {
  const found = findSubscription(context, call, 'get');
  return 'headers' in found ? found : ok(copyJson(found.resource));
}

function deleteSubscription(context: Context, call: Call): Reply {
  const found = findSubscription(context, call, 'delete');
  if ('headers' in found) {
    return found;
  }
  context.world.pubsub.subscriptions.delete(found.name);
  return ok({});
}

function listSubscriptions(context: Context, call: Call): Reply {
  const path = `projects/${call.params.project}`;
  const subscriptions = [...context.world.pubsub.subscriptions.values()]
    .filter(({ name }) => name.startsWith(`${path}/`))
    .map(({ resource }) => copyJson(resource));
  return (
    denied(context, call.principal, 'pubsub.subscriptions.list', path) ?? ok({ subscriptions })
  );
}

function pull(context: Context, call: Call): Reply {
  const found = findSubscription(context, call, 'consume');
  if ('headers' in found) {
    return found;
  }
  const wanted = asNumber(asObject(call.body).maxMessages) ?? PULL_MESSAGES_MAX;
  const ready = [...found.backlog.values()]
    .filter(({ leasedUntilMs }) => leasedUntilMs <= context.nowMs)
    .slice(0, wanted);
  const receivedMessages = ready.map((held) => {
    held.deliveries += 1;
    held.leasedUntilMs = context.nowMs + found.ackDeadlineMs;
    const { id, data, attributes, publishMs } = held.message;
    return {
      ackId: id,
      message: {
        messageId: id,
        publishTime: timestamp(publishMs),
        data: Buffer.from(data).toString('base64'),
        attributes: { ...attributes },
      },
    };
  });
  return ok(receivedMessages.length === 0 ? {} : { receivedMessages });
}

function acknowledge(context: Context, call: Call): Reply {
  const found = findSubscription(context, call, 'consume');
  if ('headers' in found) {
    return found;
  }
  for (const id of asArray(asObject(call.body).ackIds)) {
    found.backlog.delete(String(id));
  }
  return ok({});
}

export const subscriptionMethods: Methods = {
  'pubsub.subscriptions.create': createSubscription,
  'pubsub.subscriptions.get': getSubscription,
  'pubsub.subscriptions.list': listSubscriptions,
  'pubsub.subscriptions.delete': deleteSubscription,
  'pubsub.subscriptions.pull': pull,
  'pubsub.subscriptions.acknowledge': acknowledge,
};
