// Takes the CloudEvent off a request, where there is one: structured mode (the whole event is the
// body) or binary mode (`ce-` headers, the body is its data).
import * as z from 'zod';
import type { PushHeaders } from '#shared/push/authenticate.ts';
import type { Unreadable } from '#shared/push/envelope.ts';
import { firstFault, unreadable, usableId } from '#shared/push/wrapped.ts';

export interface EventData {
  readonly kind: 'data';
  readonly data: unknown;
  /** The event's id, which is the message's; null when there was no event around it. */
  readonly eventId: string | null;
}

const PUBLISHED = 'google.cloud.pubsub.topic.v1.messagePublished';

const eventShape = z.object({ type: z.string(), id: z.string().nullish(), data: z.unknown() });

/** Gives the data of the event, or the parsed body itself when it is no event. */
export function takeEventOff(body: unknown, headers: PushHeaders): EventData | Unreadable {
  const binaryType = headers['ce-type'];
  const isStructured = /^application\/cloudevents\+json\b/i.test(String(headers['content-type']));
  if (!isStructured && binaryType === undefined) return { kind: 'data', data: body, eventId: null };
  const event = eventShape.safeParse(
    isStructured ? body : { type: binaryType, id: headers['ce-id'], data: body },
  );
  if (!event.success) return unreadable(`not a CloudEvent: ${firstFault(event.error)}`, null);
  const eventId = usableId(event.data.id);
  if (event.data.type === PUBLISHED) return { kind: 'data', data: event.data.data, eventId };
  const type = JSON.stringify(event.data.type.slice(0, 200));
  return unreadable(`CloudEvent of type ${type}, expected ${PUBLISHED}`, eventId);
}
