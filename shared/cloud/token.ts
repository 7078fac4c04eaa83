// Google credentials and the transport that uses them, through google-auth-library. The library is
// loaded at the first call, so that a cold start does not wait for it. It never repeats a call.
import type { GoogleAuth } from 'google-auth-library';
import { withDeadline } from '#shared/cloud/deadline.ts';
import { CloudError, translateFailure } from '#shared/cloud/errors.ts';
import type { HttpCall, HttpReply, Transport } from '#shared/cloud/http.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Where tokens come from; one for the process, shared by all clients, so that they share tokens. */
export interface Credentials {
  auth(): Promise<GoogleAuth>;
}

/**
 * Application Default Credentials: the attached account, a key file, or the user's own login.
 *
 * @param project given, so that the library does not start `gcloud` to find one (0.7 s)
 */
export function applicationCredentials(project: string): Credentials {
  return lazily(async () => {
    const { GoogleAuth } = await import('google-auth-library');
    return new GoogleAuth({ scopes: [SCOPE], projectId: project });
  });
}

/** For emulators: no token is looked up, no header is sent. */
export function noCredentials(project: string): Credentials {
  return lazily(async () => {
    const { GoogleAuth, PassThroughClient } = await import('google-auth-library');
    return new GoogleAuth({ authClient: new PassThroughClient(), projectId: project });
  });
}

/**
 * The transport of the REST adapters: adds the token, sends JSON, gives every status back as it is.
 * Throws a CloudError when no reply came: `unavailable`, `timeout`, or `unauthenticated` when there
 * are no credentials to call with.
 */
export function createTransport(credentials: Credentials): Transport {
  return async (call: HttpCall): Promise<HttpReply> => {
    const method = `${call.method} ${new URL(call.url).pathname}`;
    const auth = await credentials.auth();
    return withDeadline(method, call.timeoutMs, async (signal) => {
      const reply = await auth.request<string>({
        url: call.url,
        method: call.method,
        ...(call.body === undefined
          ? {}
          : { data: JSON.stringify(call.body), headers: { 'content-type': 'application/json' } }),
        responseType: 'text',
        validateStatus: () => true,
        retry: false,
        signal,
      });
      const retryAfter = reply.headers.get('retry-after');
      const { status } = reply;
      return { status, body: parseJson(reply.data), ...(retryAfter ? { retryAfter } : {}) };
    });
  };
}

/** Gets a token, or finds it kept: after this a client's own look-up cannot fail unseen. */
export async function ensureToken(credentials: Credentials, url: string): Promise<GoogleAuth> {
  const auth = await credentials.auth();
  try {
    await auth.getRequestHeaders(url);
  } catch (error) {
    const failure = translateFailure('token', error);
    throw new CloudError({
      code: failure.code,
      method: 'token',
      status: null,
      reason: failure.reason,
      message: `no access token: ${failure.message}; check the service account or run: gcloud auth application-default login`,
      cause: error,
    });
  }
  return auth;
}

function lazily(create: () => Promise<GoogleAuth>): Credentials {
  let kept: Promise<GoogleAuth> | null = null;
  return {
    auth() {
      kept ??= create();
      return kept;
    },
  };
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
