// The world's stand-in for Google's signing keys: RS256 key pairs that rotate, their public part as a
// JWK set, and ID tokens with the claims that Pub/Sub and Scheduler put into theirs.
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Methods, TokenOrder } from '#scripts/local-cloud/call.ts';
import { ok } from '#scripts/local-cloud/call.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: JsonObject;
}

const ISSUER = 'https://accounts.google.com';
const TOKEN_LIFETIME_SECONDS = 3600;
/** The key in use and its predecessor: usually two live at a time. */
const PUBLISHED_KEYS_MAX = 2;
const CERTS_MAX_AGE_SECONDS = 18_000;

/** Keys are made when they are first needed: a simulation that signs nothing pays nothing. */
export class KeyRing {
  #keys: SigningKey[] = [];
  #made = 0;

  /** From now on tokens are signed with a new key; the last one is still published. */
  rotate(): void {
    this.#made += 1;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const kid = `local-key-${this.#made}`;
    const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' };
    this.#keys = [{ kid, privateKey, publicJwk }, ...this.#keys].slice(0, PUBLISHED_KEYS_MAX);
  }

  jwks(): JsonObject {
    this.#current();
    return { keys: this.#keys.map(({ publicJwk }) => ({ ...publicJwk })) };
  }

  /** A compact JWT over the claims. */
  sign(claims: JsonObject): string {
    const { kid, privateKey } = this.#current();
    const header = encode({ alg: 'RS256', kid, typ: 'JWT' });
    const signed = `${header}.${encode(claims)}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
  }

  #current(): SigningKey {
    if (this.#keys.length === 0) {
      this.rotate();
    }
    const [key] = this.#keys;
    if (key === undefined) {
      throw new Error('a key was just made');
    }
    return key;
  }
}

const encode = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The account's numeric id, always the same for one e-mail: `sub` and `azp`. */
export function accountId(email: string): string {
  const digest = createHash('sha256').update(email).digest('hex');
  return `1${BigInt(`0x${digest.slice(0, 16)}`)}`.padEnd(21, '0').slice(0, 21);
}

/** The claims of an ID token as Google issues it for a service account. */
export function idTokenClaims(order: TokenOrder, nowMs: number): JsonObject {
  const iat = Math.floor(nowMs / 1000);
  const sub = accountId(order.email);
  return {
    iss: ISSUER,
    aud: order.audience,
    azp: sub,
    sub,
    email: order.email,
    email_verified: true,
    iat,
    exp: iat + TOKEN_LIFETIME_SECONDS,
  };
}

export const keyMethods: Methods = {
  'oauth2.certs': ({ world }) =>
    ok(world.keys.jwks(), {
      'cache-control': `public, max-age=${CERTS_MAX_AGE_SECONDS}, must-revalidate, no-transform`,
    }),
};
