// Metadata servers: one listener on a free port of the loopback address for each machine and each
// function's account, because who asks is known by where it asks.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Reply } from '#scripts/local-cloud/call.ts';
import { readBody, sendReply } from '#scripts/local-cloud/server/http.ts';
import type { Runtime } from '#scripts/local-cloud/server/runtime.ts';

/** Whose metadata: a machine by its numeric id, or the account that a function runs as. */
export type MetadataIdentity =
  | { readonly kind: 'machine'; readonly id: string }
  | { readonly kind: 'account'; readonly email: string };

export interface MetadataServer extends AsyncDisposable {
  /** `127.0.0.1:port`, the form of GCE_METADATA_HOST. */
  readonly host: string;
}

const HANG_SECONDS_MAX = 600;

function paramsOf(identity: MetadataIdentity, request: IncomingMessage): Record<string, string> {
  const url = new URL((request.url ?? '/').replace(/^\/+/, '/'), 'http://metadata');
  const params: Record<string, string> = Object.fromEntries(url.searchParams);
  // Not from URL: the guest agent asks for a path with a double slash.
  params.path = (request.url ?? '/').split('?')[0] ?? '/';
  const { 'metadata-flavor': flavor, 'x-forwarded-for': forwarded } = request.headers;
  if (typeof flavor === 'string') {
    params.flavor = flavor;
  }
  if (typeof forwarded === 'string') {
    params.forwarded = forwarded;
  }
  if (identity.kind === 'machine') {
    return { ...params, machine: identity.id };
  }
  return { ...params, account: identity.email };
}

/** Answers at once, or with `wait_for_change` when the value has another etag than `last_etag`. */
async function answer(
  runtime: Runtime,
  params: Record<string, string>,
  closed: AbortSignal,
): Promise<Reply> {
  const read = () => runtime.perform({ method: 'metadata.get', principal: null, params });
  let reply = read();
  if (params.wait_for_change !== 'true' || reply.status !== 200) {
    return reply;
  }
  const seconds = Math.min(Number(params.timeout_sec ?? HANG_SECONDS_MAX), HANG_SECONDS_MAX);
  const timeout = AbortSignal.timeout(Math.max(0, seconds) * 1000);
  const signal = AbortSignal.any([closed, timeout]);
  const lastEtag = params.last_etag ?? reply.headers.etag;
  while (reply.headers.etag === lastEtag && !signal.aborted) {
    await runtime.changed(signal);
    reply = read();
  }
  return reply;
}

async function handle(
  runtime: Runtime,
  identity: MetadataIdentity,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request);
  const params = paramsOf(identity, request);
  if (request.method === 'PUT') {
    const reply = runtime.perform({ method: 'metadata.put', principal: null, params, body });
    return sendReply(request, response, reply);
  }
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  sendReply(request, response, await answer(runtime, params, closed.signal));
}

export async function openMetadataServer(
  runtime: Runtime,
  identity: MetadataIdentity,
): Promise<MetadataServer> {
  const server = createServer((request, response) => {
    handle(runtime, identity, request, response).catch(() => response.destroy());
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  return { host: `127.0.0.1:${port}`, [Symbol.asyncDispose]: () => close(server) };
}

export async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Ends the listener and every connection that is still open. */
export async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
