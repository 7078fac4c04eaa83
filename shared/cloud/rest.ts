// One call of a service's REST API: URL, deadline, repeats of reads, and what its errors mean.
import type { ApiErrorDetail } from '#shared/cloud/compute.ts';
import {
  REPEAT_POLICY,
  repeatWhileRetriable,
  type TimingOptions,
  timingOf,
} from '#shared/cloud/deadline.ts';
import {
  CloudError,
  isGoogleError,
  readReplyError,
  translateReply,
  unreadableReply,
} from '#shared/cloud/errors.ts';
import type { HttpCall, HttpReply, Transport } from '#shared/cloud/http.ts';

export interface RestOptions extends TimingOptions {
  readonly transport: Transport;
}

const TIMEOUT_MS = 30_000;
const READ_POLICY = { ...REPEAT_POLICY, attempts: 3 };

export interface RestCall {
  readonly path: readonly string[];
  /** What stands behind the path, after a colon. */
  readonly verb?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Rest {
  /** One try. Throws a CloudError when there was no reply. */
  send(method: string, verb: HttpCall['method'], call: RestCall): Promise<HttpReply>;
  /** What changes nothing is repeated while its error is retriable. Throws for all but a 2xx. */
  read(method: string, call: RestCall, verb?: HttpCall['method']): Promise<unknown>;
}

/** `base`: what every path begins with, without a slash at its end. `refusalOf` may say more. */
export function createRest(
  base: string,
  options: RestOptions,
  refusalOf: (method: string, reply: HttpReply) => CloudError = translateRefusal,
): Rest {
  const timing = timingOf(options, TIMEOUT_MS);
  const send: Rest['send'] = async (method, httpMethod, { path, verb, query, body }) => {
    const action = verb === undefined ? '' : `:${verb}`;
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    try {
      return await options.transport({
        method: httpMethod,
        url: `${[base, ...path.map(encodeURIComponent)].join('/')}${action}${search}`,
        timeoutMs: timing.timeoutMs,
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      throw nameMethod(method, error);
    }
  };
  return {
    send,
    read: (method, call, verb = 'GET') =>
      repeatWhileRetriable(timing, READ_POLICY, async () => {
        const reply = await send(method, verb, call);
        if (isSuccess(reply)) return reply.body;
        throw refusalOf(method, reply);
      }),
  };
}

export function isSuccess(reply: HttpReply): boolean {
  return reply.status >= 200 && reply.status < 300;
}

/** The platform's own 404 alone says "gone"; a 404 of something between has another body. */
export function translateRefusal(method: string, reply: HttpReply): CloudError {
  return reply.status === 404 && !isGoogleError(reply.body)
    ? unreadableReply(method, 404, 'a 404 without an error body')
    : translateReply(method, reply.status, reply.body);
}

export function goneOrUnknown(
  thrown: unknown,
): { kind: 'gone' } | { kind: 'unknown'; error: CloudError } {
  const error = asCloudError(thrown);
  return error.code === 'not-found' ? { kind: 'gone' } : { kind: 'unknown', error };
}

/** A transport throws CloudErrors alone; anything else is a programmer's error and stays one. */
export function asCloudError(error: unknown): CloudError {
  if (error instanceof CloudError) return error;
  throw error;
}

/** The transport knows URLs only; the error is to name the API's method. */
function nameMethod(method: string, thrown: unknown): CloudError {
  const { code, status, reason, message, cause } = asCloudError(thrown);
  return new CloudError({ code, method, status, reason, message: `${method}: ${message}`, cause });
}

export type ReadReply<Value> =
  | { readonly kind: 'there'; readonly value: Value }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly error: CloudError };

/** One resource; `parse` gives null for what is not it. */
export async function readResource<Value>(
  rest: Rest,
  method: string,
  call: RestCall & { readonly parse: (body: unknown) => Value | null },
): Promise<ReadReply<Value>> {
  try {
    const value = call.parse(await rest.read(method, call));
    return value === null
      ? { kind: 'unknown', error: unreadableReply(method, 200, 'not the resource asked for') }
      : { kind: 'there', value };
  } catch (error) {
    return goneOrUnknown(error);
  }
}

export function errorDetail(reply: HttpReply): ApiErrorDetail {
  const { reason, message, details } = readReplyError(reply.body);
  return { status: reply.status, code: reason, message, details };
}
