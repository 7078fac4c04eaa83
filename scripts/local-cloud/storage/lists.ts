// Listing objects: in the order of their UTF-8 names, by prefix and delimiter, page by page.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { rememberLast } from '#scripts/local-cloud/counted-map.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import { findBucket, objectPath } from '#scripts/local-cloud/storage/conditions.ts';
import {
  type Bucket,
  objectResource,
  type StoredObject,
} from '#scripts/local-cloud/storage/state.ts';

const PAGE_MAX = 1000;

const ASCII = /^[\x20-\x7e]*$/;

function byName(left: string, right: string): number {
  // For ASCII the order of the units is that of the bytes.
  if (ASCII.test(left) && ASCII.test(right)) return left < right ? -1 : Number(left > right);
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

/** One entry of a listing: an object, or a folder that stands for all names below it. */
interface Entry {
  readonly key: string;
  readonly object: StoredObject | null;
}

/** In order; kept until the bucket changes, because a listing comes page by page. */
const entriesOf = rememberLast((objects: Bucket['objects'], about: string): readonly Entry[] => {
  const { prefix, delimiter } = JSON.parse(about) as { prefix: string; delimiter?: string };
  const entries = new Map<string, Entry>();
  for (const [name, object] of objects) {
    if (!name.startsWith(prefix)) {
      continue;
    }
    const cut = delimiter ? name.indexOf(delimiter, prefix.length) : -1;
    const folder = delimiter && cut >= 0 ? name.slice(0, cut + delimiter.length) : null;
    const key = folder ?? name;
    entries.set(key, { key, object: folder === null ? object : null });
  }
  return [...entries.values()].sort((left, right) => byName(left.key, right.key));
});

function pageSize(maxResults: string | undefined): number {
  const wanted = Number(maxResults ?? PAGE_MAX);
  return Number.isInteger(wanted) && wanted > 0 ? Math.min(wanted, PAGE_MAX) : PAGE_MAX;
}

const tokenOf = (key: string) => Buffer.from(key).toString('base64');
const keyOf = (token: string) => Buffer.from(token, 'base64').toString();

function listObjects(context: Context, call: Call): Reply {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found.refusal;
  }
  const bucket = found.value;
  const { prefix = '', delimiter, pageToken, startOffset, endOffset } = call.params;
  const path = objectPath(bucket.name, prefix);
  const refusal = denied(context, call.principal, 'storage.objects.list', path);
  if (refusal !== null) {
    return refusal;
  }
  const after = pageToken === undefined ? null : keyOf(pageToken);
  if (pageToken !== undefined && tokenOf(after ?? '') !== pageToken) {
    return refuse(400, 'invalid', `Invalid page token: ${pageToken}`, 'pageToken');
  }
  const entries = entriesOf(bucket.objects, JSON.stringify({ prefix, delimiter }));
  const rest = entries.filter(
    ({ key }) =>
      (after === null || byName(key, after) > 0) &&
      (startOffset === undefined || byName(key, startOffset) >= 0) &&
      (endOffset === undefined || byName(key, endOffset) < 0),
  );
  return ok(listBody(context, bucket, rest, pageSize(call.params.maxResults)));
}

function listBody(
  context: Context,
  bucket: Bucket,
  rest: readonly Entry[],
  size: number,
): JsonObject {
  const page = rest.slice(0, size);
  const body: JsonObject = { kind: 'storage#objects' };
  const last = page.at(-1);
  if (rest.length > page.length && last !== undefined) {
    body.nextPageToken = tokenOf(last.key);
  }
  const folders = page.filter(({ object }) => object === null).map(({ key }) => key);
  if (folders.length > 0) {
    body.prefixes = folders;
  }
  const items = page.flatMap(({ object }) =>
    object === null ? [] : [objectResource(context.world, bucket.name, object)],
  );
  if (items.length > 0) {
    body.items = items;
  }
  return body;
}

export const objectListMethods: Methods = { 'storage.objects.list': listObjects };
