// Structured logs: one JSON line each, with Cloud Logging's own field names. Never a token, a secret
// or a body: names that hold such things and texts that look like tokens are masked here, for all.
import { CloudError } from '#shared/cloud/errors.ts';
import type { LogEvent } from '#shared/cloud/log-events.ts';
import { type TraceNames, type Traceparent, traceNames } from '#shared/plan/trace-context.ts';

export type Severity = 'DEBUG' | 'INFO' | 'NOTICE' | 'WARNING' | 'ERROR' | 'CRITICAL';

/** `event` is a stable name that metrics and alerts count, of the one table. */
export type Log = (
  severity: Severity,
  event: LogEvent,
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

export interface LogOptions {
  /** Labels of every line, for example `deployment`. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly nowMs?: () => number;
}

/** Cloud Logging takes 256 KiB an entry; what is longer would be split or lost. */
const LINE_BYTES_MAX = 200 * 1024;
const TEXT_CHARACTERS_MAX = 8 * 1024;
const ITEMS_MAX = 100;
const DEPTH_MAX = 6;
const MASK = '[masked]';
const SECRET_NAME =
  /(^|_|-)(token|secret|secrets|nonce|password|passwd|authorization|cookie|credentials?|private_?key|body|data|bytes|env|args|script)($|_|-)|(Token|Secret|Nonce|Password|Body|Bytes|Script)$/;
/** Google access tokens, bearer headers, JSON web tokens, key files. */
const SECRET_TEXT =
  /ya29\.[\w.-]+|Bearer\s+[\w.~+/=-]+|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|-----BEGIN[^-]*PRIVATE KEY-----[^-]*(-----END[^-]*-----)?/g;

/**
 * A log that hands each line, with its line feed, to `write` in one call.
 *
 * `runId` in the fields also becomes the label `run_id`; `trace` (a full trace name, or what names a
 * trace) becomes Cloud Logging's own fields. Errors are written as name, message, code and status, never with their cause.
 */
export function createLog(write: (line: string) => void, options: LogOptions = {}): Log {
  const nowMs = options.nowMs ?? Date.now;
  return (severity, event, message, fields = {}) => {
    const { runId, trace, ...rest } = fields;
    const labels = {
      ...options.labels,
      ...(typeof runId === 'string' ? { run_id: runId.slice(0, 128) } : {}),
    };
    const head = {
      severity,
      message: printable(message),
      event,
      time: new Date(nowMs()).toISOString(),
      ...(typeof runId === 'string' ? { runId: printable(runId) } : {}),
      ...(Object.keys(labels).length > 0 ? { 'logging.googleapis.com/labels': labels } : {}),
      ...traceFields(trace),
    };
    const line = JSON.stringify({ ...(printableValue(rest, 0) as object), ...head });
    const fits = Buffer.byteLength(line) < LINE_BYTES_MAX;
    write(`${fits ? line : JSON.stringify({ ...head, truncated: true })}\n`);
  };
}

function traceFields(trace: unknown): object {
  if (typeof trace === 'string') return { 'logging.googleapis.com/trace': printable(trace) };
  if (typeof trace !== 'object' || trace === null) return {};
  const { trace: name, spanId, sampled } = trace as TraceNames;
  return {
    'logging.googleapis.com/trace': name,
    'logging.googleapis.com/spanId': spanId,
    'logging.googleapis.com/trace_sampled': sampled,
  };
}

/** The same log with a trace on every line; a line's own trace is the one that counts. */
export function tracedLog(log: Log, project: string, traceparent: Traceparent | null): Log {
  if (traceparent === null) return log;
  const trace = traceNames(project, traceparent);
  return (severity, event, message, fields) => log(severity, event, message, { trace, ...fields });
}

function printableValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return printable(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'function' || typeof value === 'symbol' ? MASK : value;
  }
  if (value instanceof Error) return printableError(value);
  if (ArrayBuffer.isView(value)) return MASK;
  if (depth >= DEPTH_MAX) return '[deeper]';
  if (Array.isArray(value)) {
    return value.slice(0, ITEMS_MAX).map((item) => printableValue(item, depth + 1));
  }
  const entries = Object.entries(value).slice(0, ITEMS_MAX);
  return Object.fromEntries(
    entries.map(([name, item]) => [
      name,
      SECRET_NAME.test(name) && item !== null ? MASK : printableValue(item, depth + 1),
    ]),
  );
}

function printableError(error: Error): object {
  const known =
    error instanceof CloudError
      ? { code: error.code, method: error.method, status: error.status, reason: error.reason }
      : { stack: printable(error.stack ?? '') };
  return { name: error.name, message: printable(error.message), ...known };
}

function printable(text: string): string {
  const cut = text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX)}…` : text;
  return cut.replace(SECRET_TEXT, MASK);
}
