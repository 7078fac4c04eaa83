// The texts that V4 signatures of Cloud Storage are made over (GOOG4-RSA-SHA256), and what is made of
// them: "Canonical requests" and "Policy document" of its documentation. Pure.
import { createHash } from 'node:crypto';

const ALGORITHM = 'GOOG4-RSA-SHA256';

export interface Stamp {
  /** `20261201T120000Z`. */
  readonly time: string;
  readonly scope: string;
  /** The account and the scope. */
  readonly credential: string;
}

export function stampOf(account: string, nowMs: number): Stamp {
  const time = instant(nowMs).replaceAll(/[-:]/g, '');
  const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`;
  return { time, scope, credential: `${account}/${scope}` };
}

export interface UnsignedUrl {
  /** What the account signs. */
  readonly text: string;
  /** The address without its signature, which is added to it as lower-case hex. */
  readonly url: string;
}

/** `headers` have lower-case names; exactly these are to be sent. */
export function unsignedUrl(
  request: {
    readonly method: string;
    /** `http://host:port`. */
    readonly origin: string;
    readonly bucket: string;
    readonly object: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Null: what is live. */
    readonly generation: string | null;
    readonly expiresSeconds: number;
  },
  stamp: Stamp,
): UnsignedUrl {
  const { method, origin, bucket, object, expiresSeconds } = request;
  // The port is no part of it: so sign Google's own clients.
  const headers = { ...request.headers, host: new URL(origin).hostname };
  const names = Object.keys(headers).sort();
  // In canonical order as they stand: by their bytes.
  const query = {
    'X-Goog-Algorithm': ALGORITHM,
    'X-Goog-Credential': stamp.credential,
    'X-Goog-Date': stamp.time,
    'X-Goog-Expires': String(expiresSeconds),
    'X-Goog-SignedHeaders': names.join(';'),
    ...(request.generation === null ? {} : { generation: request.generation }),
  };
  const path = `/${bucket}/${object}`.split('/').map(encode).join('/');
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = [
    method,
    path,
    pairs.join('&'),
    lines.sort().join(''),
    names.join(';'),
    'UNSIGNED-PAYLOAD',
  ].join('\n');
  const digest = createHash('sha256').update(canonical).digest('hex');
  return {
    text: [ALGORITHM, stamp.time, stamp.scope, digest].join('\n'),
    url: `${origin}${path}?${pairs.join('&')}&X-Goog-Signature=`,
  };
}

export interface UnsignedForm {
  /** What the account signs, and the field `policy`. */
  readonly policy: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** A form for every object whose name begins with `prefix`; it knows no condition on generations. */
export function unsignedForm(
  { bucket, prefix, untilMs }: { bucket: string; prefix: string; untilMs: number },
  stamp: Stamp,
): UnsignedForm {
  const fields = {
    'x-goog-date': stamp.time,
    'x-goog-credential': stamp.credential,
    'x-goog-algorithm': ALGORITHM,
  };
  const conditions = [
    ['starts-with', '$key', prefix],
    { bucket },
    ...Object.entries(fields).map(([name, value]) => ({ [name]: value })),
  ];
  const text = JSON.stringify({ conditions, expiration: instant(untilMs) });
  const policy = Buffer.from(escapeUnicode(text)).toString('base64');
  return { policy, fields: { ...fields, policy } };
}

/** RFC 3986: everything but letters, digits and `-._~`. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Without fractions of a second. */
const instant = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Policies are to be ASCII. */
const escapeUnicode = (json: string) =>
  json.replace(
    /[\u0080-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
