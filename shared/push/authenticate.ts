// Who calls: judged from the headers alone, before anything of the body is interpreted. Accepted,
// refused (401 or 403; Pub/Sub delivers again, its dead-letter policy is the net), or cannot be known
// just now (503), which a good token must never pay for with a refusal.
import { createHash, timingSafeEqual } from 'node:crypto';
import { type CryptoKey, compactVerify, decodeJwt, decodeProtectedHeader, errors } from 'jose';
import type { Clock } from '#shared/cloud/clock.ts';
import type { PushSettings } from '#shared/cloud/config.ts';
import type { Log } from '#shared/cloud/log.ts';
import { judgeClaims } from '#shared/push/claims.ts';
import { createKeyCache, type KeyCache } from '#shared/push/keys.ts';
import { TOKEN_CHARACTERS_MAX } from '#shared/push/limits.ts';

/** Lower-case names, as node:http gives them. */
export type PushHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type Authentication =
  | { readonly kind: 'accepted'; readonly email: string }
  | { readonly kind: 'refused'; readonly status: 401 | 403; readonly reason: string }
  | { readonly kind: 'cannot-know'; readonly reason: string };

export interface AuthenticateDeps {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly keys: KeyCache;
}

/** What Cloud Run puts in place of the signature of a token that it has verified itself. */
const STRIPPED_SIGNATURE = 'SIGNATURE_REMOVED_BY_GOOGLE';

/**
 * Judges the caller of a push or of a scheduled call.
 *
 * `platform`: Cloud Run has let the caller in by IAM and has removed the signature, so the claims are
 * judged alone. A token that still has one was verified by nobody and is verified here: a service
 * made public by mistake does not take forged signatures for the platform's word.
 * `verify`: every token is verified here; one without signature is refused.
 * `internal-token`: one shared secret, for a deployment on one machine.
 */
export async function authenticate(
  headers: PushHeaders,
  settings: PushSettings,
  deps: AuthenticateDeps,
): Promise<Authentication> {
  const token = bearerToken(headers, settings.mode);
  if (token === null) return refused('no-bearer-token');
  if (token.length > TOKEN_CHARACTERS_MAX) return refused('token-too-long');
  switch (settings.mode) {
    case 'internal-token':
      return judgeInternalToken(token, settings.internalToken);
    case 'platform':
      if (token.endsWith(`.${STRIPPED_SIGNATURE}`)) return judgeStripped(token, settings, deps);
      return verify(token, settings, deps);
    case 'verify':
      return verify(token, settings, deps);
    default:
      return settings.mode satisfies never;
  }
}

/** The judge of one deployment's callers, with a key cache of its own. */
export function createAuthenticator(
  settings: PushSettings,
  deps: { readonly clock: Pick<Clock, 'nowMs'>; readonly log: Log },
): (headers: PushHeaders) => Promise<Authentication> {
  const keys = createKeyCache({ url: settings.jwksUrl, ...deps });
  return (headers) => authenticate(headers, settings, { clock: deps.clock, keys });
}

/** Where both headers are sent, Cloud Run checks the first alone and hands the second on unchecked. */
function bearerToken(headers: PushHeaders, mode: PushSettings['mode']): string | null {
  const checked = mode === 'platform' ? headers['x-serverless-authorization'] : undefined;
  const value = checked ?? headers.authorization;
  if (typeof value !== 'string') return null;
  return /^bearer +(\S+)$/i.exec(value.trim())?.[1] ?? null;
}

function judgeInternalToken(token: string, expected: string | null): Authentication {
  if (expected === null || expected === '') return refused('internal-token-not-set');
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (!timingSafeEqual(digest(token), digest(expected))) return refused('internal-token');
  return { kind: 'accepted', email: 'internal-token' };
}

function judgeStripped(
  token: string,
  settings: PushSettings,
  deps: AuthenticateDeps,
): Authentication {
  const header = decoded(() => decodeProtectedHeader(token));
  const payload = decoded(() => decodeJwt(token));
  if (header === null || payload === null) return refused('malformed');
  if (header.alg !== 'RS256') return refused('algorithm');
  return judgeClaims(payload, settings, deps.clock.nowMs());
}

async function verify(
  token: string,
  settings: PushSettings,
  deps: AuthenticateDeps,
): Promise<Authentication> {
  const header = decoded(() => decodeProtectedHeader(token));
  if (header === null) return refused('malformed');
  if (header.alg !== 'RS256') return refused('algorithm');
  if (token.endsWith(`.${STRIPPED_SIGNATURE}`)) return refused('signature-removed');
  if (typeof header.kid !== 'string') return refused('no-key-id');
  const reply = await deps.keys.find(header.kid);
  if (reply.kind === 'cannot-know') return reply;
  if (reply.kind === 'absent') return refused('unknown-key');
  const payload = await verifiedPayload(token, reply.key);
  if (payload === null) return refused('signature');
  const claims: unknown = decoded(() => JSON.parse(Buffer.from(payload).toString('utf8')));
  return judgeClaims(claims, settings, deps.clock.nowMs());
}

async function verifiedPayload(token: string, key: CryptoKey): Promise<Uint8Array | null> {
  try {
    return (await compactVerify(token, key, { algorithms: ['RS256'] })).payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}

function decoded<Value>(decode: () => Value): Value | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

const refused = (reason: string): Authentication => ({ kind: 'refused', status: 401, reason });
