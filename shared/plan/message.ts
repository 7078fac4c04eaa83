// What a message of `run-requests` is: bytes → JSON, and JSON → a request, a cancel or a look.
// Pure; what cannot be read comes back with one sentence for the dead letter.
import { type Broken, fault, fieldPath } from '#shared/plan/fault.ts';
import { firstNonJson } from '#shared/plan/json-position.ts';
import { JSON_DEPTH_MAX, MESSAGE_BYTES_MAX } from '#shared/plan/limits.ts';
import type { Fault } from '#shared/plan/model.ts';
import { isRunId, RUN_ID_RULE } from '#shared/plan/run-id.ts';

export type ParsedText =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'unreadable'; readonly reason: string };

export type Message =
  | { readonly kind: 'request'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'cancel'; readonly runId: string; readonly reason: string | null }
  | { readonly kind: 'look'; readonly runId: string; readonly intent: number }
  | { readonly kind: 'invalid'; readonly runId: string | null; readonly faults: readonly Fault[] };

const unreadable = (reason: string): ParsedText => ({ kind: 'unreadable', reason });

/**
 * Reads a message's bytes as JSON: UTF-8 alone, with or without a byte order mark. The reason of a
 * refusal says what is wrong and where, with a hint when a shell seems to have eaten the quotes.
 */
export function parseJsonText(bytes: Uint8Array): ParsedText {
  if (bytes.length > MESSAGE_BYTES_MAX) {
    return unreadable(
      `the message has ${bytes.length} bytes, more than the ${MESSAGE_BYTES_MAX} that are accepted`,
    );
  }
  const utf16 = utf16Name(bytes);
  if (utf16 !== null) return unreadable(`the message is ${utf16}; save or send it as UTF-8`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return unreadable('the message is not valid UTF-8');
  }
  if (text.trim() === '') return unreadable('the message has no data; a JSON object was expected');
  return parseText(text);
}

function parseText(text: string): ParsedText {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unreadable(syntaxReason(text));
  }
  if (deeperThan(value, JSON_DEPTH_MAX)) {
    return unreadable(`the message is nested deeper than ${JSON_DEPTH_MAX} levels`);
  }
  return { kind: 'json', value };
}

/** Position, line and column of the first wrong character, and what was there. */
function syntaxReason(text: string): string {
  const at = firstNonJson(text);
  const before = text.slice(0, at).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  const place = `position ${at} (line ${before.length}, column ${column})`;
  if (at >= text.length) return `the message is not JSON: it ends too early, at ${place}`;
  const found = JSON.stringify([...text.slice(at, at + 24)].slice(0, 12).join(''));
  const reason = `the message is not JSON at ${place}: found ${found}`;
  const bareWord = /^['A-Za-z_$]/.test(text.slice(at));
  const hint = `names and texts need double quotes; if a shell took them away, put the whole message in single quotes or read it from a file`;
  return bareWord ? `${reason}; ${hint}` : reason;
}

/** UTF-16 by its byte order mark, or by the zero byte beside the first ASCII character. */
function utf16Name(bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'UTF-16 (little endian)';
  if (first === 0xfe && second === 0xff) return 'UTF-16 (big endian)';
  if (second === 0 && first !== undefined && first !== 0) return 'UTF-16 (little endian)';
  if (first === 0 && second !== undefined && second !== 0) return 'UTF-16 (big endian)';
  return null;
}

function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => deeperThan(inner, levels - 1));
}

/** Tells the three kinds of message apart; a cancel or look with a wrong shape is `invalid`. */
export function readMessage(value: unknown): Message {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const broken = { rule: 'a message is a JSON object', accepted: '{"image": "…"}' };
    return { kind: 'invalid', runId: null, faults: [fault('', value, broken)] };
  }
  const message = value as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(message, 'cancel')) return readCancel(message);
  if (Object.hasOwn(message, 'look')) return readLook(message);
  return { kind: 'request', value: message };
}

const REASON_RULE = { rule: 'the reason is a text', accepted: 'a text, or nothing' };
const INTENT_RULE = { rule: 'an intent is a whole number from 0', accepted: '0, 1, 2, …' };

function readCancel(message: Readonly<Record<string, unknown>>): Message {
  const { cancel, reason, ...others } = message;
  const faults = unknownFields(others, 'a cancel has the fields cancel and reason');
  if (!isRunId(cancel)) faults.push(fault('cancel', cancel, RUN_ID_RULE));
  if (reason !== undefined && typeof reason !== 'string') {
    faults.push(fault('reason', reason, REASON_RULE));
  }
  if (faults.length > 0 || !isRunId(cancel)) return { kind: 'invalid', runId: null, faults };
  return { kind: 'cancel', runId: cancel, reason: typeof reason === 'string' ? reason : null };
}

function readLook(message: Readonly<Record<string, unknown>>): Message {
  const { look, intent, ...others } = message;
  const faults = unknownFields(others, 'a look has the fields look and intent');
  if (!isRunId(look)) faults.push(fault('look', look, RUN_ID_RULE));
  if (!isIntent(intent)) faults.push(fault('intent', intent, INTENT_RULE));
  if (faults.length > 0 || !isRunId(look) || !isIntent(intent)) {
    return { kind: 'invalid', runId: null, faults };
  }
  return { kind: 'look', runId: look, intent };
}

const isIntent = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

function unknownFields(others: object, rule: string): Fault[] {
  const broken: Broken = { rule, accepted: 'leave it out' };
  return Object.entries(others).map(([key, value]) => fault(fieldPath('', [key]), value, broken));
}
