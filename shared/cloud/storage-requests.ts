// The storage library takes no AbortSignal and its time-out option has no effect (node-fetch 3
// ignores it), so a call that hangs would keep its socket for ever. Each call carries its own
// idempotency token; by that token its HTTP request is found here and destroyed at the deadline.
import { randomUUID } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { File } from '@google-cloud/storage';

const TOKEN_HEADER = 'x-goog-gcs-idempotency-token';
const open = new Map<string, (request: ClientRequest) => void>();
let watching = false;

type Interceptor = File['interceptors'][number];

export interface TrackedCall extends Disposable {
  /** For the `interceptors` of the library's object that makes the call. */
  readonly interceptor: Interceptor;
}

/**
 * Follows one call of the storage library until it is disposed of.
 *
 * @param query parameters to add that the library cannot pass unchanged: it would make a number of
 *   a generation
 */
export function trackCall(
  signal: AbortSignal,
  query: Readonly<Record<string, string>>,
): TrackedCall {
  watchRequests();
  const token = randomUUID();
  let current: ClientRequest | null = null;
  const destroy = () => current?.destroy();
  open.set(token, (request) => {
    current = request;
    // The library looks for a token first: the deadline may pass before the request begins.
    if (signal.aborted) destroy();
  });
  signal.addEventListener('abort', destroy, { once: true });
  return {
    interceptor: {
      request: (options) =>
        ({
          ...options,
          headers: { ...options.headers, [TOKEN_HEADER]: token },
          qs: { ...options.qs, ...query },
        }) as ReturnType<Interceptor['request']>,
    },
    [Symbol.dispose]() {
      signal.removeEventListener('abort', destroy);
      open.delete(token);
    },
  };
}

function watchRequests(): void {
  if (watching) return;
  watching = true;
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest };
    const token = request.getHeader(TOKEN_HEADER);
    if (typeof token === 'string') open.get(token)?.(request);
  });
}
