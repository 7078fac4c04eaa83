// Google's Pub/Sub emulator as the broker of a deployment on this machine. It has no OIDC, so its pushes
// come to a gateway here, which adds the token that Pub/Sub would add and hands status and all on; the
// functions verify their callers as ever. What is laid out on it goes when this is disposed of.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  ACK_DEADLINE_SECONDS,
  type LocalDeployment,
  type SetUpCall,
  SUBSCRIPTIONS,
  type Subscription,
  setUpCalls,
} from '#scripts/local-cloud/deployment/layout.ts';
import { idTokenClaims } from '#scripts/local-cloud/keys.ts';
import { readBody } from '#scripts/local-cloud/server/http.ts';
import { close, listen } from '#scripts/local-cloud/server/metadata.ts';
import type { LocalCloud } from '#scripts/local-cloud/server/server.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';

const CALL_TIMEOUT_MS = 30_000;
/** Pub/Sub keeps messages for up to 31 days; the emulator refuses more than 7. */
const RETENTION_SECONDS_MAX = 7 * 86_400;

/** The base URL of the emulator that PUBSUB_EMULATOR_HOST names and that answers; null: none is named. */
export async function findEmulator(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  const { PUBSUB_EMULATOR_HOST: host = '' } = environment;
  if (host === '') return null;
  const url = /^https?:\/\//.test(host) ? host.replace(/\/+$/, '') : `http://${host}`;
  const reply = await fetch(url, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) }).catch(
    () => null,
  );
  if (reply?.status === 200) return url;
  throw usageError(
    `PUBSUB_EMULATOR_HOST is ${host}, and no Pub/Sub emulator answers there (a local cloud is none): ` +
      'start one, or unset it',
  );
}

/** Topics and push subscriptions of the deployment, on the emulator, with the gateway between. */
export async function layOutOnEmulator(
  emulator: string,
  cloud: Pick<LocalCloud, 'world'>,
  deployment: LocalDeployment,
): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const gateway = stack.use(await openGateway(cloud, deployment));
  const calls = setUpCalls(deployment).filter(({ path }) => path.startsWith('/v1/projects/'));
  for (const call of calls) {
    if (call.path.includes('/subscriptions/')) {
      // One of an earlier deployment pushes to where nobody listens any more.
      await send(emulator, 'DELETE', call.path, [200, 404]);
      await send(emulator, 'PUT', call.path, [200], subscriptionBody(call, gateway.url));
      stack.defer(() => removeSubscription(emulator, call.path));
    } else if (call.path.includes('/topics/')) {
      await send(emulator, 'PUT', call.path, [200, 409], {});
    }
  }
  return stack.move();
}

function subscriptionBody({ path, body }: SetUpCall, gateway: string): object {
  const { messageRetentionDuration = '' } = body as { messageRetentionDuration?: string };
  const seconds = Math.min(Number.parseInt(messageRetentionDuration, 10), RETENTION_SECONDS_MAX);
  return {
    ...(body as object),
    messageRetentionDuration: `${seconds}s`,
    pushConfig: { pushEndpoint: `${gateway}${path}` },
  };
}

/** The emulator keeps everything in memory: when it is gone, so is the subscription. */
async function removeSubscription(emulator: string, path: string): Promise<void> {
  await send(emulator, 'DELETE', path, [200, 404]).catch(() => {});
}

async function send(
  emulator: string,
  method: string,
  path: string,
  expected: readonly number[],
  body?: object,
): Promise<void> {
  const reply = await fetch(`${emulator}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  if (!expected.includes(reply.status)) {
    throw new Error(`${method} ${emulator}${path} answered ${reply.status}: ${text.slice(0, 500)}`);
  }
}

async function openGateway(cloud: Pick<LocalCloud, 'world'>, deployment: LocalDeployment) {
  const targets = new Map(SUBSCRIPTIONS.map((one) => [subscriptionPath(deployment, one), one]));
  const server = createServer((request, response) => {
    const target = targets.get(request.url ?? '');
    const url = target && `${deployment.functionUrls[target.function]}${target.path}`;
    carryOn(request, response, { url, token: tokenOf(cloud, deployment) }).catch(() =>
      response.destroy(),
    );
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => close(server) };
}

const subscriptionPath = (
  { project, deployment }: LocalDeployment,
  { name }: Pick<Subscription, 'name'>,
) => `/v1/projects/${project}/subscriptions/${deployment}-${name}`;

function tokenOf({ world }: Pick<LocalCloud, 'world'>, deployment: LocalDeployment): string {
  const { pushAccount: email, audience } = deployment;
  return world.keys.sign(idTokenClaims({ email, audience }, Date.now()));
}

/** A function that does not answer cuts the emulator's push: no acknowledgement. */
async function carryOn(
  request: IncomingMessage,
  response: ServerResponse,
  { url, token }: { readonly url: string | undefined; readonly token: string },
): Promise<void> {
  const body = await readBody(request);
  if (url === undefined) {
    response.writeHead(404).end();
    return;
  }
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: new Uint8Array(body),
    redirect: 'manual',
    signal: AbortSignal.timeout(ACK_DEADLINE_SECONDS * 1000),
  });
  await reply.body?.cancel();
  response.writeHead(reply.status).end();
}
