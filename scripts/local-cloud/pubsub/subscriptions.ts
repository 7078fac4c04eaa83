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
  copyJson,
  lastPart,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import type { Subscription } from '#scripts/local-cloud/pubsub/state.ts';
import { readSubscription } from '#scripts/local-cloud/pubsub/subscription-config.ts';
import { checkShortName } from '#scripts/local-cloud/pubsub/topics.ts';

const PULL_MESSAGES_MAX = 1000;
const ACK_DEADLINE_SECONDS_MAX = 600;

/** `params.subscription` is the full name, or the short one beside `params.project`. */
const nameIn = ({ project = '', subscription = '' }: Call['params']) =>
  subscription.includes('/') ? subscription : `projects/${project}/subscriptions/${subscription}`;

function createSubscription(context: Context, call: Call): Reply {
  const name = nameIn(call.params);
  const { subscriptions, topics } = context.world.pubsub;
  const refusal =
    denied(context, call.principal, 'pubsub.subscriptions.create', name) ??
    checkShortName('subscriptions', lastPart(name));
  if (refusal !== null || subscriptions.has(name)) {
    return refusal ?? refuseRpc(409, `Resource already exists in the project (resource=${name}).`);
  }
  const read = readSubscription(context, name, asObject(call.body));
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
  context.world.project.policies.delete(found.name);
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
    const { id, data, attributes, orderingKey, publishMs } = held.message;
    return {
      ackId: id,
      message: {
        messageId: id,
        publishTime: timestamp(publishMs),
        data: Buffer.from(data).toString('base64'),
        attributes: { ...attributes },
        ...(orderingKey === '' ? {} : { orderingKey }),
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

/** 0 seconds: given out again at once. */
function modifyAckDeadline(context: Context, call: Call): Reply {
  const found = findSubscription(context, call, 'consume');
  if ('headers' in found) {
    return found;
  }
  const body = asObject(call.body);
  const seconds = asNumber(body.ackDeadlineSeconds) ?? 0;
  if (seconds < 0 || seconds > ACK_DEADLINE_SECONDS_MAX) {
    return refuseRpc(400, `Invalid ack deadline given: ${seconds}. It is 0 to 600 seconds.`);
  }
  for (const id of asArray(body.ackIds)) {
    const held = found.backlog.get(String(id));
    if (held !== undefined) held.leasedUntilMs = context.nowMs + seconds * 1000;
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
  'pubsub.subscriptions.modifyAckDeadline': modifyAckDeadline,
};
