// What the generated Google clients (Pub/Sub, Scheduler) have in common: they are made to speak REST
// instead of gRPC, so that one plain HTTP request is one call, here as against Google, and their own
// repeats are off.
import type { GoogleAuth } from 'google-auth-library';

/**
 * Options for the constructor of a generated client.
 *
 * @param url `http://host:port`, `https://host`, or `host:port` alone, which means http
 */
export function rpcClientOptions(url: string, auth: GoogleAuth) {
  const { protocol, hostname, port } = new URL(withScheme(url));
  return {
    fallback: true,
    protocol: protocol.replace(':', ''),
    apiEndpoint: hostname,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    auth,
  };
}

/** Emulator variables come with and without a scheme. */
export function withScheme(url: string): string {
  return url.includes('://') ? url : `http://${url}`;
}

/** Options of one call: one try, with a deadline that also closes the connection. */
export function rpcCallOptions(timeoutMs: number, signal: AbortSignal) {
  return { timeout: timeoutMs, signal, retry: { retryCodes: [], backoffSettings: ONE_TRY } };
}

const ONE_TRY = {
  initialRetryDelayMillis: 1,
  retryDelayMultiplier: 1,
  maxRetryDelayMillis: 1,
};
