// Named bounds of the push edge: sizes in bytes, times in the unit that the name ends in.

/**
 * The largest body that is read. Pub/Sub takes messages up to 10 MB; in base64 that is 13.4 MB, and
 * its attributes (100 of at most 1,280 bytes) may add 0.8 MB of JSON escapes. So everything that
 * Pub/Sub can send is read, and a message above our own limit of 1 MiB becomes a rejection, not a loop.
 */
export const PUSH_BODY_BYTES_MAX = 15 * 1024 * 1024;

/** A Google ID token is about 1 KB. */
export const TOKEN_CHARACTERS_MAX = 8192;
/** What clocks may differ by, both ways. */
export const TOKEN_LEEWAY_SECONDS = 60;
/** Google's ID tokens live 3,600 s; what claims to live longer was not made by Google. */
export const TOKEN_LIFETIME_SECONDS_MAX = 3900;

/** Freshness of a key set, whatever its Cache-Control says. */
export const KEYS_FRESH_SECONDS_MIN = 60;
export const KEYS_FRESH_SECONDS_MAX = 86_400;
/** Freshness without a usable Cache-Control. */
export const KEYS_FRESH_SECONDS_DEFAULT = 600;
/** How long held keys are used while their endpoint cannot be read. */
export const KEYS_HELD_SECONDS_MAX = 86_400;
/** Between two fetches while keys are held, for whatever reason they are made. */
export const KEYS_PAUSE_SECONDS = 30;
/** Between two fetches while no key is held at all: nothing can be verified then. */
export const KEYS_PAUSE_EMPTY_SECONDS = 5;
export const KEYS_TIMEOUT_MS = 5000;
export const KEYS_BYTES_MAX = 256 * 1024;
export const KEYS_COUNT_MAX = 100;
/** RFC 7518 §3.3; jose refuses to use a smaller one. */
export const KEYS_MODULUS_BITS_MIN = 2048;

/** Message ids become part of object names. Pub/Sub's are decimal digits. */
export const MESSAGE_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;
