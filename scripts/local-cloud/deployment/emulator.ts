// Google's Pub/Sub emulator as the broker of a deployment on this machine. It has no OIDC, so its pushes
// come to a gateway here, which adds the token that Pub/Sub would add and hands status and all on; the
// functions verify their callers as ever. What is laid out on it goes when this is disposed of.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ACK_DEADLINE_SECONDS, SUBSCRIPTIONS } from '#scripts/local-cloud/deployment/inventory.ts';
import {
  type LocalDeployment,
  subscriptionCall,
  topicCalls,
} from '#scripts/local-cloud/deployment/layout.ts';
import { send } from '#scripts/local-cloud/deployment/set-up-call.ts';
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
  const calls = SUBSCRIPTIONS.map((subscription) => {
    const retentionSeconds = Math.min(subscription.retentionSeconds, RETENTION_SECONDS_MAX);
    return subscriptionCall(deployment, { ...subscription, retentionSeconds });
  });
  const targets = new Map(calls.map(({ path, body }) => [path, body.pushConfig.pushEndpoint]));
  const gateway = stack.use(await openGateway(targets, () => tokenOf(cloud, deployment)));
  for (const call of topicCalls(deployment)) await send(emulator, call, [409]);
  for (const { verb, path, body } of calls) {
    const removal = { verb: 'DELETE' as const, path };
    // One of an earlier deployment pushes to where nobody listens any more.
    await send(emulator, removal, [404]);
    const pushConfig = { pushEndpoint: `${gateway.url}${path}` };
    await send(emulator, { verb, path, body: { ...body, pushConfig } });
    // The emulator keeps everything in memory: when it is gone, so is the subscription.
    stack.defer(async () => {
      await send(emulator, removal, [404]).catch(() => '');
    });
  }
  return stack.move();
}

/** `targets`: path of a subscription → URL of its function. */
async function openGateway(targets: ReadonlyMap<string, string>, token: () => string) {
  const server = createServer((request, response) => {
    const url = targets.get(request.url ?? '');
    carryOn(request, response, { url, token: token() }).catch(() => response.destroy());
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => close(server) };
}

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
