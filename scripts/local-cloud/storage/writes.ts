// Writing Cloud Storage objects: insert, rewrite and copy, with preconditions, the limit of one change a
// second for each name, checksums as given by the caller, and notifications.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, copyJson, type JsonObject } from '#scripts/local-cloud/json.ts';
import {
  findBucket,
  findObject,
  objectPath,
  tooSoon,
  unmetCondition,
} from '#scripts/local-cloud/storage/conditions.ts';
import { crc32cText } from '#scripts/local-cloud/storage/crc32c.ts';
import { notifyChange } from '#scripts/local-cloud/storage/notifications.ts';
import {
  type Bucket,
  md5Text,
  nextGeneration,
  objectResource,
  type StoredObject,
} from '#scripts/local-cloud/storage/state.ts';

interface NewContent {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly resource: JsonObject;
}

/** Fields of the resource that a caller may set and that mean nothing to the world. */
const SETTINGS = [
  'metadata',
  'cacheControl',
  'contentDisposition',
  'contentLanguage',
  'customTime',
];

export function settingsOf(resource: JsonObject): JsonObject {
  const settings: JsonObject = {};
  for (const field of SETTINGS) {
    if (resource[field] !== undefined && resource[field] !== null) {
      settings[field] = copyJson(resource[field]);
    }
  }
  return settings;
}

/** What may forbid writing that name: rights (overwriting needs the right to delete), conditions, rate. */
function forbidWrite(context: Context, call: Call, bucket: Bucket, name: string): Reply | null {
  const existing = bucket.objects.get(name);
  const path = objectPath(bucket.name, name);
  const { principal } = call;
  const { conditionsBeforeRights } = context.world.options.storage;
  return (
    denied(context, principal, 'storage.objects.create', path) ??
    (conditionsBeforeRights ? unmetCondition(call.params, existing, true) : null) ??
    (existing && denied(context, principal, 'storage.objects.delete', path)) ??
    unmetCondition(call.params, existing, true) ??
    tooSoon(context, bucket, name)
  );
}

function checksumMismatch({ resource, bytes }: NewContent): Reply | null {
  const crc = asString(resource.crc32c);
  const md5 = asString(resource.md5Hash);
  if (crc !== undefined && crc !== crc32cText(bytes)) {
    return refuse(400, 'invalid', `Provided CRC32C "${crc}" doesn't match the calculated CRC32C.`);
  }
  if (md5 !== undefined && md5 !== md5Text(bytes)) {
    return refuse(400, 'invalid', `Provided MD5 hash "${md5}" doesn't match the calculated hash.`);
  }
  return null;
}

function store(context: Context, bucket: Bucket, content: NewContent): StoredObject {
  const { name, resource } = content;
  const previous = bucket.objects.get(name);
  const object: StoredObject = {
    name,
    generation: nextGeneration(context.world, context.nowMs),
    metageneration: 1,
    bytes: content.bytes.slice(),
    contentType: asString(resource.contentType),
    contentEncoding: asString(resource.contentEncoding),
    settings: settingsOf(resource),
    createdMs: context.nowMs,
    updatedMs: context.nowMs,
  };
  bucket.objects.set(name, object);
  bucket.changedMs.set(name, context.nowMs);
  notifyChange(context, bucket, 'OBJECT_FINALIZE', object, previous);
  if (previous !== undefined) {
    notifyChange(context, bucket, 'OBJECT_DELETE', previous, object);
  }
  return object;
}

function write(context: Context, call: Call, content: NewContent): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  if (content.name === '' || Buffer.byteLength(content.name) > 1024) {
    return refuse(400, 'required', 'Required: an object name of 1 to 1024 bytes.', 'name');
  }
  const refusal =
    forbidWrite(context, call, found.value, content.name) ?? checksumMismatch(content);
  if (refusal !== null) {
    return refusal;
  }
  const object = store(context, found.value, content);
  return ok(objectResource(context.world, found.value.name, object));
}

/** Stores one object. The body is `{ bytes, metadata }`; `name` may also stand in the query. */
export function insertObject(context: Context, call: Call): Reply {
  const body = asObject(call.body);
  const resource = { ...asObject(body.metadata) };
  resource.contentEncoding = call.params.contentEncoding ?? resource.contentEncoding;
  return write(context, call, {
    name: call.params.name ?? call.params.object ?? asString(resource.name) ?? '',
    bytes: body.bytes instanceof Uint8Array ? body.bytes : new Uint8Array(),
    resource,
  });
}

/** Copies within the world in one go; the caller's metadata replaces the source's when given. */
function copyObject(context: Context, call: Call): Reply {
  const source = findObject(context, copySource(call), 'storage.objects.get');
  if ('refusal' in source) {
    return source.refusal;
  }
  const { bytes, contentType, contentEncoding, settings } = source.object;
  const kept = { contentType, contentEncoding, ...settings };
  const resource = call.body === undefined ? kept : { ...kept, ...asObject(call.body) };
  const { destinationBucket = '', destinationObject: name = '' } = call.params;
  const target = { ...call, params: { ...call.params, bucket: destinationBucket } };
  return write(context, target, { name, bytes, resource });
}

function copySource(call: Call): Call {
  const { sourceBucket = '', sourceObject = '', sourceGeneration } = call.params;
  const params: Record<string, string> = { bucket: sourceBucket, object: sourceObject };
  if (sourceGeneration !== undefined) {
    params.generation = sourceGeneration;
  }
  return { ...call, params };
}

function rewriteObject(context: Context, call: Call): Reply {
  const reply = copyObject(context, call);
  if (reply.status !== 200) {
    return reply;
  }
  const size = reply.body?.size;
  return ok({
    kind: 'storage#rewriteResponse',
    totalBytesRewritten: size,
    objectSize: size,
    done: true,
    resource: reply.body,
  });
}

export const writeMethods: Methods = {
  'storage.objects.insert': insertObject,
  'storage.objects.copy': copyObject,
  'storage.objects.rewrite': rewriteObject,
};
