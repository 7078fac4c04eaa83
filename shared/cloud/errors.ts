// One error for everything that a Google service may answer; this file alone reads Google's error
// shapes and translates replies. Callers switch on `code`, `retriable` and `reason`, never on texts.

export type CloudErrorCode =
  | 'unavailable' // 5xx, 408, connection cut, name not resolved: it may pass
  | 'timeout' // no answer within the call's own deadline
  | 'rate-limited' // 429, or 403 with reason rateLimitExceeded
  | 'unauthenticated' // 401, or no usable credentials
  | 'forbidden' // 403
  | 'not-found' // 404
  | 'conflict' // 409
  | 'precondition-failed' // 412
  | 'invalid' // other 4xx
  | 'unreadable'; // a reply that is not of the documented shape

export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly code: CloudErrorCode;
  /** True when the same call may succeed later. */
  readonly retriable: boolean;
  /** `storage.objects.insert` and the like. */
  readonly method: string;
  readonly status: number | null;
  /** The platform's own reason, for example `quotaExceeded`; empty when none was given. */
  readonly reason: string;

  constructor(fields: {
    code: CloudErrorCode;
    method: string;
    status: number | null;
    reason: string;
    message: string;
    cause?: unknown;
  }) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.method = fields.method;
    this.status = fields.status;
    this.reason = fields.reason;
    this.retriable =
      fields.code === 'unavailable' || fields.code === 'timeout' || fields.code === 'rate-limited';
  }
}

/** What a Google service says about an error, taken out of any of its shapes. */
export interface ReplyError {
  /** `errors[].reason`, else `details[].reason`, else `status`; empty when none was given. */
  readonly reason: string;
  readonly message: string;
  /** Values of `quotaInfo` and `errorInfo.metadatas` (or `metadata`), by their own names. */
  readonly details: Readonly<Record<string, string>>;
}

const MESSAGE_CHARACTERS_MAX = 300;
const RATE_LIMIT_REASONS = new Set([
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'RATE_LIMIT_EXCEEDED',
  'CONCURRENT_OPERATIONS_QUOTA_EXCEEDED',
]);

/** google.rpc.Code, the ones that a refusal carries. */
const RPC_WORDS: Readonly<Record<number, string>> = {
  3: 'INVALID_ARGUMENT',
  4: 'DEADLINE_EXCEEDED',
  5: 'NOT_FOUND',
  6: 'ALREADY_EXISTS',
  7: 'PERMISSION_DENIED',
  8: 'RESOURCE_EXHAUSTED',
  9: 'FAILED_PRECONDITION',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
  16: 'UNAUTHENTICATED',
};

/**
 * Turns a reply that is not a success into an error.
 *
 * @param method the API's own name of the method, for example `compute.instances.get`
 * @param body the parsed JSON body, or the text of one that is not JSON
 */
export function translateReply(
  method: string,
  status: number,
  body: unknown,
  cause?: unknown,
): CloudError {
  const error = readReplyError(body);
  const code = codeOfStatus(status, error.reason);
  const text = error.message === '' ? 'without a message' : error.message;
  return new CloudError({
    code,
    method,
    status,
    reason: error.reason,
    message: `${method} answered ${status} (${code}): ${text}`,
    cause,
  });
}

/** Turns a call that got no reply (cut, refused, no credentials) into an error. */
export function translateFailure(method: string, cause: unknown): CloudError {
  if (cause instanceof CloudError) return cause;
  const code = codeOfFailure(cause);
  const text = cause instanceof Error ? cause.message : String(cause);
  return new CloudError({
    code,
    method,
    status: null,
    reason: reasonOfFailure(cause),
    message: `${method} got no reply (${code}): ${cut(text)}`,
    cause,
  });
}

/** Turns what a generated client throws (an RPC code, and the HTTP status where one came). */
export function translateRpcError(method: string, thrown: unknown): CloudError {
  const error = asObject(thrown);
  const status = error?.httpStatusCode;
  if (thrown instanceof Error && typeof status === 'number') {
    const reason = asText(error?.reason) ?? RPC_WORDS[Number(error?.code)] ?? '';
    const body = { error: { message: thrown.message, status: reason } };
    return translateReply(method, status, body, thrown);
  }
  return translateFailure(method, thrown);
}

/** An answer that is not of the documented shape: nothing may be concluded from it. */
export function unreadableReply(method: string, status: number | null, what: string): CloudError {
  return new CloudError({
    code: 'unreadable',
    method,
    status,
    reason: '',
    message: `${method} answered something that cannot be read: ${cut(what)}`,
  });
}

/** Reads Google's error body: `error.errors[]`, `error.details[]`, `error.status`. */
export function readReplyError(body: unknown): ReplyError {
  if (typeof body === 'string') return { reason: '', message: cut(body), details: {} };
  const error = asObject(asObject(body)?.error);
  if (error === null) return { reason: '', message: '', details: {} };
  const first = asList(error.errors).map(asObject)[0];
  const details = asList(error.details);
  const reason =
    asText(first?.reason) ??
    details.map((detail) => asText(asObject(detail)?.reason)).find((text) => text !== null) ??
    asText(error.status) ??
    '';
  return {
    reason,
    message: cut(asText(error.message) ?? asText(first?.message) ?? ''),
    details: collectDetails(details),
  };
}

/**
 * Flattens error details to names and values. Takes the two shapes that are seen: `errorInfo` and
 * `quotaInfo` inside an operation's `errorDetails[]`, and the bare messages of `error.details[]`.
 */
export function collectDetails(details: readonly unknown[]): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const entry of details) {
    const detail = asObject(entry);
    if (detail === null) continue;
    const info = asObject(detail.errorInfo) ?? detail;
    addTexts(values, { reason: info.reason });
    addTexts(values, asObject(info.metadatas));
    addTexts(values, asObject(info.metadata));
    const quota = asObject(detail.quotaInfo) ?? ('metricName' in detail ? detail : null);
    addTexts(values, quota);
    addTexts(values, asObject(quota?.dimensions));
  }
  return values;
}

/** True for the error body that Google's services send with every 4xx and 5xx of their own. */
export function isGoogleError(body: unknown): boolean {
  return asObject(asObject(body)?.error) !== null;
}

function codeOfStatus(status: number, reason: string): CloudErrorCode {
  if (status === 429 || (status === 403 && RATE_LIMIT_REASONS.has(reason))) return 'rate-limited';
  if (status === 401) return 'unauthenticated';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'not-found';
  if (status === 409) return 'conflict';
  if (status === 412) return 'precondition-failed';
  if (status === 408 || status >= 500) return 'unavailable';
  return status >= 400 ? 'invalid' : 'unreadable';
}

function codeOfFailure(cause: unknown): CloudErrorCode {
  const error = asObject(cause);
  const text = cause instanceof Error ? cause.message : '';
  if (text.includes('Could not load the default credentials')) return 'unauthenticated';
  // A key file that is not there, is no JSON, lacks a field, or holds a key that OpenSSL cannot use.
  if (/credential file|client_email|private_key/.test(text)) return 'unauthenticated';
  if (error?.name === 'SyntaxError' || reasonOfFailure(cause).startsWith('ERR_OSSL')) {
    return 'unauthenticated';
  }
  // A status here is the token endpoint's: the services' own replies never come as failures.
  const status = error?.status ?? asObject(error?.response)?.status;
  if (typeof status === 'number' && status >= 400 && status < 500 && status !== 429) {
    return 'unauthenticated';
  }
  const kind = error?.name === 'TimeoutError' || error?.code === 'ETIMEDOUT';
  return kind ? 'timeout' : 'unavailable';
}

function reasonOfFailure(cause: unknown): string {
  const code = asObject(cause)?.code;
  return typeof code === 'string' ? code : '';
}

function addTexts(values: Record<string, string>, source: Record<string, unknown> | null): void {
  for (const [name, value] of Object.entries(source ?? {})) {
    if (name in values || name.startsWith('@')) continue;
    if (typeof value === 'string') values[name] = cut(value);
    if (typeof value === 'number') values[name] = String(value);
  }
}

function asObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function cut(text: string): string {
  return text.slice(0, MESSAGE_CHARACTERS_MAX);
}
