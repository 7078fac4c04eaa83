// The metadata server: the paths that the guest agent and Google's libraries ask for.
import { GoogleAuth } from 'google-auth-library';
import { describe, expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { instanceBody, PROJECT, TestWorld, ZONE } from '#test/local-cloud/fixtures.ts';

const WORKER = 'worker@local-project.iam.gserviceaccount.com';

function machine(items: { key: string; value: string }[] = []) {
  const world = new TestWorld();
  world.insert('vm', { metadata: { items } });
  world.pass(5000);
  const id = String(world.instance('get', 'vm').body?.id);
  const get = (path: string, params: Record<string, string> = {}) => {
    const query = { machine: id, path: `/computeMetadata/v1/${path}`, flavor: 'Google', ...params };
    const { status, bytes, headers } = world.call('metadata.get', query);
    return { status, text: Buffer.from(bytes ?? []).toString(), headers };
  };
  const put = (path: string, text: string) =>
    world.call(
      'metadata.put',
      { machine: id, path: `/computeMetadata/v1/${path}`, flavor: 'Google' },
      Buffer.from(text),
    ).status;
  return { world, id, get, put };
}

test.each([
  ['instance/name', 'vm'],
  ['instance/zone', 'projects/100000000001/zones/us-central1-a'],
  ['instance/hostname', 'vm.us-central1-a.c.local-project.internal'],
  ['instance/preempted', 'FALSE'],
  ['instance/maintenance-event', 'NONE'],
  ['instance/service-accounts/default/email', WORKER],
  ['instance/service-accounts/default/scopes', 'cloud-platform\n'],
  [`instance/service-accounts/${WORKER}/email`, WORKER],
  ['instance/attributes/startup-script', 'echo "ä"\n'],
  ['instance/attributes/', 'startup-script\n'],
  ['project/project-id', 'local-project'],
  ['project/numeric-project-id', '100000000001'],
  ['universe/universe-domain', 'googleapis.com'],
])('%s', (path, expected) => {
  const { get } = machine([{ key: 'startup-script', value: 'echo "ä"\n' }]);
  expect(get(path)).toMatchObject({ status: 200, text: expected });
});

test('every answer has the flavor and an etag that follows the value', () => {
  const { world, get } = machine();
  const before = get('instance/preempted').headers;
  expect(before).toMatchObject({
    'metadata-flavor': 'Google',
    etag: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  world.call('local.compute.preempt', { zone: ZONE, name: 'vm' });
  const after = get('instance/preempted');
  expect(after.text).toBe('TRUE');
  expect(after.headers.etag).not.toBe(before.etag);
});

test('without the header, or through a proxy, there is nothing to see', () => {
  const { get } = machine();
  expect(get('instance/name', { flavor: 'google' }).status).toBe(403);
  expect(get('instance/name', { forwarded: '10.0.0.1' }).status).toBe(403);
  expect(get('instance/nothing').status).toBe(404);
  expect(get('instance')).toMatchObject({
    status: 301,
    headers: { location: '/computeMetadata/v1/instance/', 'metadata-flavor': 'Google' },
  });
});

test('recursively, as the guest agent asks: a double slash, camel case, attributes as they are', () => {
  const { get, id } = machine([{ key: 'my-key', value: 'v' }]);
  const all = JSON.parse(get('/', { recursive: 'true', alt: 'json' }).text);
  expect(all).toMatchObject({
    instance: {
      id,
      attributes: { 'my-key': 'v' },
      machineType: expect.stringMatching(/n2-standard-4$/),
    },
    project: { projectId: 'local-project' },
  });
  const attributes = get('instance/attributes/', { recursive: 'true', alt: 'json' });
  expect(JSON.parse(attributes.text)).toEqual({ 'my-key': 'v' });
});

describe('guest attributes', () => {
  test('are written by the machine, read by the API, and gone with the machine', () => {
    const { world, get, put } = machine([{ key: 'enable-guest-attributes', value: 'TRUE' }]);
    expect(put('instance/guest-attributes/mayfly/status', 'pulling')).toBe(200);
    expect(get('instance/guest-attributes/mayfly/status').text).toBe('pulling');
    const read = () => world.instance('getGuestAttributes', 'vm', { queryPath: 'mayfly/' });
    expect(read().body).toMatchObject({
      queryPath: 'mayfly/',
      queryValue: { items: [{ namespace: 'mayfly', key: 'status', value: 'pulling' }] },
    });
    expect(put('instance/guest-attributes/mayfly/a/b', 'x')).toBe(404);
    world.instance('delete', 'vm');
    world.pass(60_000);
    expect(read().status).toBe(404);
  });

  test('a namespace that was never written to is a 404 with the words of the service', () => {
    const { world } = machine([{ key: 'enable-guest-attributes', value: 'TRUE' }]);
    const reply = world.instance('getGuestAttributes', 'vm', { queryPath: 'mayfly/' });
    expect(reply.status).toBe(404);
    expect(reply.body).toMatchObject({
      error: { message: "The resource 'mayfly/' of type 'Guest Attribute' was not found." },
    });
  });

  test('B55: above ten queries a minute a machine answers 429, each machine for itself', () => {
    const { world, put } = machine([{ key: 'enable-guest-attributes', value: 'TRUE' }]);
    put('instance/guest-attributes/mayfly/status', 'booting');
    world.insert('other');
    world.pass(5000);
    const ask = (name = 'vm') =>
      world.instance('getGuestAttributes', name, { queryPath: 'mayfly/' }).status;
    for (let query = 0; query < 10; query += 1) {
      expect(ask()).toBe(200);
      world.pass(1000);
    }
    expect(ask()).toBe(429);
    expect(ask('other')).toBe(404);
    world.pass(49_999);
    expect(ask()).toBe(429);
    world.pass(1);
    expect(ask()).toBe(200);
    expect(ask()).toBe(429);
  });

  test('only who may read them is told', () => {
    const { world } = machine();
    const place = { project: PROJECT, zone: ZONE, instance: 'vm', queryPath: 'mayfly/' };
    world.world.iam.grants = [];
    const reply = world.call('compute.instances.getGuestAttributes', place, undefined, WORKER);
    expect(reply.status).toBe(403);
  });

  test('are refused unless the metadata allow them', () => {
    expect(machine().put('instance/guest-attributes/mayfly/status', 'x')).toBe(403);
  });
});

test('tokens are opaque, speak for the account and expire', () => {
  const { world, get } = machine();
  const token = JSON.parse(get('instance/service-accounts/default/token').text);
  expect(token).toMatchObject({ expires_in: 3599, token_type: 'Bearer' });
  expect(world.world.iam.tokens.get(token.access_token)).toEqual({
    principal: WORKER,
    expiresMs: world.nowMs + 3_599_000,
  });
});

describe('over HTTP', () => {
  test('Google’s own library finds account and token of a function, and the server knows who calls', async () => {
    const email = 'submit@local-project.iam.gserviceaccount.com';
    const prefix = 'projects/_/buckets/local-bucket/objects/a';
    const grants = [
      { principal: email, permissions: ['storage.objects.list'], resourcePrefix: prefix },
    ];
    await using cloud = await startLocalCloud({ world: { grants } });
    await using metadata = await cloud.openMetadata({ kind: 'account', email });
    process.env.GCE_METADATA_HOST = metadata.host;
    process.env.METADATA_SERVER_DETECTION = 'assume-present';
    try {
      const auth = new GoogleAuth({ scopes: ['https://www.googleapis.com/auth/cloud-platform'] });
      expect((await auth.getCredentials()).client_email).toBe(email);
      expect(await auth.getProjectId()).toBe(PROJECT);
      const url = `${cloud.baseUrl}/storage/v1/b/local-bucket/o`;
      expect((await auth.request({ url: `${url}?prefix=a` })).status).toBe(200);
      const refused = await auth.request({ url: `${url}?prefix=b`, validateStatus: () => true });
      expect(refused.status).toBe(403);
      expect(cloud.world.calls.entries().at(-1)?.principal).toBe(email);
    } finally {
      delete process.env.GCE_METADATA_HOST;
      delete process.env.METADATA_SERVER_DETECTION;
    }
  });

  test('B53: what a machine puts with curl is read by the path of the API', async () => {
    await using cloud = await startLocalCloud({
      world: { compute: { provisioningMs: 0, stagingMs: 0 } },
    });
    const metadata = { items: [{ key: 'enable-guest-attributes', value: 'TRUE' }] };
    const place = { project: PROJECT, zone: ZONE };
    const inserted = cloud.call(
      'compute.instances.insert',
      place,
      instanceBody('vm', { metadata }),
    );
    const id = String(inserted.body?.targetId);
    await using server = await cloud.openMetadata({ kind: 'machine', id });
    const put = await fetch(
      `http://${server.host}/computeMetadata/v1/instance/guest-attributes/mayfly/detail`,
      { method: 'PUT', headers: { 'Metadata-Flavor': 'Google' }, body: 'äöü\nline 2' },
    );
    expect(put.status).toBe(200);
    const path = `projects/${PROJECT}/zones/${ZONE}/instances/vm/getGuestAttributes`;
    const reply = await fetch(`${cloud.baseUrl}/compute/v1/${path}?queryPath=mayfly/`);
    expect(await reply.json()).toMatchObject({
      kind: 'compute#guestAttributes',
      queryPath: 'mayfly/',
      queryValue: { items: [{ namespace: 'mayfly', key: 'detail', value: 'äöü\nline 2' }] },
    });
  });

  test('a hanging get answers when the value changes, and at once when it has changed already', async () => {
    await using cloud = await startLocalCloud({
      world: { compute: { provisioningMs: 0, stagingMs: 0 } },
    });

    const inserted = cloud.call(
      'compute.instances.insert',
      { project: PROJECT, zone: ZONE },
      instanceBody('vm'),
    );
    const id = String(inserted.body?.targetId);
    await using metadata = await cloud.openMetadata({ kind: 'machine', id });
    const ask = (query: string) =>
      fetch(`http://${metadata.host}/computeMetadata/v1/instance/preempted?${query}`, {
        headers: { 'Metadata-Flavor': 'Google' },
      });
    const etag = (await ask('')).headers.get('etag');
    const hanging = ask(`wait_for_change=true&last_etag=${etag}`);
    cloud.call('local.compute.preempt', { id });
    expect(await (await hanging).text()).toBe('TRUE');
    expect(await (await ask(`wait_for_change=true&last_etag=${etag}`)).text()).toBe('TRUE');
    expect(await (await ask('wait_for_change=true&timeout_sec=0')).text()).toBe('TRUE');
  });
});
