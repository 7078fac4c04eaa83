// An HTTP server on a loopback port that answers what a test says, and remembers what it was asked.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer =
  | {
      readonly status: number;
      readonly json?: unknown;
      readonly text?: string | Uint8Array;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Accepts the request and never answers. */
  | 'hang'
  /** Cuts the connection without an answer. */
  | 'reset';

export interface Loopback extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  readonly seen: SeenRequest[];
  /** Whether requests came, and each was cut by the client while it waited for an answer. */
  isAbandoned(): boolean;
}

/** Answers each request by `answer`; `index` counts from 0. */
export async function startLoopback(
  answer: (request: SeenRequest, index: number) => Answer,
): Promise<Loopback> {
  const seen: SeenRequest[] = [];
  let abandoned = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://loopback');
      const entry: SeenRequest = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      response.on('close', () => {
        if (!response.writableFinished) abandoned += 1;
      });
      send(response, answer(entry, seen.push(entry) - 1));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    seen,
    isAbandoned: () => seen.length > 0 && abandoned === seen.length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function send(response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return;
  if (answer === 'reset') {
    response.destroy();
    return;
  }
  const body = answer.text ?? (answer.json === undefined ? '' : JSON.stringify(answer.json));
  const type = answer.json === undefined ? 'text/plain' : 'application/json; charset=UTF-8';
  response.writeHead(answer.status, { 'content-type': type, ...answer.headers });
  response.end(body);
}

/** The error body of Storage and Compute, as their references print it. */
export function googleError(status: number, reason: string, message = 'planted'): Answer {
  const error = { code: status, message, errors: [{ domain: 'global', reason, message }] };
  return { status, json: { error } };
}
