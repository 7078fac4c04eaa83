// The one seam under the REST adapters: a call goes in, a status and a parsed body come out. The real
// transport adds the token (token.ts); tests and the simulation put the local cloud's step in its place.

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly timeoutMs: number;
}

export interface HttpReply {
  readonly status: number;
  /** The parsed JSON body; undefined when there was none or it was not JSON. */
  readonly body: unknown;
  /** The header of that name, where it came. */
  readonly retryAfter?: string;
}

/** Throws a CloudError (`unavailable` or `timeout`) when there was no reply at all. */
export type Transport = (call: HttpCall) => Promise<HttpReply>;
