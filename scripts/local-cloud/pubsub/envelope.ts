// A push as it goes over the wire: wrapped, with both spellings of every name, or the data alone; and a
// message on its way to the emulator that is the broker here.
import type { Context, PushEvent } from '#scripts/local-cloud/call.ts';
import { type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import type {
  HeldMessage,
  Message,
  PushTarget,
  Subscription,
} from '#scripts/local-cloud/pubsub/state.ts';

const PUBLISH_TIMEOUT_MS = 30_000;

export function pushEvent(
  context: Context,
  subscription: Subscription,
  target: PushTarget,
  held: HeldMessage,
  deliveryId: string,
): PushEvent {
  const { email, audience } = target;
  return {
    kind: 'push',
    source: 'pubsub',
    deliveryId,
    origin: subscription.name,
    method: 'POST',
    url: target.endpoint,
    headers: target.unwrapped
      ? unwrappedHeaders(subscription, target, held)
      : { 'content-type': 'application/json' },
    body: target.unwrapped ? held.message.data.slice() : wrappedBody(subscription, held),
    token: email === null ? null : { email, audience },
    sentMs: context.nowMs,
    timeoutMs: subscription.ackDeadlineMs,
  };
}

/** Keys that have nothing to say are absent, as from the real service. */
function wrappedBody(subscription: Subscription, held: HeldMessage): JsonObject {
  const { id, data, attributes, orderingKey, publishMs } = held.message;
  const message: JsonObject = {
    messageId: id,
    message_id: id,
    publishTime: timestamp(publishMs),
    publish_time: timestamp(publishMs),
  };
  if (data.length > 0) {
    message.data = Buffer.from(data).toString('base64');
  }
  if (Object.keys(attributes).length > 0) {
    message.attributes = { ...attributes };
  }
  if (orderingKey !== '') {
    message.orderingKey = orderingKey;
  }
  const body: JsonObject = { message, subscription: subscription.name };
  if (subscription.deadLetter !== null) {
    body.deliveryAttempt = held.deliveries;
  }
  return body;
}

function unwrappedHeaders(
  subscription: Subscription,
  { writeMetadata }: PushTarget,
  held: HeldMessage,
): Readonly<Record<string, string>> {
  if (!writeMetadata) {
    return { 'content-type': 'application/octet-stream' };
  }
  const { id, attributes, orderingKey, publishMs } = held.message;
  return {
    'content-type': 'application/octet-stream',
    'x-goog-pubsub-subscription-name': subscription.name,
    'x-goog-pubsub-message-id': id,
    'x-goog-pubsub-publish-time': timestamp(publishMs),
    ...(orderingKey === '' ? {} : { 'x-goog-pubsub-ordering-key': orderingKey }),
    ...(subscription.deadLetter === null
      ? {}
      : { 'x-goog-pubsub-delivery-attempt': String(held.deliveries) }),
    ...attributes,
  };
}

/** `projects.topics.publish` of one message, as the service that tells it would call it. */
export function publishEvent(
  { nowMs }: Context,
  topic: string,
  { id, data, attributes, orderingKey }: Message,
  emulator: string,
): PushEvent {
  const message: JsonObject = { data: Buffer.from(data).toString('base64'), attributes };
  if (orderingKey !== '') {
    message.orderingKey = orderingKey;
  }
  return {
    kind: 'push',
    source: 'publisher',
    deliveryId: `publish-${id}`,
    origin: topic,
    method: 'POST',
    url: `${emulator}/v1/${topic}:publish`,
    headers: { 'content-type': 'application/json' },
    body: { messages: [message] },
    token: null,
    sentMs: nowMs,
    timeoutMs: PUBLISH_TIMEOUT_MS,
  };
}
