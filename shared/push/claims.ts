// The claims of a Google ID token as Pub/Sub push, Eventarc and Cloud Scheduler send it: who made it,
// for whom, when, and which account it speaks for. One judgement for both ways to trust a token.
import * as z from 'zod';
import type { PushSettings } from '#shared/cloud/config.ts';
import { TOKEN_LEEWAY_SECONDS, TOKEN_LIFETIME_SECONDS_MAX } from '#shared/push/limits.ts';

/** 401: this is no valid token for us. 403: it is, of an account that may not call. */
export type ClaimsJudgement =
  | { readonly kind: 'accepted'; readonly email: string }
  | { readonly kind: 'refused'; readonly status: 401 | 403; readonly reason: string };

/** Google uses both spellings (OpenID Connect guide, "Validating an ID token"). */
const ISSUERS: readonly string[] = ['https://accounts.google.com', 'accounts.google.com'];

const seconds = z.number().int().nonnegative();
const claimsShape = z.object({
  iss: z.string(),
  aud: z.string().min(1),
  sub: z.string().min(1),
  email: z.string().min(1),
  email_verified: z.boolean(),
  iat: seconds,
  exp: seconds,
  nbf: seconds.optional(),
});

/**
 * Judges the decoded payload of a token. Anyone with a Google account can get a token with our
 * audience, so that the pinned e-mail address is the authorisation.
 */
export function judgeClaims(
  payload: unknown,
  settings: Pick<PushSettings, 'audience' | 'serviceAccounts'>,
  nowMs: number,
): ClaimsJudgement {
  const parsed = claimsShape.safeParse(payload);
  if (!parsed.success) {
    return refused(401, `claim-${String(parsed.error.issues[0]?.path[0] ?? 's')}`);
  }
  const claims = parsed.data;
  if (!ISSUERS.includes(claims.iss)) return refused(401, 'issuer');
  if (claims.aud !== settings.audience) return refused(401, 'audience');
  const now = Math.floor(nowMs / 1000);
  if (claims.exp <= now - TOKEN_LEEWAY_SECONDS) return refused(401, 'expired');
  if (claims.iat > now + TOKEN_LEEWAY_SECONDS) return refused(401, 'issued-in-the-future');
  if ((claims.nbf ?? 0) > now + TOKEN_LEEWAY_SECONDS) return refused(401, 'not-yet-valid');
  const lifetime = claims.exp - claims.iat;
  if (lifetime > TOKEN_LIFETIME_SECONDS_MAX || lifetime <= 0) return refused(401, 'lifetime');
  if (!claims.email_verified) return refused(403, 'email-not-verified');
  if (!settings.serviceAccounts.includes(claims.email)) return refused(403, 'email');
  return { kind: 'accepted', email: claims.email };
}

const refused = (status: 401 | 403, reason: string): ClaimsJudgement => ({
  kind: 'refused',
  status,
  reason,
});
