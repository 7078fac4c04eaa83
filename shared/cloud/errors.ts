// One error for everything that a Google service may answer; this file alone translates replies.
// Callers switch on `code` and `retriable`, never on texts.

export type CloudErrorCode =
  | 'unavailable' // 5xx, connection cut, name not resolved: it may pass
  | 'timeout' // no answer within the call's own deadline
  | 'rate-limited' // 429, or 403 with reason rateLimitExceeded
  | 'unauthenticated' // 401
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
