// Bucket notifications: an object's change becomes a message on every topic whose configuration asks
// for it; late, twice or not at all, as the world's options say, and never in a promised order.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  empty,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import {
  asArray,
  asObject,
  asString,
  asStringMap,
  type JsonObject,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import { publishUnreliably } from '#scripts/local-cloud/pubsub/delivery.ts';
import { findBucket } from '#scripts/local-cloud/storage/conditions.ts';
import {
  type Bucket,
  type NotificationConfig,
  objectResource,
  type StoredObject,
} from '#scripts/local-cloud/storage/state.ts';

export type ObjectEvent = 'OBJECT_FINALIZE' | 'OBJECT_DELETE' | 'OBJECT_METADATA_UPDATE';

/** `other` is the object that took the place, or whose place was taken. */
export function notifyChange(
  context: Context,
  bucket: Bucket,
  eventType: ObjectEvent,
  object: StoredObject,
  other?: StoredObject | undefined,
): void {
  for (const config of bucket.notifications) {
    const asked = config.eventTypes.length === 0 || config.eventTypes.includes(eventType);
    if (asked && object.name.startsWith(config.objectNamePrefix)) {
      const attributes = attributesOf(context, bucket, config, eventType, object);
      if (other !== undefined) {
        const finalize = eventType === 'OBJECT_FINALIZE';
        attributes[finalize ? 'overwroteGeneration' : 'overwrittenByGeneration'] = String(
          other.generation,
        );
      }
      send(context, config, attributes, payloadOf(context, bucket, config, object));
    }
  }
}

function attributesOf(
  context: Context,
  bucket: Bucket,
  config: NotificationConfig,
  eventType: ObjectEvent,
  object: StoredObject,
): Record<string, string> {
  return {
    notificationConfig: `projects/_/buckets/${bucket.name}/notificationConfigs/${config.id}`,
    eventType,
    payloadFormat: config.payloadFormat,
    bucketId: bucket.name,
    objectId: object.name,
    objectGeneration: String(object.generation),
    eventTime: timestamp(context.nowMs),
    ...config.customAttributes,
  };
}

function payloadOf(
  context: Context,
  bucket: Bucket,
  config: NotificationConfig,
  object: StoredObject,
): Uint8Array {
  return config.payloadFormat === 'NONE'
    ? new Uint8Array()
    : Buffer.from(JSON.stringify(objectResource(context.world, bucket.name, object)));
}

function send(
  context: Context,
  config: NotificationConfig,
  attributes: Readonly<Record<string, string>>,
  data: Uint8Array,
): void {
  const { storage } = context.world.options;
  publishUnreliably(
    context,
    config.topic,
    { data, attributes },
    {
      delayMs: storage.notificationDelayMs,
      spreadMs: storage.notificationSpreadMs,
      loss: storage.notificationLoss,
      duplication: storage.notificationDuplication,
    },
  );
}

function configResource(bucket: Bucket, config: NotificationConfig): JsonObject {
  return {
    kind: 'storage#notification',
    id: config.id,
    selfLink: `/b/${bucket.name}/notificationConfigs/${config.id}`,
    topic: `//pubsub.googleapis.com/${config.topic}`,
    event_types: [...config.eventTypes],
    object_name_prefix: config.objectNamePrefix,
    payload_format: config.payloadFormat,
    custom_attributes: { ...config.customAttributes },
  };
}

function insertConfig(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const body = asObject(call.body);
  const topic = (asString(body.topic) ?? '').replace(/^\/\/pubsub\.googleapis\.com\//, '');
  if (!context.world.pubsub.topics.has(topic)) {
    return refuse(400, 'invalid', `Invalid argument: the topic ${topic} does not exist.`);
  }
  context.world.storage.notificationsMade += 1;
  const config: NotificationConfig = {
    id: String(context.world.storage.notificationsMade),
    topic,
    eventTypes: asArray(body.event_types).filter((type) => typeof type === 'string'),
    objectNamePrefix: asString(body.object_name_prefix) ?? '',
    payloadFormat: body.payload_format === 'NONE' ? 'NONE' : 'JSON_API_V1',
    customAttributes: asStringMap(body.custom_attributes),
  };
  found.value.notifications.push(config);
  found.value.metageneration += 1;
  return ok(configResource(found.value, config));
}

function listConfigs(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const items = found.value.notifications.map((config) => configResource(found.value, config));
  return ok({ kind: 'storage#notifications', items });
}

function deleteConfig(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const { notifications } = found.value;
  const index = notifications.findIndex(({ id }) => id === call.params.notification);
  if (index < 0) {
    return refuse(404, 'notFound', `There is no notification ${call.params.notification}.`);
  }
  notifications.splice(index, 1);
  return empty(204);
}

export const notificationMethods: Methods = {
  'storage.notifications.insert': insertConfig,
  'storage.notifications.list': listConfigs,
  'storage.notifications.delete': deleteConfig,
};
