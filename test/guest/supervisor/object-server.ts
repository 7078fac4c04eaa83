// A loopback server with what a task reaches: the metadata server's token, and Cloud Storage's XML API by
// bearer token (the bootstrap alone), by signed address and by form. It holds preconditions, gives
// `x-goog-hash` and plays planted faults. Signatures themselves are the local cloud's affair.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { crc32cText } from '#scripts/local-cloud/storage/crc32c.ts';
import type { Form, SignedAddress } from '#shared/plan/bootstrap.ts';

export interface PlantedFault {
  /** Part of `METHOD path?query`. */
  readonly at: string;
  readonly times: number;
  /** A status; the connection cut before or after the work is done; other sums; a byte less. */
  readonly kind: number | 'cut' | 'lose-reply' | 'wrong-crc32c' | 'wrong-md5' | 'short';
  readonly headers?: Readonly<Record<string, string>>;
}

interface Reply {
  readonly status: number;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const BUCKET = 'b1';
const TOKEN = 'token-of-the-task';

export class ObjectServer implements AsyncDisposable {
  readonly objects = new Map<string, { readonly bytes: Buffer; readonly generation: string }>();
  readonly requests: string[] = [];
  /** Prefixes whose forms may only create. */
  readonly createOnly = ['runs/'];
  #faults: { fault: PlantedFault; left: number }[] = [];
  #generation = 1_000;
  #seen: { readonly text: string; readonly see: () => void }[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  static async start(): Promise<ObjectServer> {
    const started = new ObjectServer();
    const { promise, resolve } = Promise.withResolvers<void>();
    started.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return started;
  }

  get host(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return `127.0.0.1:${address.port}`;
  }

  plant(...faults: readonly PlantedFault[]): void {
    this.#faults.push(...faults.map((fault) => ({ fault, left: fault.times })));
  }

  /** Resolves with the next request whose `METHOD path` contains the text. */
  next(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#seen.push({ text, see: resolve });
    return promise;
  }

  signed(object: string, headers: Readonly<Record<string, string>> = {}): SignedAddress {
    return { url: `http://${this.host}/${BUCKET}/${object}?X-Goog-Signature=ok`, headers };
  }

  form(prefix: string): Form {
    return {
      url: `http://${this.host}/${BUCKET}`,
      fields: { policy: prefix, 'x-goog-signature': 'ok' },
    };
  }

  put(object: string, bytes: Buffer | string): void {
    this.#generation += 1;
    this.objects.set(object, { bytes: Buffer.from(bytes), generation: String(this.#generation) });
  }

  text(object: string): string | undefined {
    return this.objects.get(object)?.bytes.toString('utf8');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A sender that was killed on the way has asked for nothing.
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const url = new URL(request.url ?? '', 'http://here');
    const line = `${request.method} ${url.pathname}`;
    this.requests.push(line);
    const planted = this.#faults.find(
      ({ fault, left }) => left > 0 && `${line}${url.search}`.includes(fault.at),
    );
    if (planted !== undefined) planted.left -= 1;
    const fault = planted?.fault;
    if (fault?.kind === 'cut') request.socket.destroy();
    else if (typeof fault?.kind === 'number') {
      response.writeHead(fault.kind, fault.headers).end('planted');
    } else {
      const reply = await this.#answer(request, url, body);
      if (fault?.kind === 'lose-reply') request.socket.destroy();
      else send(response, fault?.kind, reply);
    }
    for (const { see } of this.#seen.filter(({ text }) => line.includes(text))) see();
    this.#seen = this.#seen.filter(({ text }) => !line.includes(text));
  }

  async #answer(request: IncomingMessage, url: URL, body: Buffer): Promise<Reply> {
    const { method = '', headers } = request;
    if (url.pathname.endsWith('/service-accounts/default/token')) {
      if (headers['metadata-flavor'] !== 'Google') return { status: 403 };
      return { status: 200, body: JSON.stringify({ access_token: TOKEN, expires_in: 3599 }) };
    }
    const [, bucket, name = ''] =
      /^\/([^/]+)(?:\/(.*))?$/.exec(decodeURIComponent(url.pathname)) ?? [];
    if (bucket !== BUCKET) return { status: 404 };
    if (method === 'POST') return await this.#postForm(headers['content-type'] ?? '', body);
    const own = name.startsWith('runs/bootstrap/') && headers.authorization === `Bearer ${TOKEN}`;
    if (!own && url.searchParams.get('X-Goog-Signature') !== 'ok') return { status: 403 };
    const there = this.objects.get(name);
    if (method === 'PUT') {
      if (headers['x-goog-if-generation-match'] === '0' && there) return { status: 412 };
      this.put(name, body);
      return { status: 200, headers: sums(body) };
    }
    if (there === undefined) return { status: 404 };
    if (method === 'DELETE') this.objects.delete(name);
    return method === 'DELETE'
      ? { status: 204 }
      : { status: 200, body: there.bytes, headers: sums(there.bytes) };
  }

  async #postForm(contentType: string, body: Buffer): Promise<Reply> {
    const fields = await new Response(new Uint8Array(body), {
      headers: { 'content-type': contentType },
    }).formData();
    const [key, policy, file] = [fields.get('key'), fields.get('policy'), fields.get('file')];
    if (typeof key !== 'string' || typeof policy !== 'string' || !(file instanceof Blob)) {
      return { status: 400, body: 'a field is missing' };
    }
    if ([...fields.keys()].at(-1) !== 'file') return { status: 400, body: 'fields after the file' };
    if (!key.startsWith(policy)) return { status: 403, body: 'the key is outside the policy' };
    if (this.createOnly.some((prefix) => key.startsWith(prefix)) && this.objects.has(key)) {
      return { status: 403, body: 'storage.objects.delete is denied' };
    }
    const bytes = Buffer.from(await file.arrayBuffer());
    this.put(key, bytes);
    const generation = this.objects.get(key)?.generation ?? '';
    return { status: 204, headers: { ...sums(bytes), 'x-goog-generation': generation } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }
}

function send(
  response: ServerResponse,
  fault: PlantedFault['kind'] | undefined,
  reply: Reply,
): void {
  const headers: Record<string, string> = { ...reply.headers };
  const hash = headers['x-goog-hash'];
  if (hash !== undefined && fault === 'wrong-crc32c') {
    headers['x-goog-hash'] = hash.replace(/crc32c=[^,]*/, 'crc32c=AAAAAA==');
  }
  if (hash !== undefined && fault === 'wrong-md5') {
    headers['x-goog-hash'] = hash.replace(/md5=.*/, 'md5=AAAAAAAAAAAAAAAAAAAAAA==');
  }
  const body = Buffer.from(reply.body ?? '');
  response.writeHead(reply.status, headers).end(fault === 'short' ? body.subarray(1) : body);
}

function sums(bytes: Buffer): Record<string, string> {
  const md5 = createHash('md5').update(bytes).digest('base64');
  return { 'x-goog-hash': `crc32c=${crc32cText(bytes)},md5=${md5}` };
}
