// Google's public signing keys, kept in memory: fetched when first asked for, again when no longer
// fresh, and when a token names a key that is not held. A set that was once good is only ever replaced
// by another good one, so that an outage of the endpoint does not refuse good tokens.
import type { CryptoKey } from 'jose';
import type { Clock } from '#shared/cloud/clock.ts';
import type { Log } from '#shared/cloud/log.ts';
import { type Fetch, fetchKeySet } from '#shared/push/key-set.ts';
import {
  KEYS_HELD_SECONDS_MAX,
  KEYS_PAUSE_EMPTY_SECONDS,
  KEYS_PAUSE_SECONDS,
  KEYS_TIMEOUT_MS,
} from '#shared/push/limits.ts';

export type KeyReply =
  | { readonly kind: 'found'; readonly key: CryptoKey }
  /** The endpoint was read a moment ago and does not have it. */
  | { readonly kind: 'absent' }
  /** The endpoint cannot be read: the key may exist. */
  | { readonly kind: 'cannot-know'; readonly reason: string };

export interface KeyCache {
  /** Finds the key of that id (`kid`); never throws. */
  find(keyId: string): Promise<KeyReply>;
}

export interface KeyCacheOptions {
  /** A JWKS endpoint, `https://www.googleapis.com/oauth2/v3/certs` for Google's tokens. */
  readonly url: string;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
  readonly fetch?: Fetch;
  readonly timeoutMs?: number;
}

interface HeldKeys {
  readonly keys: ReadonlyMap<string, CryptoKey>;
  readonly fetchedMs: number;
  readonly freshUntilMs: number;
}

/**
 * Makes a cache over one JWKS endpoint. Calls that need a fetch at the same time share one; another
 * one is made after `KEYS_PAUSE_SECONDS` at the earliest, however many unknown ids are asked for.
 */
export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { url, clock, log, fetch: fetchUrl = fetch, timeoutMs = KEYS_TIMEOUT_MS } = options;
  let held: HeldKeys | null = null;
  let failure: string | null = null;
  let triedMs: number | null = null;
  let running: Promise<void> | null = null;

  async function load(startedMs: number): Promise<void> {
    const reply = await fetchKeySet(url, fetchUrl, timeoutMs);
    if (reply.kind === 'fetched') {
      failure = null;
      const freshUntilMs = startedMs + reply.freshSeconds * 1000;
      held = { keys: reply.keys, fetchedMs: startedMs, freshUntilMs };
      return;
    }
    failure = reply.reason;
    log('WARNING', 'push-keys-unavailable', `signing keys at ${url}: ${reply.reason}`, {
      heldKeys: held?.keys.size ?? 0,
    });
  }

  function refresh(nowMs: number): Promise<void> {
    if (running !== null) return running;
    const pauseSeconds = held === null ? KEYS_PAUSE_EMPTY_SECONDS : KEYS_PAUSE_SECONDS;
    if (triedMs !== null && nowMs - triedMs < pauseSeconds * 1000) return Promise.resolve();
    triedMs = nowMs;
    running = load(nowMs).finally(() => {
      running = null;
    });
    return running;
  }

  return {
    async find(keyId) {
      const nowMs = clock.nowMs();
      const fresh = held !== null && nowMs < held.freshUntilMs ? held.keys.get(keyId) : undefined;
      if (fresh !== undefined) return { kind: 'found', key: fresh };
      await refresh(nowMs);
      const usable = held !== null && nowMs < held.fetchedMs + KEYS_HELD_SECONDS_MAX * 1000;
      const key = usable ? held?.keys.get(keyId) : undefined;
      if (key !== undefined) return { kind: 'found', key };
      if (usable && failure === null) return { kind: 'absent' };
      return { kind: 'cannot-know', reason: failure ?? 'no key set has been read yet' };
    },
  };
}
