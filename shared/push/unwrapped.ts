// The message of a push without wrapper and with metadata: the body is the data, `x-goog-pubsub-…`
// headers are the metadata, and every attribute is a header of its own name.
import type { PushHeaders } from '#shared/push/authenticate.ts';
import type { Envelope } from '#shared/push/envelope.ts';
import { parseTime, unreadable, usableId } from '#shared/push/wrapped.ts';

const METADATA_PREFIX = 'x-goog-pubsub-';

/** Header names lose their case on the way; these attributes, which we look at, get it back. */
const ATTRIBUTE_NAMES = new Map(
  [
    ...['bucketId', 'objectId', 'objectGeneration', 'eventType', 'eventTime', 'payloadFormat'],
    ...['notificationConfig', 'overwroteGeneration', 'overwrittenByGeneration'],
    ...['CloudPubSubDeadLetterSourceDeliveryCount', 'CloudPubSubDeadLetterSourceSubscription'],
    ...['CloudPubSubDeadLetterSourceSubscriptionProject'],
    ...['CloudPubSubDeadLetterSourceTopicPublishTime'],
  ].map((name) => [name.toLowerCase(), name]),
);

/** Headers of the transport and of the way here, which are no attributes. */
const TRANSPORT_HEADERS = new Set([
  ...['accept', 'accept-encoding', 'authorization', 'connection', 'content-length'],
  ...['content-type', 'expect', 'forwarded', 'from', 'host', 'transfer-encoding', 'user-agent'],
  ...['traceparent', 'tracestate', 'via'],
]);

/** True when the push says its message's id in a header. */
export function isUnwrapped(headers: PushHeaders): boolean {
  return headers[`${METADATA_PREFIX}message-id`] !== undefined;
}

export function unwrappedSubscription(headers: PushHeaders): string | null {
  const name = headers[`${METADATA_PREFIX}subscription-name`];
  return typeof name === 'string' ? name : null;
}

/** Opens a push of which `isUnwrapped` is true. */
export function openUnwrapped(body: Uint8Array, headers: PushHeaders): Envelope {
  const messageId = usableId(headers[`${METADATA_PREFIX}message-id`]);
  if (messageId === null) return unreadable(`${METADATA_PREFIX}message-id: not usable`, null);
  const publishTime = headers[`${METADATA_PREFIX}publish-time`];
  const message = {
    messageId,
    data: body,
    attributes: attributesOf(headers),
    publishTimeMs: parseTime(typeof publishTime === 'string' ? publishTime : null),
    subscription: unwrappedSubscription(headers),
    deliveryAttempt: null,
  };
  return { kind: 'message', message };
}

function attributesOf(headers: PushHeaders): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string' || name.startsWith('x-') || TRANSPORT_HEADERS.has(name)) continue;
    attributes[ATTRIBUTE_NAMES.get(name) ?? name] = value;
  }
  return attributes;
}
