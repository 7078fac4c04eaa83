// Pub/Sub topics: create, get, list, delete, publish.
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
  asObject,
  asString,
  asStringMap,
  copyJson,
  type JsonObject,
  lastPart,
} from '#scripts/local-cloud/json.ts';
import { publishMessage } from '#scripts/local-cloud/pubsub/delivery.ts';
import type { NewMessage } from '#scripts/local-cloud/pubsub/state.ts';

const SHORT_NAME = /^(?!goog)[a-zA-Z][-a-zA-Z0-9._~%+]{2,254}$/;
const MESSAGE_BYTES_MAX = 10_000_000;
const ATTRIBUTES_MAX = 100;
const ATTRIBUTE_KEY_BYTES_MAX = 256;
const ATTRIBUTE_VALUE_BYTES_MAX = 1024;

/** `params.topic` is the full name, or the short one beside `params.project`. */
const topicName = ({ project = '', topic = '' }: Call['params']) =>
  topic.includes('/') ? topic : `projects/${project}/topics/${topic}`;

/** The refusal of a short name of a topic or subscription. */
export function checkShortName(kind: string, name: string): Reply | null {
  return SHORT_NAME.test(name)
    ? null
    : refuseRpc(
        400,
        `Invalid resource name given (name=${kind}/${name}). Names have 3 to 255 characters and start with a letter.`,
      );
}

const noTopic = (name: string) => refuseRpc(404, `Resource not found (resource=${name}).`);

function createTopic(context: Context, call: Call): Reply {
  const name = topicName(call.params);
  const { topics } = context.world.pubsub;
  const refusal =
    denied(context, call.principal, 'pubsub.topics.create', name) ??
    checkShortName('topics', lastPart(name));
  if (refusal !== null || topics.has(name)) {
    return refusal ?? refuseRpc(409, `Resource already exists in the project (resource=${name}).`);
  }
  const resource: JsonObject = { ...copyJson(asObject(call.body)), name };
  topics.set(name, resource);
  return ok({ ...resource });
}

function getTopic(context: Context, call: Call): Reply {
  const name = topicName(call.params);
  const topic = context.world.pubsub.topics.get(name);
  return (
    denied(context, call.principal, 'pubsub.topics.get', name) ??
    (topic === undefined ? noTopic(name) : ok(copyJson(topic)))
  );
}

function listTopics(context: Context, call: Call): Reply {
  const path = `projects/${call.params.project}`;
  const topics = [...context.world.pubsub.topics.entries()]
    .filter(([name]) => name.startsWith(`${path}/`))
    .map(([, resource]) => copyJson(resource));
  return denied(context, call.principal, 'pubsub.topics.list', path) ?? ok({ topics });
}

function deleteTopic(context: Context, call: Call): Reply {
  const name = topicName(call.params);
  const refusal = denied(context, call.principal, 'pubsub.topics.delete', name);
  if (refusal !== null) {
    return refusal;
  }
  context.world.project.policies.delete(name);
  return context.world.pubsub.topics.delete(name) ? ok({}) : noTopic(name);
}

/** `data` is base64 over HTTP and bytes inside the process. */
function readMessage(value: unknown): NewMessage | string {
  const { data: sent, attributes: pairs, orderingKey } = asObject(value);
  const data =
    sent instanceof Uint8Array ? sent.slice() : Buffer.from(asString(sent) ?? '', 'base64');
  const attributes = asStringMap(pairs);
  const entries = Object.entries(attributes);
  if (data.length === 0 && entries.length === 0) {
    return 'Some messages are empty: a message needs data or at least one attribute.';
  }
  if (data.length > MESSAGE_BYTES_MAX || entries.length > ATTRIBUTES_MAX) {
    return `A message has at most ${MESSAGE_BYTES_MAX} bytes and ${ATTRIBUTES_MAX} attributes.`;
  }
  for (const [key, text] of entries) {
    const keyBytes = Buffer.byteLength(key);
    const valueBytes = Buffer.byteLength(text);
    // Google's own client libraries carry their traces in `googclient_…`.
    if (keyBytes === 0 || keyBytes > ATTRIBUTE_KEY_BYTES_MAX || /^goog(?!client_)/.test(key)) {
      return `The attribute key ${key} must have 1 to 256 bytes and not begin with goog.`;
    }
    if (valueBytes > ATTRIBUTE_VALUE_BYTES_MAX) {
      return `The value of attribute ${key} has more than ${ATTRIBUTE_VALUE_BYTES_MAX} bytes.`;
    }
  }
  return { data, attributes, orderingKey: asString(orderingKey) ?? '' };
}

function publish(context: Context, call: Call): Reply {
  const name = topicName(call.params);
  const refusal = denied(context, call.principal, 'pubsub.topics.publish', name);
  if (refusal !== null) {
    return refusal;
  }
  if (!context.world.pubsub.topics.has(name)) {
    return noTopic(name);
  }
  const { emulator } = context.world.options.pubsub;
  if (emulator !== null) {
    return refuseRpc(400, `The broker is the emulator: publish at ${emulator}.`);
  }
  const messages = asArray(asObject(call.body).messages).map(readMessage);
  const fault = messages.find((message) => typeof message === 'string');
  if (fault !== undefined || messages.length === 0) {
    return refuseRpc(400, String(fault ?? 'The value for message_count is too small.'));
  }
  const messageIds = messages.map((message) =>
    typeof message === 'string' ? '' : publishMessage(context, name, message),
  );
  return ok({ messageIds });
}

export const topicMethods: Methods = {
  'pubsub.topics.create': createTopic,
  'pubsub.topics.get': getTopic,
  'pubsub.topics.list': listTopics,
  'pubsub.topics.delete': deleteTopic,
  'pubsub.topics.publish': publish,
};
