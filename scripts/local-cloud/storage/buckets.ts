// Buckets: create, get, list, patch, delete. What their settings say is shown, and not carried out: there
// are no versions, nothing is kept after a delete, and no rule deletes by age.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  empty,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, copyJson, type JsonObject } from '#scripts/local-cloud/json.ts';
import { findBucket } from '#scripts/local-cloud/storage/conditions.ts';
import { type Bucket, createBucket } from '#scripts/local-cloud/storage/state.ts';
import type { World } from '#scripts/local-cloud/world.ts';

function bucketResource(world: World, bucket: Bucket): JsonObject {
  return {
    kind: 'storage#bucket',
    id: bucket.name,
    name: bucket.name,
    selfLink: `${world.baseUrl}/storage/v1/b/${bucket.name}`,
    projectNumber: world.options.compute.projectNumber,
    location: 'US-CENTRAL1',
    locationType: 'region',
    storageClass: 'STANDARD',
    metageneration: String(bucket.metageneration),
    etag: Buffer.from(String(bucket.metageneration)).toString('base64'),
    timeCreated: '2026-01-01T00:00:00.000Z',
    updated: '2026-01-01T00:00:00.000Z',
    softDeletePolicy: { retentionDurationSeconds: '0' },
    iamConfiguration: { uniformBucketLevelAccess: { enabled: true } },
    ...copyJson(bucket.settings),
  };
}

function getBucket(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const path = `projects/_/buckets/${found.value.name}`;
  return (
    denied(context, call.principal, 'storage.buckets.get', path) ??
    ok(bucketResource(context.world, found.value))
  );
}

function listBuckets(context: Context, call: Call): Reply {
  const buckets = [...context.world.storage.buckets.values()];
  const { prefix = '' } = call.params;
  return (
    denied(context, call.principal, 'storage.buckets.list', 'projects/_/buckets/') ??
    ok({
      kind: 'storage#buckets',
      items: buckets
        .filter(({ name }) => name.startsWith(prefix))
        .map((bucket) => bucketResource(context.world, bucket)),
    })
  );
}

function insertBucket(context: Context, call: Call): Reply {
  const { name: asked, ...settings } = copyJson(asObject(call.body));
  const name = asString(asked) ?? '';
  const { buckets } = context.world.storage;
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(name)) {
    return refuse(400, 'invalid', `Invalid bucket name: '${name}'`);
  }
  if (buckets.has(name)) {
    return refuse(409, 'conflict', 'Your previous request to create the named bucket succeeded.');
  }
  const bucket = createBucket(name);
  bucket.settings = settings;
  buckets.set(name, bucket);
  return ok(bucketResource(context.world, bucket));
}

/** A field that is sent takes the old one's place; null takes it away. */
function patchBucket(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const bucket = found.value;
  const path = `projects/_/buckets/${bucket.name}`;
  const refusal = denied(context, call.principal, 'storage.buckets.update', path);
  if (refusal !== null) {
    return refusal;
  }
  const merged = { ...bucket.settings, ...copyJson(asObject(call.body)) };
  const kept = Object.entries(merged).filter(([, value]) => value !== null);
  bucket.settings = Object.fromEntries(kept);
  bucket.metageneration += 1;
  return ok(bucketResource(context.world, bucket));
}

function deleteBucket(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const { name, objects } = found.value;
  const path = `projects/_/buckets/${name}`;
  const refusal = denied(context, call.principal, 'storage.buckets.delete', path);
  if (refusal !== null || objects.size > 0) {
    return refusal ?? refuse(409, 'conflict', 'The bucket you tried to delete is not empty.');
  }
  context.world.storage.buckets.delete(name);
  return empty(204);
}

export const bucketMethods: Methods = {
  'storage.buckets.get': getBucket,
  'storage.buckets.list': listBuckets,
  'storage.buckets.insert': insertBucket,
  'storage.buckets.patch': patchBucket,
  'storage.buckets.delete': deleteBucket,
};
