// An event line of a task: what its supervisor prints, and `signals` reads after the log brought it.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isRunId } from '#shared/plan/run-id.ts';

const NUMBERS_A_TASK = 1_000_000;

/** Event numbers of task i begin at `taskSequence(i, 0)`, so that those of all tasks are told apart. */
export const taskSequence = (task: number, n: number) => task * NUMBERS_A_TASK + n;

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

/** An event as its payload says it, whoever has written that; null when it is none. */
export function readTaskEvent(payload: string): TaskEvent | null {
  let value: Partial<Record<keyof TaskEvent, unknown>> | null;
  try {
    value = JSON.parse(payload);
  } catch {
    return null;
  }
  const { runId, attempt, task, seq, kind, atMs, data } = value ?? {};
  const known = EVENT_KINDS.find((name) => name === kind);
  if (!isRunId(runId) || !isCount(attempt) || attempt === 0 || known === undefined) return null;
  if (!isCount(task) || !isCount(seq) || Math.floor(seq / NUMBERS_A_TASK) !== task) return null;
  if (!isCount(atMs) || typeof data !== 'object' || data === null || Array.isArray(data))
    return null;
  return { runId, attempt, task, seq, kind: known, atMs, data: data as TaskEvent['data'] };
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
