// The text that a V4 signature of Cloud Storage is made over (GOOG4-RSA-SHA256): canonical request, and
// the string to sign.
// Source: "Canonical requests" and "V4 signing process" of the Cloud Storage documentation.
import { createHash } from 'node:crypto';

export const ALGORITHM = 'GOOG4-RSA-SHA256';
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

export interface CanonicalParts {
  readonly verb: string;
  /** `/bucket/object`, decoded. */
  readonly path: string;
  /** Decoded; without the signature. */
  readonly query: readonly (readonly [string, string])[];
  /** The signed ones, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: string;
}

/** RFC 3986: everything but letters, digits and `-._~`. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

const encodePath = (path: string) => path.split('/').map(encode).join('/');

const inOrder = (left: string, right: string) => (left < right ? -1 : Number(left > right));

function canonicalQuery(query: CanonicalParts['query']): string {
  return query
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort(inOrder)
    .join('&');
}

const signedHeadersOf = (headers: Readonly<Record<string, string>>) =>
  Object.keys(headers).sort(inOrder).join(';');

export function canonicalRequest({ verb, path, query, headers, payload }: CanonicalParts): string {
  const lines = Object.keys(headers)
    .sort(inOrder)
    .map((name) => `${name}:${(headers[name] ?? '').trim().replace(/\s+/g, ' ')}\n`);
  return [
    verb,
    encodePath(path),
    canonicalQuery(query),
    lines.join(''),
    signedHeadersOf(headers),
    payload,
  ].join('\n');
}

/** `scope` is `DATE/REGION/storage/goog4_request`. */
export function stringToSign(timestamp: string, scope: string, canonical: string): string {
  const digest = createHash('sha256').update(canonical).digest('hex');
  return [ALGORITHM, timestamp, scope, digest].join('\n');
}

/** Of `20261201T120000Z`; null when it is none. */
export function readCompactTime(text: string): number | null {
  const match = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  if (match === null) {
    return null;
  }
  const [, year, month, day, hour, minute, second] = match;
  const epochMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(epochMs) ? null : epochMs;
}
