// An event line of a task: what its supervisor prints, and `signals` reads after the log brought it.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Event numbers of task i begin at `taskSequence(i, 0)`, so that those of all tasks are told apart. */
export const taskSequence = (task: number, n: number) => task * 1_000_000 + n;

export const EVENT_KINDS = [
  'claimed',
  'running',
  'heartbeat',
  'progress',
  'checkpoint',
  'restored',
  'stopping',
  'ended',
] as const;

export interface TaskEvent {
  readonly runId: string;
  readonly attempt: number;
  readonly task: number;
  /** Unique within the attempt. */
  readonly seq: number;
  readonly kind: (typeof EVENT_KINDS)[number];
  readonly atMs: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The line's field `mayfly_event`: a text, because Cloud Logging keeps texts and nothing else as it is. */
export interface SignedEvent {
  readonly payload: string;
  /** HMAC-SHA256 of the payload, lower-case hex. */
  readonly hmac: string;
}

const macOf = (key: string, payload: string) =>
  createHmac('sha256', Buffer.from(key, 'hex')).update(payload).digest();

export function signEvent(key: string, event: TaskEvent): SignedEvent {
  const payload = JSON.stringify(event);
  return { payload, hmac: macOf(key, payload).toString('hex') };
}

export function isGenuine(key: string, { payload, hmac }: SignedEvent): boolean {
  const given = Buffer.from(hmac, 'hex');
  const right = macOf(key, payload);
  return given.length === right.length && timingSafeEqual(given, right);
}
