// Stands in front of the engine's registry: records every request, plays planted faults, and passes the
// rest on. Its loopback address is the registry's name in image references.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What goes wrong with requests whose `METHOD path` contains `at`, `times` times. */
export interface RegistryFault {
  readonly at: string;
  readonly times?: number;
  readonly kind: RegistryReply | 'hang' | 'cut';
}

export interface RegistryReply {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class RegistryFront implements AsyncDisposable {
  readonly requests: { readonly line: string; readonly authorization: string }[] = [];
  /** The Authorization header that every request must have; null: anyone may read. */
  demand: (() => string) | null = null;
  readonly #socket: string;
  #faults: { readonly fault: RegistryFault; left: number }[] = [];
  readonly #server = createServer((incoming, response) => this.#answer(incoming, response));

  private constructor(socket: string) {
    this.#socket = socket;
  }

  /** `socket`: where the registry itself listens. */
  static async start(socket: string): Promise<RegistryFront> {
    const front = new RegistryFront(socket);
    // A client whose process was busy for a while may use its connection again.
    front.#server.keepAliveTimeout = 0;
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  plant(...faults: RegistryFault[]): void {
    this.#faults.push(...faults.map((fault) => ({ fault, left: fault.times ?? 1 })));
  }

  /** The digest under which the registry keeps a tag. */
  async digestOf(repository: string, tag: string): Promise<string | null> {
    const url = `http://${this.host}/v2/${repository}/manifests/${tag}`;
    const headers = { Accept: 'application/vnd.docker.distribution.manifest.v2+json' };
    return (await fetch(url, { method: 'HEAD', headers })).headers.get('docker-content-digest');
  }

  /** Forgets faults and requests. */
  reset(): void {
    this.#faults = [];
    this.demand = null;
    this.requests.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    const line = `${incoming.method} ${incoming.url}`;
    this.requests.push({ line, authorization: incoming.headers.authorization ?? '' });
    const planted = this.#faults.find(({ fault, left }) => left > 0 && line.includes(fault.at));
    if (this.demand !== null && incoming.headers.authorization !== this.demand()) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="registry"' }).end();
      return;
    }
    if (planted === undefined) {
      this.#pass(incoming, response);
      return;
    }
    planted.left -= 1;
    const { kind } = planted.fault;
    if (kind === 'hang') return;
    if (kind === 'cut') {
      incoming.socket.destroy();
      return;
    }
    response.writeHead(kind.status, { 'Content-Type': 'application/json', ...kind.headers });
    response.end(kind.body ?? '{}');
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, url, headers } = incoming;
    const target = { socketPath: this.#socket, method, path: url, headers };
    const outgoing = request({ ...target, agent: false }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    outgoing.once('error', () => response.destroy());
    incoming.pipe(outgoing);
  }
}
