// A loopback stand-in for what one machine talks to: metadata server, Cloud Storage's JSON API, Compute's
// delete. It records every request, holds preconditions as Cloud Storage does, and plays planted faults.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface RecordedRequest {
  readonly method: string;
  /** Path and query as they came, percent-encoding included. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** 0: no reply was sent. */
  status: number;
}

/** What goes wrong with requests whose `METHOD path?query` contains `at`, `times` times. */
export interface Fault {
  readonly at: string;
  readonly times?: number;
  /** A status; no answer at all; a cut connection; done, but the reply cut; another body. */
  readonly kind: number | 'hang' | 'cut' | 'lose-reply' | 'wrong-md5' | 'wrong-bytes';
  /** Runs when the fault is played. */
  readonly whenPlayed?: () => void;
}

export interface StoredObject {
  readonly generation: number;
  readonly bytes: Buffer;
  readonly contentType: string;
}

export interface LoggedBatch {
  readonly logName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly resource: object;
  readonly entries: readonly {
    readonly insertId: string;
    readonly timestamp?: string;
    readonly textPayload: string;
  }[];
}

interface Reply {
  readonly status: number;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const TOKEN_LIFE_SECONDS = 3600;

export class FakeGoogle implements AsyncDisposable {
  readonly requests: RecordedRequest[] = [];
  readonly faults: (Fault & { left: number })[] = [];
  /** Live objects by `bucket/name`, and all that was ever written, oldest first. */
  readonly objects = new Map<string, StoredObject>();
  readonly written: { readonly name: string; readonly bytes: Buffer }[] = [];
  readonly metadata = new Map<string, string>([
    ['instance/id', '4242'],
    ['instance/preempted', 'FALSE'],
  ]);
  readonly guestAttributes = new Map<string, string>();
  /** Secret Manager: payloads by the version's full name. */
  readonly secrets = new Map<string, Buffer>();
  /** Cloud Logging: every body of `entries:write` that was accepted. */
  readonly logged: LoggedBatch[] = [];
  /** Tokens handed out so far; the newest is good. */
  tokens = 0;
  tokenText = (token: string) =>
    JSON.stringify({ access_token: token, expires_in: TOKEN_LIFE_SECONDS, token_type: 'Bearer' });
  #generation = 1000;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<FakeGoogle> {
    const fake = new FakeGoogle();
    const { promise, resolve } = Promise.withResolvers<void>();
    fake.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return fake;
  }

  get host(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return `127.0.0.1:${address.port}`;
  }

  plant(...faults: Fault[]): void {
    this.faults.push(...faults.map((fault) => ({ ...fault, left: fault.times ?? 1 })));
  }

  put(name: string, content: string | Buffer): StoredObject {
    const stored = {
      generation: ++this.#generation,
      bytes: Buffer.from(content),
      contentType: 'application/octet-stream',
    };
    this.objects.set(name, stored);
    this.written.push({ name, bytes: stored.bytes });
    return stored;
  }

  /** Requests whose `METHOD path?query` contains the text. */
  requestsAt(text: string): RecordedRequest[] {
    return this.requests.filter(({ method, target }) => `${method} ${target}`.includes(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A sender that was killed on the way has asked for nothing.
    const sent = await buffer(request).catch(() => null);
    if (sent === null) return;
    const target = request.url ?? '';
    const url = new URL(target, 'http://fake');
    const recorded: RecordedRequest = {
      method: request.method ?? '',
      target,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: sent,
      status: 0,
    };
    this.requests.push(recorded);
    const fault = this.faults.find(
      ({ at, left }) => left > 0 && `${recorded.method} ${target}`.includes(at),
    );
    if (fault !== undefined) {
      fault.left -= 1;
      fault.whenPlayed?.();
    }
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'cut') return void request.socket.destroy();
    const reply =
      typeof fault?.kind === 'number'
        ? { status: fault.kind, body: `planted ${fault.kind}` }
        : this.#route(recorded, fault?.kind === 'wrong-md5');
    const body = fault?.kind === 'wrong-bytes' ? 'x'.repeat(reply.body?.length ?? 0) : reply.body;
    recorded.status = reply.status;
    if (fault?.kind === 'lose-reply') return void request.socket.destroy();
    response.writeHead(reply.status, reply.headers ?? {}).end(body);
  }

  #route(request: RecordedRequest, wrongMd5: boolean): Reply {
    const metadata = /^\/computeMetadata\/v1\/(.*)$/.exec(request.path)?.[1];
    if (metadata !== undefined) return this.#metadata(request, metadata);
    if (request.headers.authorization !== `Bearer token-${this.tokens}`) return { status: 401 };
    const upload = /^\/upload\/storage\/v1\/b\/([^/]+)\/o$/.exec(request.path)?.[1];
    if (upload !== undefined) {
      return this.#upload(request, `${upload}/${request.query.get('name')}`, wrongMd5);
    }
    const read = /^\/storage\/v1\/b\/([^/]+)\/o\/([^/]+)$/.exec(request.path);
    if (read !== null)
      return this.#read(request, `${read[1]}/${decodeURIComponent(read[2] ?? '')}`);
    const secret = /^\/v1\/(projects\/.+):access$/.exec(request.path)?.[1];
    if (secret !== undefined) return this.#secret(secret);
    if (request.path === '/v2/entries:write') return this.#log(request.body);
    if (request.method === 'DELETE' && request.path.startsWith('/compute/v1/projects/')) {
      return { status: 200, body: JSON.stringify({ kind: 'compute#operation' }) };
    }
    return { status: 404 };
  }

  /** As Secret Manager's REST reference has it. */
  #secret(name: string): Reply {
    const bytes = this.secrets.get(name);
    if (bytes === undefined)
      return { status: 404, body: '{"error":{"code":404,"status":"NOT_FOUND"}}' };
    const payload = { data: bytes.toString('base64') };
    return { status: 200, body: JSON.stringify({ name, payload }, null, 2) };
  }

  /** A body that is not UTF-8 or not JSON is refused as a whole. */
  #log(body: Buffer): Reply {
    try {
      this.logged.push(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)));
      return { status: 200, body: '{}' };
    } catch {
      return { status: 400, body: '{"error":{"code":400,"status":"INVALID_ARGUMENT"}}' };
    }
  }

  #metadata(request: RecordedRequest, key: string): Reply {
    if (request.headers['metadata-flavor'] !== 'Google') return { status: 403 };
    if (key.startsWith('instance/guest-attributes/') && request.method === 'PUT') {
      this.guestAttributes.set(key.slice('instance/guest-attributes/'.length), `${request.body}`);
      return { status: 200 };
    }
    if (key === 'instance/service-accounts/default/token') {
      this.tokens += 1;
      return { status: 200, body: this.tokenText(`token-${this.tokens}`) };
    }
    const value = this.metadata.get(key);
    return value === undefined ? { status: 404 } : { status: 200, body: value };
  }

  #upload(request: RecordedRequest, name: string, wrongMd5: boolean): Reply {
    const expected = request.query.get('ifGenerationMatch');
    const live = this.objects.get(name)?.generation ?? 0;
    if (expected !== null && Number(expected) !== live) return { status: 412 };
    const stored = this.put(name, request.body);
    const bytes = wrongMd5 ? Buffer.from('other bytes') : request.body;
    const fields = {
      kind: 'storage#object',
      name,
      generation: String(stored.generation),
      size: String(request.body.length),
      md5Hash: createHash('md5').update(bytes).digest('base64'),
      crc32c: 'AAAAAA==',
    };
    return { status: 200, body: JSON.stringify(fields, null, 2) };
  }

  #read(request: RecordedRequest, name: string): Reply {
    const stored = this.objects.get(name);
    const wanted = request.query.get('generation');
    if (stored === undefined || (wanted !== null && wanted !== String(stored.generation))) {
      return { status: 404 };
    }
    if (request.query.get('alt') !== 'media') return { status: 400 };
    return {
      status: 200,
      body: stored.bytes,
      headers: {
        'X-Goog-Generation': String(stored.generation),
        'X-Goog-Hash': `crc32c=AAAAAA==,md5=${createHash('md5').update(stored.bytes).digest('base64')}`,
      },
    };
  }
}
