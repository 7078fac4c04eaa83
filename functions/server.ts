// Serves one registered function. A listener in front of the framework's own judges the headers first:
// caller, method, size; only then is the body read, and handed over as raw bytes, unparsed. At SIGTERM
// running requests are finished. The framework alone would parse first, answer a broken body with a 400
// that Pub/Sub repeats for days, and cut every running request at SIGTERM.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import '#functions/main.ts';
import { DRAIN_TIMEOUT_MS, type DrainEnd, drainAtSignals, drainServer } from '#functions/drain.ts';
import { systemClock } from '#shared/cloud/clock.ts';
import { readSettings } from '#shared/cloud/config.ts';
import type { Log } from '#shared/cloud/log.ts';
import { systemLog as log } from '#shared/cloud/system-log.ts';
import {
  type Authentication,
  createAuthenticator,
  type PushHeaders,
} from '#shared/push/authenticate.ts';
import { discardBody, readBody } from '#shared/push/body.ts';
import { PUSH_BODY_BYTES_MAX } from '#shared/push/limits.ts';

export interface ServerOptions {
  /** The name under which the function is registered. */
  readonly target: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** All addresses of the machine when left out. */
  readonly host?: string;
  readonly authenticate: (headers: PushHeaders) => Promise<Authentication>;
  readonly log: Log;
  readonly bodyBytesMax?: number;
}

export interface RunningServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Accepts nothing new and waits for what is running; cuts it off when the time is over. */
  drain(timeoutMs?: number): Promise<DrainEnd>;
}

interface Refusal {
  readonly status: 401 | 403 | 405 | 413 | 415 | 503;
  readonly reason: string;
}

/** Starts to listen; the function must be registered. Throws when the port is taken. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { target, port, host, log } = options;
  // The framework's only public way to its server. It is never bound to a port: requests are given to it.
  const framework = getTestServer(target);
  const running = new Set<ServerResponse>();
  const server = createServer();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    running.add(response);
    response.once('close', () => running.delete(response));
    if (!server.listening) response.setHeader('connection', 'close');
    handle(request, response, { ...options, framework }).catch((error: unknown) => {
      log('ERROR', 'request-failed', `${target}: ${String(error)}`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
  server.on('request', serve);
  // Who waits for "100 Continue" sends no body before the headers are judged.
  server.on('checkContinue', serve);
  server.listen(port, host);
  await once(server, 'listening');
  const boundPort = portOf(server);
  let drained: Promise<DrainEnd> | null = null;
  const drain = (timeoutMs = DRAIN_TIMEOUT_MS) => {
    drained ??= drainServer(server, running, timeoutMs);
    return drained;
  };
  return {
    port: boundPort,
    url: `http://127.0.0.1:${boundPort}`,
    drain,
    async [Symbol.asyncDispose]() {
      await drain(0);
    },
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServerOptions & { readonly framework: Server },
): Promise<void> {
  const { bodyBytesMax = PUSH_BODY_BYTES_MAX, framework } = context;
  const refusal = await judgeHeaders(request, context.authenticate, bodyBytesMax);
  if (refusal !== null) return refuse(request, response, { ...context, refusal });
  if (request.headers.expect !== undefined) response.writeContinue();
  const body = await readBody(request, bodyBytesMax);
  switch (body.kind) {
    case 'cut':
      return;
    case 'too-large': {
      const tooLarge = { status: 413, reason: `body above ${bodyBytesMax} bytes` } as const;
      return refuse(request, response, { ...context, refusal: tooLarge });
    }
    case 'read':
      // A body that has been read already is left alone by the framework's parsers.
      Object.assign(request, { rawBody: body.bytes });
      framework.emit('request', request, response);
      return;
    default:
      return body satisfies never;
  }
}

async function judgeHeaders(
  request: IncomingMessage,
  authenticate: ServerOptions['authenticate'],
  bodyBytesMax: number,
): Promise<Refusal | null> {
  const caller = await authenticate(request.headers);
  if (caller.kind === 'refused') return caller;
  if (caller.kind === 'cannot-know') return { status: 503, reason: caller.reason };
  if (request.method !== 'POST') return { status: 405, reason: `method ${request.method}` };
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return { status: 415, reason: `content encoding ${encoding}` };
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) {
    return { status: 413, reason: `body above ${bodyBytesMax} bytes` };
  }
  return null;
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServerOptions & { readonly refusal: Refusal },
): void {
  const { refusal, target, log, bodyBytesMax = PUSH_BODY_BYTES_MAX } = context;
  log('WARNING', 'request-refused', `${target}: ${refusal.status} ${refusal.reason}`, {
    ...refusal,
  });
  const headers: Record<string, string> = { 'content-type': 'text/plain; charset=utf-8' };
  if (refusal.status === 401) headers['www-authenticate'] = 'Bearer';
  if (refusal.status === 405) headers.allow = 'POST';
  response.writeHead(refusal.status, headers).end(`refused: ${refusal.reason}\n`);
  discardBody(request, bodyBytesMax);
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server has no TCP port');
  return address.port;
}

/** Cloud Run's own names for what to serve and where; the target is a name that main.ts registers. */
export async function serveProcess(environment: NodeJS.ProcessEnv): Promise<void> {
  try {
    const { FUNCTION_TARGET: target = '', PORT: port = '8080' } = environment;
    if (!/^\d{1,5}$/.test(port)) throw new Error(`PORT is ${JSON.stringify(port)}: not a port`);
    const { push } = readSettings(environment);
    const authenticate = createAuthenticator(push, { clock: systemClock, log });
    const server = await startServer({ target, port: Number(port), authenticate, log });
    drainAtSignals(() => server.drain(), log);
    log('INFO', 'server-started', `${target} listens on port ${server.port}`);
  } catch (error) {
    log('CRITICAL', 'server-not-started', String(error));
    process.exitCode = 1;
  }
}

if (import.meta.main) void serveProcess(process.env);
