// Secret Manager as a machine asks it, and as gcloud fills it. Shapes and refusals: the REST reference
// (v1), and what callers of the real service were told.
import { describe, expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { PROJECT, TestWorld } from '#test/local-cloud/fixtures.ts';

const WORKER = 'worker@local-project.iam.gserviceaccount.com';
const NUMBER = '100000000001';

function granted(prefix = `projects/${PROJECT}/secrets/`): TestWorld {
  const permissions = ['secretmanager.versions.access'];
  const world = new TestWorld({
    grants: [{ principal: WORKER, permissions, resourcePrefix: prefix }],
  });
  world.call('local.secret', {}, { name: `projects/${PROJECT}/secrets/token`, text: 'one' });
  world.call('local.secret', {}, { name: `projects/${PROJECT}/secrets/token`, text: '123456789' });
  return world;
}

function access(world: TestWorld, secret: string, version: string, principal: string | null) {
  const params = { project: PROJECT, secret, version };
  return world.call('secretmanager.versions.access', params, undefined, principal);
}
const messageOf = (reply: { body?: object }) =>
  (reply.body as { error: { message: string; status: string } }).error;

describe('a version of a secret', () => {
  test.each(['2', 'latest'])('%s is read as bytes with their CRC32C', (version) => {
    expect(access(granted(), 'token', version, WORKER)).toMatchObject({
      status: 200,
      body: {
        name: `projects/${NUMBER}/secrets/token/versions/2`,
        // 0xe3069283: the check value of CRC-32C for these nine digits.
        payload: { data: 'MTIzNDU2Nzg5', dataCrc32c: '3808858755' },
      },
    });
  });

  test('one that is there from the beginning has one version', () => {
    const name = `projects/${PROJECT}/secrets/given`;
    const world = new TestWorld({ secrets: { [name]: 'x' } });
    expect(access(world, 'given', 'latest', null).body).toMatchObject({
      name: `projects/${NUMBER}/secrets/given/versions/1`,
      payload: { data: 'eA==' },
    });
  });

  test('an older version stays what it was', () => {
    const { body } = access(granted(), 'token', '1', WORKER);
    expect(body).toMatchObject({ payload: { data: Buffer.from('one').toString('base64') } });
  });

  test.each([
    ['other', '1', `Secret [projects/${NUMBER}/secrets/other] not found or has no versions.`],
    ['token', '9', `Secret Version [projects/${NUMBER}/secrets/token/versions/9] not found.`],
  ])('%s version %s: 404', (secret, version, message) => {
    const reply = access(granted(), secret, version, WORKER);
    expect(reply.status).toBe(404);
    expect(messageOf(reply)).toMatchObject({ message, status: 'NOT_FOUND' });
  });

  test('whoever has no right to it is not told whether it exists', () => {
    const world = granted(`projects/${PROJECT}/secrets/token`);
    for (const secret of ['other', 'token2']) {
      const reply = access(world, secret, '1', 'stranger@p.iam.gserviceaccount.com');
      expect(reply.status).toBe(403);
      expect(messageOf(reply)).toEqual({
        code: 403,
        status: 'PERMISSION_DENIED',
        message: `Permission 'secretmanager.versions.access' denied for resource 'projects/${PROJECT}/secrets/${secret}/versions/1' (or it may not exist).`,
      });
    }
    expect(access(world, 'other', '1', WORKER).status).toBe(403);
    expect(access(world, 'token', '1', WORKER).status).toBe(200);
  });

  test.each([
    ['disable', 'DISABLED'],
    ['destroy', 'DESTROYED'],
  ])('after %s it is refused, also as latest', (verb, state) => {
    const world = granted();
    const params = { project: PROJECT, secret: 'token', version: '2' };
    expect(world.call(`secretmanager.versions.${verb}`, params).status).toBe(200);
    const reply = access(world, 'token', 'latest', WORKER);
    expect(reply.status).toBe(400);
    expect(messageOf(reply)).toMatchObject({
      status: 'FAILED_PRECONDITION',
      message: `Secret Version [projects/${NUMBER}/secrets/token/versions/2] is in ${state} state.`,
    });
    expect(access(world, 'token', '1', WORKER).status).toBe(200);
  });
});

test('over REST: created, filled and read, the project by id or by number', async () => {
  await using cloud = await startLocalCloud();
  const send = async (verb: string, path: string, body?: object) => {
    const reply = await fetch(`${cloud.baseUrl}/v1/projects/${path}`, {
      method: verb,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: reply.status, body: await reply.json() };
  };
  const data = Buffer.from('s3cret\n').toString('base64');
  const replication = { automatic: {} };
  const create = () => send('POST', `${PROJECT}/secrets?secretId=db-password`, { replication });
  expect(await send('POST', `${PROJECT}/secrets/db-password:addVersion`, {})).toMatchObject({
    status: 404,
  });
  expect(await create()).toMatchObject({ status: 200, body: { replication } });
  expect(await create()).toMatchObject({ status: 409 });
  const added = await send('POST', `${PROJECT}/secrets/db-password:addVersion`, {
    payload: { data },
  });
  expect(added.body).toMatchObject({
    name: `projects/${NUMBER}/secrets/db-password/versions/1`,
    state: 'ENABLED',
  });
  for (const project of [PROJECT, NUMBER]) {
    const read = await send('GET', `${project}/secrets/db-password/versions/latest:access`);
    expect(read).toMatchObject({ status: 200, body: { payload: { data } } });
  }
  const large = Buffer.alloc(65_537).toString('base64');
  const refused = await send('POST', `${PROJECT}/secrets/db-password:addVersion`, {
    payload: { data: large },
  });
  expect(refused).toMatchObject({ status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } });
});
