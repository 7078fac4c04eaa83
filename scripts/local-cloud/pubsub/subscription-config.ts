// A subscription's configuration as the API takes it, with the documented bounds.
import type { Context } from '#scripts/local-cloud/call.ts';
import {
  asNumber,
  asObject,
  asString,
  copyJson,
  durationMs,
  type JsonObject,
} from '#scripts/local-cloud/json.ts';
import { compileAttributeFilter } from '#scripts/local-cloud/pubsub/filter.ts';
import type { PushTarget, Subscription } from '#scripts/local-cloud/pubsub/state.ts';

const ACK_DEADLINE_SECONDS_DEFAULT = 10;
const RETENTION_MS_DEFAULT = 7 * 86_400_000;
const RETENTION_MS_MAX = 31 * 86_400_000;
const BACKOFF_MS_MAX = 600_000;

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
export function readSubscription(
  context: Context,
  name: string,
  body: JsonObject,
): Subscription | string {
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
    name,
    topic,
    push: readPush(body.pushConfig),
    ackDeadlineMs: (seconds === 0 ? ACK_DEADLINE_SECONDS_DEFAULT : seconds) * 1000,
    retry,
    deadLetter,
    retentionMs,
    matches,
    resource: { ...copyJson(body), name, state: 'ACTIVE' },
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
