// A push as it goes over the wire: wrapped, with both spellings of every name, or the data alone.
import type { Context, PushEvent } from '#scripts/local-cloud/call.ts';
import { type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import type { HeldMessage, PushTarget, Subscription } from '#scripts/local-cloud/pubsub/state.ts';

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
