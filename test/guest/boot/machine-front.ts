// What a booted machine finds behind 169.254.169.254:80, on one loopback port: the metadata server with
// what Google's guest agent and script runner ask for, a registry, and a fake Google for all the rest.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from '#test/guest/boot/registry.ts';
import type { FakeGoogle } from '#test/guest/fake-google.ts';
import { INSTANCE } from '#test/guest/intent.ts';

/** Where a machine reaches this server, whatever the service. */
export const FRONT_URL = 'http://169.254.169.254';
/** The platform's services, as planning fills them in. */
export const FRONT_ENDPOINTS = {
  storage: FRONT_URL,
  compute: FRONT_URL,
  logging: FRONT_URL,
  secretManager: FRONT_URL,
};
/** An image of the front's registry: busybox. */
export const FRONT_IMAGE = '169.254.169.254:80/busybox:1';

const METADATA = '/computeMetadata/v1/';

export class MachineFront implements AsyncDisposable {
  readonly google: FakeGoogle;
  readonly registry = new Registry();
  /** Requests that Google's own programs made, `path?query`. */
  readonly asked: string[] = [];
  /** Runs when the platform has taken a delete. */
  whenDeleted: () => void = () => {};
  readonly #changed: (() => void)[] = [];
  readonly #attributes: Readonly<Record<string, string>>;
  readonly #server = createServer((incoming, response) => this.#answer(incoming, response));

  private constructor(google: FakeGoogle, attributes: Readonly<Record<string, string>>) {
    this.google = google;
    google.metadata.set('instance/name', INSTANCE).set('instance/zone', 'projects/1/zones/z');
    this.#attributes = attributes;
  }

  /** `attributes`: the machine's metadata keys, its scripts among them. */
  static async start(
    google: FakeGoogle,
    attributes: Readonly<Record<string, string>>,
  ): Promise<MachineFront> {
    const front = new MachineFront(google, attributes);
    const { promise, resolve } = Promise.withResolvers<void>();
    front.#server.listen(0, '127.0.0.1', resolve);
    await promise;
    return front;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The platform's notice that it takes a Spot machine back. */
  preempt(): void {
    this.google.metadata.set('instance/preempted', 'TRUE');
    for (const answer of this.#changed.splice(0)) answer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    const url = new URL(incoming.url ?? '/', FRONT_URL);
    const metadata = this.#metadataAt(url);
    if (metadata !== null) {
      this.asked.push(incoming.url ?? '');
      sendMetadata(metadata, url.searchParams, response);
    } else if (url.pathname.startsWith('/v2/')) {
      this.registry.answer(incoming, response);
    } else if (url.searchParams.get('wait_for_change') === 'true') {
      // Of the values that a machine waits for only this one changes here.
      this.#changed.push(() => this.#forward(incoming, response));
    } else {
      this.#forward(incoming, response);
    }
  }

  #metadataAt({ pathname, searchParams }: URL): string | null {
    if (pathname === '/') return 'computeMetadata/\n';
    if (pathname === `${METADATA}project/project-id`) return 'p1';
    if (searchParams.get('recursive') !== 'true') return null;
    const isAttributes = pathname === `${METADATA}instance/attributes/`;
    return JSON.stringify(isAttributes ? this.#attributes : this.#tree());
  }

  #tree() {
    return {
      instance: { attributes: this.#attributes, id: 4242, name: 'machine' },
      project: { attributes: {}, numericProjectId: 1, projectId: 'p1' },
    };
  }

  #forward(incoming: IncomingMessage, response: ServerResponse): void {
    const [host, port] = this.google.host.split(':');
    const { method, url: path, headers } = incoming;
    const forwarded = request({ host, port, method, path, headers, agent: false }, (reply) => {
      if (method === 'DELETE' && reply.statusCode === 200) this.whenDeleted();
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    // A cut connection is passed on as one.
    forwarded.once('error', () => response.destroy());
    response.once('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  }
}

/** Also the hanging get: nothing changes here, so such a request lasts its whole time. */
function sendMetadata(body: string, query: URLSearchParams, response: ServerResponse): void {
  const etag = createHash('sha256').update(body).digest('hex').slice(0, 16);
  const send = () => {
    response.writeHead(200, { 'metadata-flavor': 'Google', etag }).end(body);
  };
  if (query.get('wait_for_change') === 'true' && query.get('last_etag') === etag) {
    const timer = setTimeout(send, Number(query.get('timeout_sec') ?? 60) * 1000);
    response.once('close', () => clearTimeout(timer));
  } else {
    send();
  }
}
