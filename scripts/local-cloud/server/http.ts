// The HTTP edge: requests become calls, replies become responses. JSON text exists here alone.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import { principalOf } from '#scripts/local-cloud/iam.ts';
import { type RestTarget, routeRequest } from '#scripts/local-cloud/rest/router.ts';
import { readUpload } from '#scripts/local-cloud/rest/uploads.ts';
import { xmlCall } from '#scripts/local-cloud/rest/xml.ts';
import type { Runtime } from '#scripts/local-cloud/server/runtime.ts';
import { asXml } from '#scripts/local-cloud/storage/xml.ts';

const BODY_BYTES_MAX = 256 * 1024 * 1024;
const SLOW_MS = 2000;

/** The whole body; an oversized one ends the connection. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > BODY_BYTES_MAX) {
      throw new Error(`the body is larger than ${BODY_BYTES_MAX} bytes`);
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

export function sendReply(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  switch (reply.disturbance) {
    case 'cut':
      request.socket.destroy();
      return;
    case 'hang':
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"kind": "st');
      return;
    case 'slow':
      setTimeout(() => writeReply(request, response, reply), SLOW_MS);
      return;
    case undefined:
      writeReply(request, response, reply);
      return;
    default:
      reply.disturbance satisfies never;
  }
}

function writeReply(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const { status, headers } = reply;
  const json = reply.body === undefined ? null : Buffer.from(JSON.stringify(reply.body));
  const bytes = json ?? reply.bytes ?? null;
  const type = json === null ? {} : { 'content-type': 'application/json; charset=UTF-8' };
  const length = status === 204 || status === 304 ? {} : { 'content-length': bytes?.length ?? 0 };
  response.writeHead(status, { ...type, ...headers, ...length });
  response.end(request.method === 'HEAD' || bytes === null ? undefined : bytes);
}

/** The account of a bearer token; null without one; undefined when nobody gave it out. */
function readPrincipal(runtime: Runtime, request: IncomingMessage): string | null | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined) {
    return null;
  }
  const token = /^Bearer\s+(\S+)$/i.exec(authorization)?.[1] ?? '';
  return principalOf(runtime.world.iam, runtime.nowMs(), token);
}

/** Headers that the methods read like parameters. */
function addHeaderParams(target: RestTarget, request: IncomingMessage): RestTarget {
  const { range, 'accept-encoding': acceptEncoding } = request.headers;
  const userProject = request.headers['x-goog-user-project'];
  const params: Record<string, string> = { ...target.params };
  if (range !== undefined) {
    params.range = range;
  }
  if (typeof acceptEncoding === 'string') {
    params.acceptEncoding = acceptEncoding;
  }
  if (typeof userProject === 'string') {
    params.userProject ??= userProject;
  }
  // The v1 paths of Cloud Run name no region: the host does.
  const region = /^(?:https?:\/\/)?([a-z]+-[a-z]+\d+)-/.exec(request.url ?? '')?.[1];
  if (region !== undefined && target.method.startsWith('run.namespaces.')) {
    params.location = region;
  }
  if (request.url?.includes('/download/storage/') === true) {
    params.alt ??= 'media';
  }
  return { method: target.method, params };
}

const unknownToken = () =>
  refuse(401, 'authError', 'Invalid Credentials: an unknown or expired access token.');

function notFound(request: IncomingMessage): Reply {
  const text = `The requested URL ${request.url} was not found on this server.\n`;
  return { status: 404, bytes: Buffer.from(text), headers: { 'content-type': 'text/plain' } };
}

/** A call of Storage's XML API; null when the request is none. */
function readXmlCall(
  runtime: Runtime,
  request: IncomingMessage,
  bytes: Buffer,
): Call | Reply | null {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    headers[name] = Array.isArray(value) ? value.join(',') : (value ?? '');
  }
  const principal = readPrincipal(runtime, request);
  const { method: verb = 'GET', url = '/' } = request;
  const call = xmlCall({ verb, url, headers, bytes }, principal ?? null);
  return call !== null && principal === undefined ? asXml(unknownToken()) : call;
}

/** The call of a request, or the refusal of one that is none. */
function readCall(runtime: Runtime, request: IncomingMessage, bytes: Buffer): Call | Reply {
  const verb = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET');
  const routed = routeRequest(verb, request.url ?? '/');
  const principal = readPrincipal(runtime, request);
  if (routed === null) {
    return readXmlCall(runtime, request, bytes) ?? notFound(request);
  }
  if (principal === undefined) {
    return unknownToken();
  }
  const target = addHeaderParams(routed, request);
  if (request.url?.includes('/upload/storage/') === true) {
    const { headers } = request;
    const upload = readUpload(target, {
      contentType: headers['content-type'] ?? '',
      contentRange: headers['content-range'],
      uploadContentType: String(headers['x-upload-content-type'] ?? 'application/octet-stream'),
      bytes,
    });
    return 'fault' in upload
      ? refuse(400, 'badContent', upload.fault)
      : { ...upload.target, principal, body: upload.body };
  }
  const body = bytes.length === 0 ? undefined : parseJson(bytes);
  return body === null
    ? refuse(400, 'parseError', 'Invalid JSON payload received.')
    : { ...target, principal, ...(body === undefined ? {} : { body }) };
}

/** Null when the text is no JSON; a body that is the JSON null counts as none. */
function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) ?? undefined;
  } catch {
    return null;
  }
}

export async function handleRequest(
  runtime: Runtime,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.setHeader('date', new Date(runtime.nowMs()).toUTCString());
  const call = readCall(runtime, request, await readBody(request));
  if ('status' in call) {
    sendReply(request, response, call);
    return;
  }
  const answer = runtime.perform(call);
  const reply = call.method.startsWith('storage.xml.') ? asXml(answer) : answer;
  const uploadId = reply.headers['x-guploader-uploadid'];
  if (uploadId === undefined) {
    sendReply(request, response, reply);
    return;
  }
  const path = `/upload/storage/v1/b/${call.params.bucket}/o`;
  const location = `${runtime.world.baseUrl}${path}?uploadType=resumable&upload_id=${uploadId}`;
  sendReply(request, response, { ...reply, headers: { ...reply.headers, location } });
}
