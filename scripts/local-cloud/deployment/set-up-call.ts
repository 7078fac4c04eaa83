// The REST calls that lay a deployment out, at the local cloud or at the emulator: Google's own paths.
const CALL_TIMEOUT_MS = 30_000;

export interface SetUpCall {
  readonly verb: 'POST' | 'PUT';
  /** Path and query. */
  readonly path: string;
  /** JSON, or bytes as they are. */
  readonly body: object | Uint8Array | string;
}

/** What takes a part of a deployment away again. */
interface RemovalCall {
  readonly verb: 'DELETE';
  readonly path: string;
  readonly body?: undefined;
}

/**
 * The reply's text; throws with the service's own words when the call is refused with another status than
 * those that are `accepted`.
 */
export async function send(
  baseUrl: string,
  { verb, path, body }: SetUpCall | RemovalCall,
  accepted: readonly number[] = [],
): Promise<string> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const reply = await fetch(`${baseUrl}${path}`, {
    method: verb,
    ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
    headers: { 'content-type': raw ? 'application/octet-stream' : 'application/json' },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  const text = await reply.text();
  if (!reply.ok && !accepted.includes(reply.status)) {
    const words = text.slice(0, 500);
    throw new Error(`${verb} ${baseUrl}${path} answered ${reply.status}: ${words}`);
  }
  return text;
}
