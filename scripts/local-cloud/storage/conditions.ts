// What stands between a call and an object: the bucket, the caller's rights, the preconditions, and the
// limit of one change a second for each object name.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Call, Context, Reply } from '#scripts/local-cloud/call.ts';
import { denied, isAllowed } from '#scripts/local-cloud/iam.ts';
import type { Bucket, StoredObject } from '#scripts/local-cloud/storage/state.ts';

export const objectPath = (bucket: string, name: string) =>
  `projects/_/buckets/${bucket}/objects/${name}`;

interface Refused {
  readonly refusal: Reply;
}

export function findBucket(
  context: Context,
  name: string | undefined,
): { readonly value: Bucket } | Refused {
  const bucket = context.world.storage.buckets.get(name ?? '');
  if (bucket === undefined) {
    return { refusal: refuse(404, 'notFound', 'The specified bucket does not exist.') };
  }
  if (!bucket.available) {
    return { refusal: refuse(503, 'backendError', `Bucket ${bucket.name} is not available.`) };
  }
  return { value: bucket };
}

/** The object that a call names, if it is there at the call's `generation` and may be touched. */
export function findObject(
  context: Context,
  call: Call,
  permission: string,
): { readonly bucket: Bucket; readonly object: StoredObject } | Refused {
  const found = findBucket(context, call.params.bucket);
  if ('refusal' in found) {
    return found;
  }
  const bucket = found.value;
  const { object: name = '', generation } = call.params;
  const path = objectPath(bucket.name, name);
  const refusal = denied(context, call.principal, permission, path);
  if (refusal !== null) {
    return { refusal };
  }
  const object = bucket.objects.get(name);
  if (object !== undefined && (generation ?? `${object.generation}`) === `${object.generation}`) {
    return { bucket, object };
  }
  const hidden =
    context.world.options.storage.hideMissingObjects &&
    !isAllowed(context, call.principal, 'storage.objects.list', path);
  return {
    refusal: hidden
      ? refuse(403, 'forbidden', `${call.principal} may not see ${path} (or it may not exist).`)
      : refuse(404, 'notFound', `No such object: ${bucket.name}/${name}`),
  };
}

const failed = (name: string) =>
  refuse(
    412,
    'conditionNotMet',
    'At least one of the pre-conditions you specified did not hold.',
    name,
  );

/**
 * The answer to preconditions that do not hold, or null: 412 for `…Match`, 304 for `…NotMatch` of a
 * read and 412 for those of a change. Generation 0 stands for no object.
 */
export function unmetCondition(
  params: Call['params'],
  object: StoredObject | undefined,
  change: boolean,
): Reply | null {
  const generation = String(object?.generation ?? 0);
  const metageneration = String(object?.metageneration ?? 0);
  if ((params.ifGenerationMatch ?? generation) !== generation) {
    return failed('If-Match');
  }
  if ((params.ifMetagenerationMatch ?? metageneration) !== metageneration) {
    return failed('If-Match');
  }
  if (
    params.ifGenerationNotMatch === generation ||
    params.ifMetagenerationNotMatch === metageneration
  ) {
    return change ? failed('If-None-Match') : { status: 304, headers: {} };
  }
  return null;
}

/** 429 when the name was changed less than the smallest gap ago. */
export function tooSoon(context: Context, bucket: Bucket, name: string): Reply | null {
  const gapMs = context.world.options.storage.objectWriteGapMs;
  const last = bucket.changedMs.get(name);
  if (gapMs === 0 || last === undefined || context.nowMs - last >= gapMs) {
    return null;
  }
  return refuse(
    429,
    'rateLimitExceeded',
    `The object ${bucket.name}/${name} exceeded the rate limit for object mutation operations (create, update, and delete). Please reduce your request rate.`,
  );
}
