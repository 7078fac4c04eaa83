// A bucket notification: from the message's attributes alone (payload NONE), or from its JSON payload.
import type { PushMessage } from '#shared/push/envelope.ts';

export type Notification =
  | {
      readonly kind: 'notification';
      readonly bucket: string;
      readonly object: string;
      /** Decimal digits; empty when the message names none: the live object is meant. */
      readonly generation: string;
      readonly eventType: string;
    }
  | { readonly kind: 'foreign'; readonly reason: string };

export function readNotification(message: PushMessage): Notification {
  const { bucketId, objectId, objectGeneration, eventType } = message.attributes;
  if (!bucketId || !objectId) {
    return { kind: 'foreign', reason: 'no bucket notification: bucketId or objectId is missing' };
  }
  if (objectGeneration !== undefined && !/^\d{1,20}$/.test(objectGeneration)) {
    return { kind: 'foreign', reason: `objectGeneration ${objectGeneration} is not a number` };
  }
  return {
    kind: 'notification',
    bucket: bucketId,
    object: objectId,
    generation: objectGeneration ?? '',
    eventType: eventType ?? 'OBJECT_FINALIZE',
  };
}
