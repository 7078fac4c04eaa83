// The message inside a wrapped push: `{ data, attributes, messageId, publishTime }`, in the names of
// the JSON API or of the protocol buffer; the real service sends both, emulators one of them.
import * as z from 'zod';
import { decodeBase64 } from '#shared/push/base64.ts';
import type { Envelope, PushMessage, Unreadable } from '#shared/push/envelope.ts';
import { MESSAGE_ID_PATTERN } from '#shared/push/limits.ts';

const text = z.string().nullish();
const messageShape = z.object({
  data: text,
  attributes: z.record(z.string(), z.string()).nullish(),
  messageId: text,
  message_id: text,
  publishTime: text,
  publish_time: text,
});

/** Opens the value of `message`; `eventId` stands in for a missing message id. */
export function openWrapped(
  value: unknown,
  push: Pick<PushMessage, 'subscription' | 'deliveryAttempt'>,
  eventId: string | null,
): Envelope {
  const messageId = idOf(value) ?? eventId;
  const parsed = messageShape.safeParse(value);
  if (!parsed.success) return unreadable(`push message: ${firstFault(parsed.error)}`, messageId);
  if (messageId === null) return unreadable('push message: no usable messageId', null);
  const data = decodeBase64(parsed.data.data ?? '');
  if (data === null) return unreadable('push message: data is not base64', messageId);
  const attributes = parsed.data.attributes ?? {};
  const publishTimeMs = parseTime(parsed.data.publishTime ?? parsed.data.publish_time);
  return { kind: 'message', message: { messageId, data, attributes, publishTimeMs, ...push } };
}

function idOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const camel = 'messageId' in value ? usableId(value.messageId) : null;
  return camel ?? ('message_id' in value ? usableId(value.message_id) : null);
}

/** An id becomes part of an object's name, so only plain ones are taken. */
export function usableId(value: unknown): string | null {
  return typeof value === 'string' && MESSAGE_ID_PATTERN.test(value) ? value : null;
}

/** RFC 3339 to epoch milliseconds; null when absent or unreadable: nothing depends on it. */
export function parseTime(value: string | null | undefined): number | null {
  const ms = Date.parse(value ?? '');
  return Number.isNaN(ms) ? null : ms;
}

/** `message.data: Invalid input: expected string, received number`. */
export function firstFault(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'unknown fault';
  return issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`;
}

export function unreadable(reason: string, messageId: string | null): Unreadable {
  return { kind: 'unreadable', reason, messageId };
}
