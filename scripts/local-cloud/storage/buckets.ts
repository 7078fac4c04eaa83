// Buckets: get and list; creation for people who try the local cloud by hand.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asString, type JsonObject } from '#scripts/local-cloud/json.ts';
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
  const name = asString(asObject(call.body).name) ?? '';
  const { buckets } = context.world.storage;
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(name)) {
    return refuse(400, 'invalid', `Invalid bucket name: '${name}'`);
  }
  if (buckets.has(name)) {
    return refuse(409, 'conflict', 'Your previous request to create the named bucket succeeded.');
  }
  const bucket = createBucket(name);
  buckets.set(name, bucket);
  return ok(bucketResource(context.world, bucket));
}

export const bucketMethods: Methods = {
  'storage.buckets.get': getBucket,
  'storage.buckets.list': listBuckets,
  'storage.buckets.insert': insertBucket,
};
