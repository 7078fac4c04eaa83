// One read of a JWKS endpoint: either at least one usable RS256 key, or the reason why there is none.
// Never throws; follows no redirect; bounded in time and bytes.
import { type CryptoKey, importJWK } from 'jose';
import * as z from 'zod';
import {
  KEYS_BYTES_MAX,
  KEYS_COUNT_MAX,
  KEYS_FRESH_SECONDS_DEFAULT,
  KEYS_FRESH_SECONDS_MAX,
  KEYS_FRESH_SECONDS_MIN,
  KEYS_MODULUS_BITS_MIN,
} from '#shared/push/limits.ts';

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type KeySetReply =
  | {
      readonly kind: 'fetched';
      /** By key id. */
      readonly keys: ReadonlyMap<string, CryptoKey>;
      readonly freshSeconds: number;
    }
  | { readonly kind: 'failed'; readonly reason: string };

const keySetShape = z.object({ keys: z.array(z.unknown()).max(KEYS_COUNT_MAX) });

const signingKeyShape = z.object({
  kty: z.literal('RSA'),
  kid: z.string().min(1),
  n: z.string(),
  e: z.string(),
  use: z.literal('sig').optional(),
  alg: z.literal('RS256').optional(),
});

/** Reads the key set at `url` (RFC 7517). Keys of another kind or purpose are left out. */
export async function fetchKeySet(
  url: string,
  fetchUrl: Fetch,
  timeoutMs: number,
): Promise<KeySetReply> {
  try {
    const response = await fetchUrl(url, {
      redirect: 'manual',
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return failed(`status ${response.status}, expected 200`);
    }
    const keys = await importKeys(JSON.parse(await readText(response)));
    if (keys.size === 0) return failed('the set holds no RSA signing key');
    return { kind: 'fetched', keys, freshSeconds: freshSeconds(response.headers) };
  } catch (error) {
    return failed(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  }
}

const failed = (reason: string): KeySetReply => ({ kind: 'failed', reason });

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > KEYS_BYTES_MAX) throw new Error(`more than ${KEYS_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function importKeys(set: unknown): Promise<Map<string, CryptoKey>> {
  const keys = new Map<string, CryptoKey>();
  for (const entry of keySetShape.parse(set).keys) {
    const parsed = signingKeyShape.safeParse(entry);
    if (!parsed.success) continue;
    const { kty, kid, n, e } = parsed.data;
    const key = await importJWK({ kty, n, e }, 'RS256').catch(() => null);
    if (key === null || key instanceof Uint8Array || modulusBits(key) < KEYS_MODULUS_BITS_MIN)
      continue;
    keys.set(kid, key);
  }
  return keys;
}

function modulusBits(key: CryptoKey): number {
  const { algorithm } = key;
  return 'modulusLength' in algorithm ? Number(algorithm.modulusLength) : 0;
}

/** `max-age` less the time spent in caches on the way (RFC 9111), within our bounds. */
function freshSeconds(headers: Headers): number {
  const cacheControl = headers.get('cache-control') ?? '';
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return KEYS_FRESH_SECONDS_MIN;
  const maxAge = /\bmax-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl)?.[1];
  if (maxAge === undefined) return KEYS_FRESH_SECONDS_DEFAULT;
  const age = /^\d{1,9}$/.exec(headers.get('age') ?? '')?.[0] ?? '0';
  const seconds = Number(maxAge) - Number(age);
  return Math.min(Math.max(seconds, KEYS_FRESH_SECONDS_MIN), KEYS_FRESH_SECONDS_MAX);
}
