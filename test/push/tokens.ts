// Tokens as Google makes them for Pub/Sub push and Cloud Scheduler (claims after the documented
// sample), signed by keys that a test owns, and the key endpoint that publishes those keys.
import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { PushSettings } from '#shared/cloud/config.ts';

/** 2026-12-01T00:00:00Z. */
export const NOW_SECONDS = 1_796_083_200;
const NOW_MS = NOW_SECONDS * 1000;

const AUDIENCE = 'https://submit.example/';
export const PUSHER = 'mayfly-push@p.iam.gserviceaccount.com';

export const settings = (changes: Partial<PushSettings> = {}): PushSettings => ({
  mode: 'verify',
  audience: AUDIENCE,
  serviceAccounts: [PUSHER],
  subscriptions: null,
  jwksUrl: 'http://127.0.0.1:1/certs',
  internalToken: null,
  ...changes,
});

export const claims = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  iss: 'https://accounts.google.com',
  aud: AUDIENCE,
  azp: '113774264463038321964',
  sub: '113774264463038321964',
  email: PUSHER,
  email_verified: true,
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 3600,
  ...changes,
});

export interface SigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  sign(payload?: Record<string, unknown>): Promise<string>;
}

export async function makeKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' };
  return {
    kid,
    publicJwk,
    sign: (payload = claims()) =>
      new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT' }).sign(privateKey),
  };
}

/** The token as a private Cloud Run service gets to see it. */
export const stripped = (token: string) =>
  `${token.split('.').slice(0, 2).join('.')}.SIGNATURE_REMOVED_BY_GOOGLE`;

export const unsigned = (header: object, payload: object, signature = '') =>
  `${encode(header)}.${encode(payload)}.${signature}`;

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export const keySet = (...keys: readonly SigningKey[]) =>
  JSON.stringify({ keys: keys.map((key) => key.publicJwk) });

export interface KeyEndpoint extends AsyncDisposable {
  readonly url: string;
  /** How often it was asked. */
  fetches: number;
  answer: (response: ServerResponse) => void;
}

export const answerSet =
  (body: string, cacheControl = 'public, max-age=18000, must-revalidate') =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': cacheControl });
    response.end(body);
  };

export const answerStatus = (status: number) => (response: ServerResponse) =>
  void response.writeHead(status).end('no');

/** A real HTTP server on loopback. */
export async function startKeyEndpoint(answer: KeyEndpoint['answer']): Promise<KeyEndpoint> {
  const server = createServer((_request, response) => {
    endpoint.fetches += 1;
    endpoint.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const endpoint: KeyEndpoint = {
    url: `http://127.0.0.1:${port}/certs`,
    fetches: 0,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return endpoint;
}

/** A clock that stands until it is moved. */
export function standingClock(startMs = NOW_MS) {
  return {
    ms: startMs,
    nowMs() {
      return this.ms;
    },
  };
}

export const quiet = () => {};
