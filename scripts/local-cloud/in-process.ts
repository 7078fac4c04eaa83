// The product's own ports over a world, without sockets: object store, publisher and REST transport, for
// tests and for the simulation. Faults become the errors that the real adapters report.
import { apply } from '#scripts/local-cloud/apply.ts';
import type { Call, Reply, WorldEvent } from '#scripts/local-cloud/call.ts';
import { nameOf } from '#scripts/local-cloud/call-log.ts';
import { inProcessPublisher, inProcessStore } from '#scripts/local-cloud/in-process-ports.ts';
import { jsonCall, routeRequest } from '#scripts/local-cloud/rest/router.ts';
import { type HttpRequest, xmlCall } from '#scripts/local-cloud/rest/xml.ts';
import { asXml } from '#scripts/local-cloud/storage/xml.ts';
import type { World } from '#scripts/local-cloud/world.ts';
import type { Entropy } from '#shared/cloud/clock.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { HttpReply, Transport } from '#shared/cloud/http.ts';
import type { Publisher } from '#shared/cloud/pubsub.ts';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import type { RunJobs } from '#shared/cloud/run-jobs.ts';
import { createUrlSigner } from '#shared/cloud/signed-url.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { UrlSigner } from '#shared/cloud/url-signer.ts';

export interface AroundCall {
  readonly method: string;
  /** The object's, machine's, topic's … own name. */
  readonly name: string;
  readonly params: Call['params'];
}

/** Stands around every call of the ports: it may count, delay, drop the reply, or never go on. */
export type Around = <Value>(call: AroundCall, perform: () => Promise<Value>) => Promise<Value>;

export interface InProcessOptions {
  readonly world: World;
  readonly nowMs: () => number;
  /** Whom the calls speak for; null, the default, is the owner. */
  readonly principal?: string | null;
  /** Takes what the world wants done outside: pushes, machines. Left out: nobody does it. */
  readonly onEvents?: (events: readonly WorldEvent[]) => void;
  readonly around?: Around;
}

export interface InProcessCloud {
  store(bucket: string): ObjectStore;
  /** Takes a topic's full name, or its short one in the world's project. */
  readonly publisher: Publisher;
  readonly transport: Transport;
  /** The real adapters over the transport; what they repeat they repeat at once. */
  readonly jobs: RunJobs;
  /** Signs as those accounts, whose keys the world holds. */
  signer(accounts: { readonly reader: string; readonly uploader: string }): UrlSigner;
  /** A request of Storage's XML API: what is done with a signed address or form. */
  storageRequest(request: HttpRequest): Promise<Reply>;
  /** Nonces and jitter from the world's seed. */
  readonly entropy: Entropy;
  /** Any method of any API, as the ports make them. Throws a CloudError when there was no reply. */
  call(call: Omit<Call, 'principal'>): Promise<Reply>;
}

/** A reply that never came, as the adapters report it. */
function lostReply(method: string, how: 'cut' | 'hang'): CloudError {
  const code = how === 'hang' ? 'timeout' : 'unavailable';
  const message = `${method} got no reply (${code}): planted fault`;
  return new CloudError({ code, method, status: null, reason: '', message });
}

export function inProcessCloud(options: InProcessOptions): InProcessCloud {
  const { world, nowMs, principal = null, onEvents, around } = options;
  const perform = async (call: Call): Promise<Reply> => {
    const { reply, events } = apply(world, nowMs(), call);
    onEvents?.(events);
    if (reply.disturbance === 'cut' || reply.disturbance === 'hang') {
      throw lostReply(call.method, reply.disturbance);
    }
    return reply;
  };
  const send = (call: Call): Promise<Reply> =>
    around === undefined
      ? perform(call)
      : around({ method: call.method, name: nameOf(call), params: call.params }, () =>
          perform(call),
        );
  const call = (inner: Omit<Call, 'principal'>) => send({ ...inner, principal });
  const overWorld: Transport = (http) => transport(call, http);
  const entropy: Entropy = {
    nonce: () => world.random.hexadecimal(32),
    fraction: () => world.random.fraction(),
  };
  const rest = { transport: overWorld, clock: { nowMs, sleep: async () => {} }, entropy };
  return {
    store: (bucket) => inProcessStore(call, bucket),
    publisher: inProcessPublisher(call, world.options.project),
    transport: overWorld,
    jobs: createRunJobs({ project: world.options.project, endpoint: null, ...rest }),
    storageRequest: async (request) => {
      const asked = xmlCall(request, principal);
      if (asked === null) throw new Error(`no object: ${request.verb} ${request.url}`);
      return asXml(await call(asked));
    },
    signer: (accounts) =>
      createUrlSigner({ ...accounts, ...rest, endpoints: { storage: null, iamCredentials: null } }),
    entropy,
    call,
  };
}

async function transport(
  call: InProcessCloud['call'],
  http: Parameters<Transport>[0],
): Promise<HttpReply> {
  const target = routeRequest(http.method, http.url);
  if (target === null) {
    throw new Error(`the local cloud has no path ${http.method} ${http.url}`);
  }
  const { method, params, body: sent } = jsonCall(target, null, http.body);
  const reply = await call({ method, params, body: sent });
  // A body that is no JSON is undefined, as from the real transport.
  const body = reply.disturbance === 'garbage' ? undefined : reply.body;
  const retryAfter = reply.headers['retry-after'];
  return { status: reply.status, body, ...(retryAfter === undefined ? {} : { retryAfter }) };
}
