// The server as its clients see it: pushes with verifiable tokens, keys, planted faults, machines on a
// host, and an end that leaves nothing open.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import type { MachineHost } from '#scripts/local-cloud/host/machine-host.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { instanceBody, PROJECT, ZONE } from '#test/local-cloud/fixtures.ts';

const TOPIC = 'projects/local-project/topics/top';
const SUBSCRIPTION = 'projects/local-project/subscriptions/sub';

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An endpoint that answers with the given codes in turn (0: cuts the connection), then with 204. */
async function openEndpoint(codes: number[]) {
  const received: Received[] = [];
  const server = createServer(async (incoming, response) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    received.push({ headers: incoming.headers, body });
    const code = codes.shift() ?? 204;
    if (code === 0) incoming.socket.destroy();
    else response.writeHead(code, { location: '/elsewhere' }).end();
    server.emit('received', received.length);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/push`,
    received,
    async receives(count: number) {
      while (received.length < count) await once(server, 'received');
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function subscribe(cloud: LocalCloud, url: string, audience = 'https://mayfly.test') {
  cloud.call('pubsub.topics.create', { topic: TOPIC }, {});
  const oidcToken = { serviceAccountEmail: 'push@p.iam.gserviceaccount.com', audience };
  cloud.call(
    'pubsub.subscriptions.create',
    { subscription: SUBSCRIPTION },
    {
      topic: TOPIC,
      pushConfig: { pushEndpoint: url, oidcToken },
      retryPolicy: { minimumBackoff: '0s', maximumBackoff: '0s' },
    },
  );
}

const publish = (cloud: LocalCloud) =>
  cloud.call('pubsub.topics.publish', { topic: TOPIC }, { messages: [{ data: 'aGk=' }] });

test('a push carries a token that verifies against the published keys, also after a rotation', async () => {
  await using endpoint = await openEndpoint([]);
  await using cloud = await startLocalCloud();
  subscribe(cloud, endpoint.url);
  const keys = new URL(`${cloud.baseUrl}/oauth2/v3/certs`);
  for (const count of [1, 2]) {
    publish(cloud);
    await endpoint.receives(count);
    const token = endpoint.received.at(-1)?.headers.authorization?.replace('Bearer ', '') ?? '';
    const { payload, protectedHeader } = await jwtVerify(token, createRemoteJWKSet(keys), {
      issuer: 'https://accounts.google.com',
      audience: 'https://mayfly.test',
      algorithms: ['RS256'],
    });
    expect(payload).toMatchObject({
      email: 'push@p.iam.gserviceaccount.com',
      email_verified: true,
      exp: Number(payload.iat) + 3600,
      azp: payload.sub,
      sub: expect.stringMatching(/^[0-9]{21}$/),
    });
    expect(protectedHeader.kid).toBe(`local-key-${count}`);
    await fetch(`${cloud.baseUrl}/local/keys/rotate`, { method: 'POST' });
  }
  const published = await fetch(keys);
  expect(published.headers.get('cache-control')).toMatch(/^public, max-age=[0-9]+/);
  expect(await published.json()).toMatchObject({ keys: [{}, {}] });
});

test('P96: 203, 206, 302, 400 and a cut connection are delivered again, 204 is not', async () => {
  await using endpoint = await openEndpoint([203, 206, 302, 400, 0]);
  await using cloud = await startLocalCloud();
  subscribe(cloud, endpoint.url);
  publish(cloud);
  await endpoint.receives(6);
  const ids = endpoint.received.map(({ body }) => JSON.parse(body).message.messageId);
  expect(new Set(ids).size).toBe(1);
  publish(cloud);
  await endpoint.receives(7);
  expect(JSON.parse(endpoint.received[6]?.body ?? '').message.messageId).not.toBe(ids[0]);
});

describe('planted faults over HTTP', () => {
  const plant = (cloud: LocalCloud, fault: object) =>
    fetch(`${cloud.baseUrl}/local/faults/plant`, { method: 'POST', body: JSON.stringify(fault) });

  test('a cut connection after the effect, garbage, a status, and a hang until the client gives up', async () => {
    await using cloud = await startLocalCloud();
    const method = 'storage.buckets.get';
    const get = (signal?: AbortSignal) =>
      fetch(`${cloud.baseUrl}/storage/v1/b/local-bucket`, signal === undefined ? {} : { signal });
    await plant(cloud, { match: { method }, effect: 'after', kind: 'cut' });
    await expect(get()).rejects.toThrow('fetch failed');
    await plant(cloud, { match: { method }, effect: 'before', kind: 'garbage' });
    await expect((await get()).json()).rejects.toThrow(SyntaxError);
    await plant(cloud, {
      match: { method },
      effect: 'before',
      kind: 'status',
      status: 403,
      reason: 'rateLimitExceeded',
    });
    const refused = await get();
    expect(refused.status).toBe(403);
    const error = { errors: [{ reason: 'rateLimitExceeded' }] };
    expect(await refused.json()).toMatchObject({ error });
    await plant(cloud, { match: { method }, effect: 'before', kind: 'hang' });
    await expect(get(AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect((await get()).status).toBe(200);
    expect((await plant(cloud, { kind: 'status' })).status).toBe(400);
  });
});

test('a machine is started, softly stopped, killed and discarded on its host, with its own metadata', async () => {
  const orders: string[] = [];
  let seen = '';
  let poweredOff: (id: string) => void = () => {};
  const discarded = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const host: MachineHost = {
    async start({ name, boot, metadata, metadataHost }) {
      orders.push(`start ${name} ${boot} ${metadata['startup-script']}`);
      const url = `http://${metadataHost}/computeMetadata/v1/instance/name`;
      seen = await (await fetch(url, { headers: { 'Metadata-Flavor': 'Google' } })).text();
      started.resolve();
    },
    async softOff(id) {
      orders.push('softOff');
      poweredOff(id);
    },
    async kill() {
      orders.push('kill');
    },
    async discard() {
      orders.push('discard');
      discarded.resolve();
    },
    async [Symbol.asyncDispose]() {
      orders.push('dispose');
    },
  };
  {
    await using cloud = await startLocalCloud({
      world: { compute: { provisioningMs: 0, stagingMs: 0, removalMs: 0 } },
      machineHost: (report) => {
        poweredOff = report;
        return host;
      },
    });
    const place = { project: PROJECT, zone: ZONE };
    cloud.call('compute.instances.insert', place, instanceBody('vm'));
    await started.promise;
    cloud.call('compute.instances.delete', { ...place, instance: 'vm' });
    await discarded.promise;
    expect(cloud.world.compute.machines.size).toBe(0);
  }
  expect(seen).toBe('vm');
  expect(orders).toEqual(['start vm 1 true', 'softOff', 'kill', 'discard', 'dispose']);
});

test('unknown paths and broken bodies are refused, and the proxy’s absolute form is understood', async () => {
  await using cloud = await startLocalCloud();
  expect((await fetch(`${cloud.baseUrl}/nothing/here`)).status).toBe(404);
  const url = `${cloud.baseUrl}/v1/${TOPIC}:publish`;
  const broken = await fetch(url, { method: 'POST', body: '{"messages":' });
  expect(broken.status).toBe(400);
  const path = 'http://storage.local/storage/v1/b/local-bucket';
  const proxied = request({ host: '127.0.0.1', port: cloud.port, path }).end();
  const [response] = (await once(proxied, 'response')) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(200);
});
