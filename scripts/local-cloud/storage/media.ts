// The content of an object as a download gives it: checksums in headers, byte ranges, and gzip content
// unpacked for callers who do not accept it (decompressive transcoding).
import { gunzipSync } from 'node:zlib';
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import { checksumsOf, etagOf, type StoredObject } from '#scripts/local-cloud/storage/state.ts';

function baseHeaders(object: StoredObject): Record<string, string> {
  return {
    'content-type': object.contentType ?? 'application/octet-stream',
    etag: etagOf(object),
    'last-modified': new Date(object.updatedMs).toUTCString(),
    'x-goog-generation': String(object.generation),
    'x-goog-metageneration': String(object.metageneration),
    get 'x-goog-hash'() {
      const { crc32c, md5 } = checksumsOf(object);
      return `crc32c=${crc32c},md5=${md5}`;
    },
    'x-goog-stored-content-encoding': object.contentEncoding ?? 'identity',
    'x-goog-stored-content-length': String(object.bytes.length),
    'x-goog-storage-class': 'STANDARD',
  };
}

function unpacked(bytes: Uint8Array): Uint8Array | null {
  try {
    return gunzipSync(bytes);
  } catch {
    // Labelled gzip and is not: the real service then answers 503 as well.
    return null;
  }
}

/** `params.acceptEncoding` and `params.range` carry the request headers of those names. */
export function mediaReply(object: StoredObject, params: Call['params']): Reply {
  const headers = baseHeaders(object);
  if (object.contentEncoding !== 'gzip') {
    return withRange(object.bytes.slice(), headers, params.range);
  }
  if (/\bgzip\b/.test(params.acceptEncoding ?? '')) {
    headers['content-encoding'] = 'gzip';
    return withRange(object.bytes.slice(), headers, params.range);
  }
  const bytes = unpacked(object.bytes);
  if (bytes === null) {
    return refuse(503, 'backendError', `${object.name} is marked gzip and cannot be unpacked.`);
  }
  headers.warning = '214 UploadServer gunzipped';
  return { status: 200, bytes, headers };
}

/** Serves `bytes=a-b`, `bytes=a-` and `bytes=-n`; anything else is the whole content. */
function withRange(
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
  range: string | undefined,
): Reply {
  const match = /^bytes=(\d*)-(\d*)$/.exec(range ?? '');
  const [, from = '', to = ''] = match ?? [];
  if (match === null || (from === '' && to === '')) {
    return { status: 200, bytes, headers };
  }
  const size = bytes.length;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size : Math.min(size, Number(to) + 1);
  if (start >= size || end <= start) {
    return {
      ...refuse(416, 'requestedRangeNotSatisfiable', `Request range not satisfiable: ${range}`),
      headers: { 'content-range': `bytes */${size}` },
    };
  }
  return {
    status: 206,
    bytes: bytes.subarray(start, end),
    headers: { ...headers, 'content-range': `bytes ${start}-${end - 1}/${size}` },
  };
}
