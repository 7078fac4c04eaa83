// Requests of Cloud Storage's XML API as calls: paths of the form `/bucket/object`, and forms.
import type { Call } from '#scripts/local-cloud/call.ts';
import { decode } from '#scripts/local-cloud/rest/router.ts';
import { boundaryOf, partsOf } from '#scripts/local-cloud/rest/uploads.ts';
import type { XmlRequest } from '#scripts/local-cloud/storage/xml.ts';

const METHODS: Readonly<Record<string, string>> = {
  GET: 'storage.xml.get',
  HEAD: 'storage.xml.get',
  PUT: 'storage.xml.put',
  DELETE: 'storage.xml.delete',
};

export interface HttpRequest {
  readonly verb: string;
  /** Absolute, or path and query alone. */
  readonly url: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

/** Paths of other APIs that nobody serves are no objects. */
const OTHER_APIS = /^\/(?:apis|batch|compute|download|local|oauth2|storage|upload|v\d)\//;

function pairsOf(search: string): (readonly [string, string])[] | null {
  const pairs = search.split('&').filter((pair) => pair !== '');
  const read = pairs.map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return [decode(name), decode(value.join('='))] as const;
  });
  return read.every((pair): pair is readonly [string, string] => !pair.includes(null))
    ? read
    : null;
}

/** Null when the request is none of that API. */
export function xmlCall(request: HttpRequest, principal: string | null): Call | null {
  const local = request.url.replace(/^https?:\/\/[^/]+/, '');
  const [rawPath = '', ...search] = local.split('?');
  const path = decode(rawPath);
  const query = pairsOf(search.join('?'));
  const [, bucket = '', object = ''] =
    /^\/([a-z0-9][a-z0-9._-]{2,221})(?:\/(.*))?$/s.exec(path ?? '') ?? [];
  if (path === null || query === null || bucket === '' || OTHER_APIS.test(path)) {
    return null;
  }
  const { verb, headers, bytes } = request;
  const read: XmlRequest = { verb, path, query, headers, bytes };
  if (verb === 'POST') {
    return object === '' ? formCall(read, bytes, bucket, principal) : null;
  }
  const method = METHODS[verb];
  return method === undefined || object === ''
    ? null
    : { method, principal, params: { bucket, object }, body: read };
}

/** The file is the last part that counts: what comes after it is not looked at. */
function formCall(
  request: XmlRequest,
  bytes: Buffer,
  bucket: string,
  principal: string | null,
): Call | null {
  const boundary = boundaryOf(request.headers['content-type'] ?? '');
  const fields: Record<string, string> = {};
  for (const part of boundary === null ? [] : partsOf(bytes, boundary)) {
    const name = /\bname="([^"]*)"/.exec(part.disposition ?? '')?.[1]?.toLowerCase();
    if (name === 'file') {
      const body = { ...request, fields, bytes: part.bytes };
      return {
        method: 'storage.xml.post',
        principal,
        params: { bucket, object: fields.key ?? '' },
        body,
      };
    }
    if (name !== undefined) {
      fields[name] = part.bytes.toString();
    }
  }
  return null;
}
