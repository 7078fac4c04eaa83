// Opens a Pub/Sub push body: wrapped or unwrapped, camel or snake names, with or without data, or the
// same inside a CloudEvent. The subscription is compared before anything else of the body is looked
// at. What cannot be read is a value with a reason, for a dead letter; nothing here throws.
import * as z from 'zod';
import type { PushHeaders } from '#shared/push/authenticate.ts';
import { takeEventOff } from '#shared/push/cloud-event.ts';
import { isUnwrapped, openUnwrapped, unwrappedSubscription } from '#shared/push/unwrapped.ts';
import { firstFault, openWrapped, unreadable } from '#shared/push/wrapped.ts';

export interface PushMessage {
  readonly messageId: string;
  /** Decoded; empty when the message had attributes only. */
  readonly data: Uint8Array;
  readonly attributes: Readonly<Record<string, string>>;
  readonly publishTimeMs: number | null;
  /** `projects/P/subscriptions/S`, where the push says it. */
  readonly subscription: string | null;
  readonly deliveryAttempt: number | null;
}

export interface Unreadable {
  readonly kind: 'unreadable';
  /** One sentence for a person: what is wrong, and where. */
  readonly reason: string;
  /** Where the envelope said one that can be used. */
  readonly messageId: string | null;
}

export type Envelope =
  | { readonly kind: 'message'; readonly message: PushMessage }
  | Unreadable
  /** Of a subscription that is not in the settings, or of none while the settings name some. */
  | { readonly kind: 'foreign'; readonly subscription: string | null };

const attempt = z.number().int().positive().nullish().catch(null);
const pushShape = z.object({
  message: z.unknown().optional(),
  subscription: z.string().nullish().catch(null),
  deliveryAttempt: attempt,
  delivery_attempt: attempt,
});

/**
 * Opens the body of one push.
 *
 * @param body the raw bytes of the request
 * @param headers of the same request, lower-case names
 * @param subscriptions accepted ones, full or short names; null accepts any
 * @see https://cloud.google.com/pubsub/docs/push and …/payload-unwrapping
 */
export function openEnvelope(
  body: Uint8Array,
  headers: PushHeaders,
  subscriptions: readonly string[] | null = null,
): Envelope {
  if (isUnwrapped(headers)) {
    const subscription = unwrappedSubscription(headers);
    if (!isAccepted(subscription, subscriptions)) return { kind: 'foreign', subscription };
    return openUnwrapped(body, headers);
  }
  const parsed = parseJson(body);
  if (parsed.kind === 'unreadable') return parsed;
  const event = takeEventOff(parsed.value, headers);
  if (event.kind === 'unreadable') return event;
  const push = pushShape.safeParse(event.data);
  if (!push.success) return unreadable(`push body: ${firstFault(push.error)}`, event.eventId);
  const subscription = push.data.subscription ?? null;
  if (!isAccepted(subscription, subscriptions)) return { kind: 'foreign', subscription };
  const deliveryAttempt = push.data.deliveryAttempt ?? push.data.delivery_attempt ?? null;
  return openWrapped(push.data.message, { subscription, deliveryAttempt }, event.eventId);
}

function isAccepted(subscription: string | null, accepted: readonly string[] | null): boolean {
  if (accepted === null) return true;
  if (subscription === null) return false;
  const shortName = subscription.split('/').at(-1) ?? '';
  return accepted.includes(subscription) || accepted.includes(shortName);
}

function parseJson(body: Uint8Array): { kind: 'parsed'; value: unknown } | Unreadable {
  // The parsers' own messages quote the body, which has no place in a log.
  const reason = (what: string) =>
    unreadable(`push body: not ${what} (${body.length} bytes)`, null);
  let text: string;
  try {
    // Drops a byte order mark.
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return reason('UTF-8');
  }
  try {
    return { kind: 'parsed', value: JSON.parse(text) };
  } catch {
    return reason('JSON');
  }
}
