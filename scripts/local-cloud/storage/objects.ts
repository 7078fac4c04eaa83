// Reading, deleting and patching Cloud Storage objects.
import {
  type Call,
  type Context,
  empty,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { asObject } from '#scripts/local-cloud/json.ts';
import { findObject, tooSoon, unmetCondition } from '#scripts/local-cloud/storage/conditions.ts';
import { mediaReply } from '#scripts/local-cloud/storage/media.ts';
import { notifyChange } from '#scripts/local-cloud/storage/notifications.ts';
import { objectResource } from '#scripts/local-cloud/storage/state.ts';
import { settingsOf } from '#scripts/local-cloud/storage/writes.ts';

/** The resource, or with `alt=media` the content. */
export function getObject(context: Context, call: Call): Reply {
  const found = findObject(context, call, 'storage.objects.get');
  if ('refusal' in found) {
    return found.refusal;
  }
  const { bucket, object } = found;
  return (
    unmetCondition(call.params, object, false) ??
    (call.params.alt === 'media'
      ? mediaReply(object, call.params)
      : ok(objectResource(context.world, bucket.name, object)))
  );
}

/** The object, if it may be changed now. */
function findToChange(
  context: Context,
  call: Call,
  permission: string,
): ReturnType<typeof findObject> {
  const found = findObject(context, call, permission);
  if ('refusal' in found) {
    return found;
  }
  const { bucket, object } = found;
  const refusal =
    unmetCondition(call.params, object, true) ?? tooSoon(context, bucket, object.name);
  return refusal === null ? found : { refusal };
}

export function deleteObject(context: Context, call: Call): Reply {
  const found = findToChange(context, call, 'storage.objects.delete');
  if ('refusal' in found) {
    return found.refusal;
  }
  const { bucket, object } = found;
  bucket.objects.delete(object.name);
  bucket.changedMs.set(object.name, context.nowMs);
  notifyChange(context, bucket, 'OBJECT_DELETE', object, undefined);
  return empty(204);
}

function patchObject(context: Context, call: Call): Reply {
  const found = findToChange(context, call, 'storage.objects.update');
  if ('refusal' in found) {
    return found.refusal;
  }
  const { bucket, object } = found;
  object.settings = { ...object.settings, ...settingsOf(asObject(call.body)) };
  object.metageneration += 1;
  object.updatedMs = context.nowMs;
  bucket.changedMs.set(object.name, context.nowMs);
  notifyChange(context, bucket, 'OBJECT_METADATA_UPDATE', object, undefined);
  return ok(objectResource(context.world, bucket.name, object));
}

export const objectMethods: Methods = {
  'storage.objects.get': getObject,
  'storage.objects.delete': deleteObject,
  'storage.objects.patch': patchObject,
};
