// Cloud Storage addresses in requests: `gs://bucket/object` and prefixes that end in `/`. Object
// names are data: they are taken literally and never expanded by anything.
import type { Broken } from '#shared/plan/fault.ts';
import { hasControlCharacter } from '#shared/plan/text.ts';

export const BUCKET_NAME = /^[a-z0-9](?:[a-z0-9._-]{1,220})[a-z0-9]$/;
const OBJECT_BYTES_MAX = 1024;

export interface GsAddress {
  readonly bucket: string;
  /** The object's name, or the prefix with its last `/`; empty for a whole bucket. */
  readonly object: string;
}

/** `gs://bucket/…` in its two parts, or null when it is not such an address. */
function parseGsUri(uri: string): GsAddress | null {
  if (!uri.startsWith('gs://')) return null;
  const slash = uri.indexOf('/', 5);
  if (slash < 0) return null;
  return { bucket: uri.slice(5, slash), object: uri.slice(slash + 1) };
}

/** The two parts of an address that has been checked before. */
export function requireGsUri(uri: string): GsAddress {
  const address = parseGsUri(uri);
  if (address === null) throw new Error(`not a gs:// address: ${uri}`);
  return address;
}

/** An object or a prefix. */
export function brokenGsUri(uri: string): Broken | null {
  return brokenAddress(
    uri,
    'an input is gs://bucket/object, or a prefix that ends in "/"',
    'gs://my-bucket/data/in.csv or gs://my-bucket/data/',
  );
}

/** A prefix alone: it ends in `/`. */
export function brokenGsPrefix(uri: string): Broken | null {
  const accepted = 'for example gs://my-bucket/out/';
  const rule = 'a prefix is gs://bucket/path/ and ends in "/"';
  if (!uri.endsWith('/'))
    return { rule, accepted: `${uri}/`.startsWith('gs://') ? `${uri}/` : accepted };
  return brokenAddress(uri, rule, accepted);
}

/** One object whose name ends as told. */
export function brokenGsObject(uri: string, ending: string): Broken | null {
  const broken: Broken = {
    rule: `this is one object, gs://bucket/name${ending}`,
    accepted: `for example gs://my-bucket/runs/code/app-<sha256>${ending}`,
  };
  return uri.endsWith(ending) ? brokenAddress(uri, broken.rule, broken.accepted) : broken;
}

function brokenAddress(uri: string, rule: string, accepted: string): Broken | null {
  const address = parseGsUri(uri);
  if (address === null || !BUCKET_NAME.test(address.bucket)) return { rule, accepted };
  if (hasControlCharacter(address.object)) {
    return { rule: 'an object name has no control characters', accepted };
  }
  if (Buffer.byteLength(address.object) > OBJECT_BYTES_MAX) {
    return { rule: `an object name has at most ${OBJECT_BYTES_MAX} bytes`, accepted };
  }
  return null;
}
