// A message's way through its subscriptions: publish, push, acknowledge or fail, wait, push again, and
// in the end retention or the dead-letter topic.
import type { Context } from '#scripts/local-cloud/call.ts';
import type { DispatchOptions } from '#scripts/local-cloud/options.ts';
import { publishEvent, pushEvent } from '#scripts/local-cloud/pubsub/envelope.ts';
import type {
  HeldMessage,
  Message,
  NewMessage,
  Subscription,
} from '#scripts/local-cloud/pubsub/state.ts';

/** The documented list; every other code, 203, 206 and redirects too, is a refusal. */
const ACKNOWLEDGING = new Set([102, 200, 201, 202, 204]);

const PUSH_BACKOFF_MIN_MS = 100;
const PUSH_BACKOFF_MAX_MS = 60_000;

/** Gives every matching subscription of the topic its copy, and the message its id; or all to the emulator. */
export function publishMessage(context: Context, topic: string, content: NewMessage): string {
  const { pubsub, options } = context.world;
  pubsub.messagesMade += 1;
  const message: Message = {
    id: String(1_000_000_000_000_000 + pubsub.messagesMade),
    data: content.data,
    attributes: content.attributes,
    orderingKey: content.orderingKey ?? '',
    publishMs: context.nowMs,
  };
  const { emulator } = options.pubsub;
  if (emulator !== null) {
    context.emit(publishEvent(context, topic, message, emulator));
    return message.id;
  }
  for (const subscription of pubsub.subscriptions.values()) {
    if (subscription.topic === topic && subscription.matches(message.attributes)) {
      const held = { message, deliveries: 0, failures: 0, leasedUntilMs: 0 };
      subscription.backlog.set(message.id, held);
      planDelivery(context, subscription, message.id, options.pubsub.deliveryMs);
    }
  }
  return message.id;
}

/** Publishes what a service tells by itself: late, twice or never, and in no promised order. */
export function publishUnreliably(
  context: Context,
  topic: string,
  content: NewMessage,
  { delayMs, spreadMs, loss, duplication }: DispatchOptions,
): void {
  const { random } = context.world;
  if (random.chance(loss)) {
    return;
  }
  const copies = random.chance(duplication) ? 2 : 1;
  for (let copy = 0; copy < copies; copy += 1) {
    const spread = spreadMs > 0 ? random.below(spreadMs + 1) : 0;
    schedulePublish(context, topic, content, context.nowMs + delayMs + spread);
  }
}

function schedulePublish(
  context: Context,
  topic: string,
  content: NewMessage,
  dueMs: number,
): void {
  const { pubsub, timers } = context.world;
  pubsub.messagesMade += 1;
  const key = `pending-${pubsub.messagesMade}`;
  pubsub.pending.set(key, content);
  timers.add(dueMs, { kind: 'notify', topic, message: key });
}

export function publishPending(context: Context, topic: string, key: string): void {
  const { pending, topics } = context.world.pubsub;
  const content = pending.get(key);
  pending.delete(key);
  if (content !== undefined && topics.has(topic)) {
    publishMessage(context, topic, content);
  }
}

function planDelivery(
  context: Context,
  subscription: Subscription,
  message: string,
  delayMs: number,
): void {
  context.world.timers.add(context.nowMs + delayMs, {
    kind: 'deliver',
    subscription: subscription.name,
    message,
  });
}

/** Pushes one message now, unless it is acknowledged, too old, or to be pulled. */
export function deliver(context: Context, name: string, messageId: string): void {
  const { pubsub, timers } = context.world;
  const subscription = pubsub.subscriptions.get(name);
  const held = subscription?.backlog.get(messageId);
  if (subscription === undefined || held === undefined || subscription.push === null) {
    return;
  }
  if (context.nowMs - held.message.publishMs >= subscription.retentionMs) {
    subscription.backlog.delete(messageId);
    return;
  }
  held.deliveries += 1;
  pubsub.deliveriesMade += 1;
  const delivery = {
    id: `delivery-${pubsub.deliveriesMade}`,
    subscription: name,
    message: messageId,
  };
  pubsub.deliveries.set(delivery.id, delivery);
  timers.add(context.nowMs + subscription.ackDeadlineMs, {
    kind: 'delivery-deadline',
    delivery: delivery.id,
  });
  context.emit(pushEvent(context, subscription, subscription.push, held, delivery.id));
}

/** No answer within the acknowledgement deadline: a refusal, while the first copy may still be at work. */
export function expireDelivery(context: Context, id: string): void {
  settleDelivery(context, id, 0);
}

/**
 * What a push came back with; 0 for no answer. A result after the deadline changes nothing. Returns
 * false when no such delivery is open.
 */
export function settleDelivery(context: Context, id: string, status: number): boolean {
  const { pubsub, options, random } = context.world;
  const delivery = pubsub.deliveries.get(id);
  const subscription = pubsub.subscriptions.get(delivery?.subscription ?? '');
  pubsub.deliveries.delete(id);
  const held = subscription?.backlog.get(delivery?.message ?? '');
  if (delivery === undefined || subscription === undefined || held === undefined) {
    return delivery !== undefined;
  }
  if (!ACKNOWLEDGING.has(status)) {
    refuseDelivery(context, subscription, held);
    return true;
  }
  subscription.failuresInARow = 0;
  if (random.chance(options.pubsub.duplication)) {
    planDelivery(context, subscription, delivery.message, options.pubsub.deliveryMs);
  } else {
    subscription.backlog.delete(delivery.message);
  }
  return true;
}

function refuseDelivery(context: Context, subscription: Subscription, held: HeldMessage): void {
  held.failures += 1;
  subscription.failuresInARow += 1;
  const { deadLetter } = subscription;
  if (deadLetter !== null && held.deliveries >= deadLetter.attemptsMax) {
    subscription.backlog.delete(held.message.id);
    publishMessage(context, deadLetter.topic, deadLetterOf(subscription, held));
  } else {
    planDelivery(context, subscription, held.message.id, backoffMs(subscription, held));
  }
}

function deadLetterOf({ name }: Subscription, { message, deliveries }: HeldMessage): NewMessage {
  const [, project = '', , short = ''] = name.split('/');
  const attributes = {
    ...message.attributes,
    CloudPubSubDeadLetterSourceDeliveryCount: String(deliveries),
    CloudPubSubDeadLetterSourceSubscription: short,
    CloudPubSubDeadLetterSourceSubscriptionProject: project,
    CloudPubSubDeadLetterSourceTopicPublishTime: new Date(message.publishMs).toISOString(),
  };
  return { data: message.data, attributes, orderingKey: message.orderingKey };
}

/** With a retry policy per message and exponential; without one the whole subscription slows down. */
function backoffMs({ retry, failuresInARow }: Subscription, { failures }: HeldMessage): number {
  if (retry === null) {
    return Math.min(PUSH_BACKOFF_MAX_MS, PUSH_BACKOFF_MIN_MS * 2 ** (failuresInARow - 1));
  }
  const grown = failures === 1 ? retry.minMs : Math.max(retry.minMs, 100) * 2 ** (failures - 1);
  return Math.min(retry.maxMs, grown);
}
