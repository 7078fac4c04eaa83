// The XML API of Cloud Storage, as far as single objects go: GET, PUT and DELETE of `/bucket/object`, by
// bearer token or by a signature in the query, and uploads by a form with a signed policy.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Call, Context, Methods, Reply } from '#scripts/local-cloud/call.ts';
import { asNumber, asObject, asString, type JsonObject } from '#scripts/local-cloud/json.ts';
import { deleteObject, getObject } from '#scripts/local-cloud/storage/objects.ts';
import { isSigned, speakerOfForm, speakerOfRequest } from '#scripts/local-cloud/storage/signed.ts';
import { insertObject } from '#scripts/local-cloud/storage/writes.ts';

/** A request as it came in: what a signature is made over. */
export interface XmlRequest {
  readonly verb: string;
  /** `/bucket/object`, decoded. */
  readonly path: string;
  /** Decoded, in their order. */
  readonly query: readonly (readonly [string, string])[];
  /** By their names in lower case, `host` among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** Of a form: every field before the file, by its name in lower case. */
  readonly fields?: Readonly<Record<string, string>>;
}

type Act = (context: Context, call: Call, request: XmlRequest) => Reply;

/** Who may act: the account of the signature where there is one, else that of the token. */
function withSpeaker(act: Act) {
  return (context: Context, call: Call): Reply => {
    const request = call.body as XmlRequest;
    if (!isSigned(request)) {
      return act(context, call, request);
    }
    const speaker = speakerOfRequest(context, request);
    return 'refusal' in speaker
      ? speaker.refusal
      : spoken(act(context, { ...call, principal: speaker.account }, request), speaker.account);
  };
}

const spoken = (reply: Reply, account: string | null): Reply =>
  account === null ? reply : { ...reply, speaker: account };

const CONDITIONS = [
  ['x-goog-if-generation-match', 'ifGenerationMatch'],
  ['x-goog-if-metageneration-match', 'ifMetagenerationMatch'],
] as const;

/** Preconditions and the generation, as the JSON API's methods take them. */
function paramsOf({ params }: Call, { headers, query }: XmlRequest): Record<string, string> {
  const found: Record<string, string> = { ...params };
  for (const [header, param] of CONDITIONS) {
    const value = headers[header];
    if (value !== undefined) found[param] = value;
  }
  const generation = query.find(([name]) => name === 'generation')?.[1];
  return generation === undefined ? found : { ...found, generation };
}

const get: Act = (context, call, request) => {
  const { range, 'accept-encoding': acceptEncoding } = request.headers;
  return getObject(context, {
    ...call,
    params: {
      ...paramsOf(call, request),
      alt: 'media',
      ...(range === undefined ? {} : { range }),
      ...(acceptEncoding === undefined ? {} : { acceptEncoding }),
    },
  });
};

const remove: Act = (context, call, request) =>
  deleteObject(context, { ...call, params: paramsOf(call, request) });

/** `crc32c=…` and `md5=…` of `x-goog-hash`; several are parted by commas. */
function hashesOf(headers: XmlRequest['headers']): JsonObject {
  const pairs = (headers['x-goog-hash'] ?? '').split(',').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
  const hashes = new Map(pairs);
  const md5Hash = hashes.get('md5') ?? headers['content-md5'];
  const crc32c = hashes.get('crc32c');
  return {
    ...(md5Hash === undefined ? {} : { md5Hash }),
    ...(crc32c === undefined ? {} : { crc32c }),
  };
}

function metadataOf(headers: Readonly<Record<string, string>>): JsonObject {
  const own = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('x-goog-meta-') ? [[name.slice('x-goog-meta-'.length), value] as const] : [],
  );
  return {
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    cacheControl: headers['cache-control'],
    ...(own.length === 0 ? {} : { metadata: Object.fromEntries(own) }),
  };
}

/** `min,max` of the header by which a signed address bounds an upload. */
function outsideRange({ headers, bytes }: XmlRequest): Reply | null {
  const range = headers['x-goog-content-length-range'];
  const [least = 0, most = Number.POSITIVE_INFINITY] = range?.split(',').map(Number) ?? [];
  if (bytes.length < least) return refuse(400, 'EntityTooSmall', 'The upload is too small.');
  return bytes.length > most ? refuse(400, 'EntityTooLarge', 'The upload is too large.') : null;
}

const put: Act = (context, call, request) => {
  const metadata = { ...metadataOf(request.headers), ...hashesOf(request.headers) };
  const body = { bytes: request.bytes, metadata };
  const refusal = outsideRange(request);
  return (
    refusal ??
    written(insertObject(context, { ...call, params: paramsOf(call, request), body }), 200)
  );
};

/** What the reply tells of the object that was stored stands in its headers. */
function written(reply: Reply, status: number): Reply {
  if (reply.status !== 200) {
    return reply;
  }
  const { generation, metageneration, size, crc32c, md5Hash } = asObject(reply.body);
  const md5 = String(md5Hash);
  return {
    status,
    headers: {
      etag: `"${Buffer.from(md5, 'base64').toString('hex')}"`,
      'x-goog-generation': String(generation),
      'x-goog-metageneration': String(metageneration),
      'x-goog-hash': `crc32c=${crc32c},md5=${md5}`,
      'x-goog-stored-content-encoding': 'identity',
      'x-goog-stored-content-length': String(size),
    },
  };
}

/** A form has no preconditions: what is there is overwritten, by accounts that may. */
function post(context: Context, call: Call): Reply {
  const { fields = {}, bytes } = call.body as XmlRequest;
  const { bucket = '' } = call.params;
  const speaker =
    fields.policy === undefined
      ? { account: call.principal }
      : speakerOfForm(context, bucket, fields, bytes);
  if ('refusal' in speaker) {
    return speaker.refusal;
  }
  const { key = '' } = fields;
  const body = { bytes, metadata: metadataOf(fields) };
  const params = { ...call.params, object: key };
  const reply = insertObject(context, { ...call, principal: speaker.account, params, body });
  const wanted = asNumber(fields.success_action_status);
  const status = wanted === 200 || wanted === 201 ? wanted : 204;
  return spoken(written(reply, status), speaker.account);
}

const CODES: Readonly<Record<string, string>> = {
  notFound: 'NoSuchKey',
  forbidden: 'AccessDenied',
  conditionNotMet: 'PreconditionFailed',
  rateLimitExceeded: 'SlowDown',
  backendError: 'ServiceUnavailable',
  requestedRangeNotSatisfiable: 'InvalidRange',
  authError: 'AuthenticationRequired',
};

const escapeXml = (text: string) =>
  text.replace(/[<>&]/g, (sign) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;' })[sign] ?? '');

/** A refusal of the step as the XML API words it; every other reply as it is. */
export function asXml(reply: Reply): Reply {
  const error = asObject(reply.body?.error);
  if (reply.body?.error === undefined) {
    return reply;
  }
  const [detail] = (error.errors ?? []) as readonly JsonObject[];
  const reason = asString(detail?.reason) ?? '';
  const message = String(error.message);
  const code = /bucket does not exist/.test(message) ? 'NoSuchBucket' : (CODES[reason] ?? reason);
  const text = `<?xml version='1.0' encoding='UTF-8'?><Error><Code>${code}</Code><Message>${escapeXml(message)}</Message></Error>`;
  const headers = { ...reply.headers, 'content-type': 'application/xml; charset=UTF-8' };
  const { body: _, ...rest } = reply;
  return { ...rest, bytes: Buffer.from(text), headers };
}

export const xmlMethods: Methods = {
  'storage.xml.get': withSpeaker(get),
  'storage.xml.put': withSpeaker(put),
  'storage.xml.delete': withSpeaker(remove),
  'storage.xml.post': post,
};
