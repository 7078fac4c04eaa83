// Signed addresses and forms against the server. What is right is said by the official client: it makes
// the signatures, with the account's key behind signBlob.
import { createHash } from 'node:crypto';
import { CRC32C, type File, Storage } from '@google-cloud/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { START_MS } from '#test/local-cloud/fixtures.ts';

const BUCKET = 'local-bucket';
const READER = 'reader@local-project.iam.gserviceaccount.com';
const UPLOADER = 'uploader@local-project.iam.gserviceaccount.com';
const OTHER = 'other@local-project.iam.gserviceaccount.com';
const OBJECTS = `projects/_/buckets/${BUCKET}/objects/`;
const HOUR_MS = 3_600_000;

let cloud: LocalCloud;
let nowMs = START_MS;

beforeAll(async () => {
  const grant = (principal: string, permissions: string[], prefix = '') => ({
    principal,
    permissions,
    resourcePrefix: `${OBJECTS}${prefix}`,
  });
  cloud = await startLocalCloud({
    nowMs: () => nowMs,
    world: {
      storage: { objectWriteGapMs: 0 },
      grants: [
        grant(READER, ['storage.objects.get']),
        grant(UPLOADER, ['storage.objects.create'], 'once/'),
        grant(UPLOADER, ['storage.objects.create', 'storage.objects.delete'], 'out/'),
      ],
    },
  });
});
beforeEach(() => {
  // As the official client tells the time: it takes no clock.
  nowMs = Date.now();
});
afterAll(async () => cloud[Symbol.asyncDispose]());

/** The official client, signing as that account through signBlob. */
function fileOf(name: string, email: string): File {
  const storage = new Storage({ apiEndpoint: cloud.baseUrl, projectId: 'local-project' });
  const signer = {
    getCredentials: async () => ({ client_email: email }),
    sign: async (text: string) => {
      const payload = Buffer.from(text).toString('base64');
      const path = `/v1/projects/-/serviceAccounts/${email}:signBlob`;
      const body = JSON.stringify({ payload });
      const reply = await fetch(`${cloud.baseUrl}${path}`, { method: 'POST', body });
      return String(((await reply.json()) as { signedBlob: string }).signedBlob);
    },
  };
  Object.assign(storage, { authClient: Object.assign(storage.authClient, signer) });
  return storage.bucket(BUCKET).file(name);
}

type SignOptions = Partial<Parameters<File['getSignedUrl']>[0]>;

async function sign(name: string, email: string, options: SignOptions = {}): Promise<string> {
  const [url] = await fileOf(name, email).getSignedUrl({
    version: 'v4',
    action: 'read',
    expires: nowMs + HOUR_MS,
    ...options,
  });
  return url;
}

const CREATE_ONLY = { 'x-goog-if-generation-match': '0' };

async function signPut(name: string, email = UPLOADER, headers: object = CREATE_ONLY) {
  return await sign(name, email, { action: 'write', extensionHeaders: { ...headers } });
}

function write(name: string, text: string) {
  const params = { bucket: BUCKET, name };
  return String(
    cloud.call('storage.objects.insert', params, { bytes: Buffer.from(text) }).body?.generation,
  );
}

function content(object: string): string | null {
  const reply = cloud.call('storage.objects.get', { bucket: BUCKET, object, alt: 'media' });
  return reply.status === 200 ? Buffer.from(reply.bytes ?? []).toString() : null;
}

async function codeOf(reply: Response): Promise<string> {
  expect(reply.headers.get('content-type')).toBe('application/xml; charset=UTF-8');
  const code = /<Code>(\w+)<\/Code>/.exec(await reply.text())?.[1];
  return `${reply.status} ${code}`;
}

describe('a signed GET', () => {
  test('C148: is served with the rights of the account that signed, hashes in its headers', async () => {
    const name = "in/ä b%2F!'()*=&+.txt";
    const text = 'with what it holds';
    const generation = write(name, text);
    const reply = await fetch(await sign(name, READER));
    expect([reply.status, await reply.text()]).toEqual([200, text]);
    const crc32c = new CRC32C();
    crc32c.update(Buffer.from(text));
    const md5 = createHash('md5').update(text).digest('base64');
    expect(reply.headers.get('x-goog-hash')).toBe(`crc32c=${crc32c},md5=${md5}`);
    expect(reply.headers.get('x-goog-generation')).toBe(generation);
    expect(await codeOf(await fetch(await sign(name, OTHER)))).toBe('403 AccessDenied');
    const asked = (principal: string) =>
      cloud.world.calls.count({ method: 'storage.xml.get', principal, name });
    expect([asked(READER), asked(OTHER), asked(UPLOADER)]).toEqual([1, 1, 0]);
  });

  test('C150: reads the generation that it names, or nothing', async () => {
    const first = write('in/g', 'one');
    const pinned = await sign('in/g', READER, { queryParams: { generation: first } });
    expect(await (await fetch(pinned)).text()).toBe('one');
    write('in/g', 'two');
    expect(await codeOf(await fetch(pinned))).toBe('404 NoSuchKey');
    expect(await (await fetch(await sign('in/g', READER))).text()).toBe('two');
  });

  test.each([
    { name: 'another object', change: (url: string) => url.replace('/in/t?', '/in/u?') },
    { name: 'another time', change: (url: string) => url.replace('Expires=3600', 'Expires=7200') },
    { name: 'another generation', change: (url: string) => `${url}&generation=1` },
    { name: 'another account', change: (url: string) => url.replace('reader', 'uploader') },
    {
      name: 'another signature',
      change: (url: string) => url.replace(/(Signature=)../, (_, key) => `${key}00`),
    },
    {
      name: 'an account that never signed',
      change: (url: string) => url.replace('reader', 'nobody'),
    },
  ])('C148: changed to $name it is worth nothing', async ({ change }) => {
    write('in/t', 'x');
    write('in/u', 'x');
    const url = await sign('in/t', READER);
    expect(change(url)).not.toBe(url);
    expect(await codeOf(await fetch(change(url)))).toBe('403 SignatureDoesNotMatch');
    expect((await fetch(url)).status).toBe(200);
  });

  test('C145: is worth nothing a second after its time, nor long before it', async () => {
    write('in/t', 'x');
    const url = await sign('in/t', READER);
    const signedMs = Math.floor(nowMs / 1000) * 1000;
    nowMs = signedMs + HOUR_MS;
    expect((await fetch(url)).status).toBe(200);
    nowMs = signedMs + HOUR_MS + 1;
    expect(await codeOf(await fetch(url))).toBe('400 ExpiredToken');
    nowMs = signedMs - 16 * 60_000;
    expect(await codeOf(await fetch(url))).toBe('403 RequestTimeTooSkewed');
  });

  test('C145: serves no other verb, and not beyond seven days', async () => {
    write('in/t', 'x');
    const url = await sign('in/t', READER);
    const put = await fetch(url, { method: 'PUT', body: 'y' });
    expect(await codeOf(put)).toBe('403 SignatureDoesNotMatch');
    expect(content('in/t')).toBe('x');
    const long = url.replace('Expires=3600', 'Expires=604801');
    expect(await codeOf(await fetch(long))).toBe('400 InvalidArgument');
  });
});

describe('a signed PUT', () => {
  test('C147, C149: creates once; the second is 412, and the reply has the hashes', async () => {
    const url = await signPut('once/claim');
    const reply = await fetch(url, { method: 'PUT', headers: CREATE_ONLY, body: 'mine' });
    const crc32c = new CRC32C();
    crc32c.update(Buffer.from('mine'));
    expect(reply.status).toBe(200);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'x-goog-hash': `crc32c=${crc32c},md5=${createHash('md5').update('mine').digest('base64')}`,
      'x-goog-generation': expect.stringMatching(/^[0-9]{16}$/),
      etag: `"${createHash('md5').update('mine').digest('hex')}"`,
    });
    const again = await fetch(await signPut('out/claim'), { method: 'PUT', headers: CREATE_ONLY });
    expect(again.status).toBe(200);
    const lost = await fetch(await signPut('out/claim'), {
      method: 'PUT',
      headers: CREATE_ONLY,
      body: 'yours',
    });
    expect(await codeOf(lost)).toBe('412 PreconditionFailed');
    expect(content('out/claim')).toBe('');
  });

  test('C147: needs the header that it was signed with, that value, and no other', async () => {
    const url = await signPut('once/h');
    const put = (headers: Record<string, string>) =>
      fetch(url, { method: 'PUT', headers, body: 'x' });
    expect(await codeOf(await put({}))).toBe('400 MalformedSecurityHeader');
    expect(await codeOf(await put({ 'x-goog-if-generation-match': '1' }))).toBe(
      '403 SignatureDoesNotMatch',
    );
    const more = { ...CREATE_ONLY, 'x-goog-meta-more': '1' };
    expect(await codeOf(await put(more))).toBe('400 MalformedSecurityHeader');
    expect(content('once/h')).toBeNull();
  });

  test('C149: a body that does not fit the hash it was sent with is refused', async () => {
    const hash = { 'x-goog-hash': `md5=${createHash('md5').update('other').digest('base64')}` };
    const url = await signPut('once/m', UPLOADER, hash);
    const reply = await fetch(url, { method: 'PUT', headers: hash, body: 'mine' });
    expect(reply.status).toBe(400);
    expect(content('once/m')).toBeNull();
  });

  test('C149: a planted fault gives a wrong hash for what is stored', async () => {
    const match = { method: 'storage.xml.put', nameIncludes: 'once/w' };
    cloud.call('local.faults.plant', {}, { match, effect: 'after', kind: 'wrong-hash' });
    const url = await signPut('once/w');
    const reply = await fetch(url, { method: 'PUT', headers: CREATE_ONLY, body: 'mine' });
    // Of no content at all (RFC 1321).
    expect(reply.headers.get('x-goog-hash')).toBe('crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg==');
    expect(content('once/w')).toBe('mine');
  });
});

describe('a form', () => {
  interface FormOptions {
    readonly prefix?: string;
    readonly conditions?: (object | (string | number)[])[];
    readonly account?: string;
  }

  async function formOf({ prefix = 'out/', conditions, account = UPLOADER }: FormOptions = {}) {
    const [policy] = await fileOf(prefix, account).generateSignedPostPolicyV4({
      expires: nowMs + HOUR_MS,
      conditions: conditions ?? [['starts-with', '$key', prefix]],
    });
    // The client adds a condition for the one name that it was made for: the form is for many.
    const document = JSON.parse(Buffer.from(policy.fields.policy ?? '', 'base64').toString());
    const kept = document.conditions.filter((one: object) => !('key' in one && one.key === prefix));
    const text = JSON.stringify({ ...document, conditions: kept });
    return await resigned(policy.fields, text, account);
  }

  async function resigned(fields: object, document: string, account: string) {
    const policy = Buffer.from(document).toString('base64');
    const payload = Buffer.from(policy).toString('base64');
    const params = { account };
    const method = 'iamcredentials.projects.serviceAccounts.signBlob';
    const signedBlob = String(cloud.call(method, params, { payload }).body?.signedBlob);
    const signature = Buffer.from(signedBlob, 'base64').toString('hex');
    return { ...fields, policy, 'x-goog-signature': signature };
  }

  async function post(fields: object, key: string, body = 'content', bucket = BUCKET) {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fields, key })) form.append(name, value);
    form.append('file', new Blob([body], { type: 'text/plain' }), 'file');
    return await fetch(`${cloud.baseUrl}/${bucket}/`, { method: 'POST', body: form });
  }

  test('C146: the official client’s form, as it is, uploads its one object', async () => {
    const [policy] = await fileOf('once/official', UPLOADER).generateSignedPostPolicyV4({
      expires: nowMs + HOUR_MS,
    });
    const reply = await post(policy.fields, 'once/official', 'bytes\r\n--x');
    expect([reply.status, await reply.text()]).toEqual([204, '']);
    expect(reply.headers.get('x-goog-hash')).toContain(
      `md5=${createHash('md5').update('bytes\r\n--x').digest('base64')}`,
    );
    expect(content('once/official')).toBe('bytes\r\n--x');
  });

  test('C146: uploads under its beginning of names, and nowhere else', async () => {
    const fields = await formOf();
    expect((await post(fields, 'out/tasks/0/a')).status).toBe(204);
    expect(await codeOf(await post(fields, 'in/a'))).toBe('400 InvalidPolicyDocument');
    expect(content('in/a')).toBeNull();
    for (const more of [{}, { bucket: BUCKET }]) {
      const sent = { ...fields, ...more };
      expect(await codeOf(await post(sent, 'out/a', 'x', 'other-bucket'))).toBe(
        '400 InvalidPolicyDocument',
      );
    }
  });

  test('C147: without the right to delete the second upload of a name is 403', async () => {
    const once = await formOf({ prefix: 'once/' });
    expect((await post(once, 'once/marker', 'first')).status).toBe(204);
    expect(await codeOf(await post(once, 'once/marker', 'second'))).toBe('403 AccessDenied');
    expect(content('once/marker')).toBe('first');
    const again = await formOf();
    await post(again, 'out/a', 'first');
    expect((await post(again, 'out/a', 'second')).status).toBe(204);
    expect(content('out/a')).toBe('second');
  });

  test.each([
    { name: 'a field that no condition allows', more: { 'x-goog-meta-a': '1' } },
    { name: 'another value of one', more: { 'x-goog-date': '20250101T000000Z' } },
  ])('C146: $name is refused', async ({ more }) => {
    expect((await post({ ...(await formOf()), ...more }, 'out/c')).status).toBe(400);
    expect(content('out/c')).toBeNull();
  });

  test('C146: conditions on length and on other fields hold; fields to be ignored are free', async () => {
    const conditions = [
      ['starts-with', '$key', 'out/'],
      ['content-length-range', 1, 7],
      ['eq', '$Content-Type', 'text/csv'],
    ];
    const fields = { ...(await formOf({ conditions })), 'Content-Type': 'text/csv' };
    expect((await post({ ...fields, 'x-ignore-me': '1' }, 'out/l', '1234567')).status).toBe(204);
    expect(await codeOf(await post(fields, 'out/l', '12345678'))).toBe('400 InvalidPolicyDocument');
    const typed = { ...fields, 'Content-Type': 'text/html' };
    expect(await codeOf(await post(typed, 'out/l', '1'))).toBe('400 InvalidPolicyDocument');
  });

  test('C146: a policy that was changed, or has expired, is worth nothing', async () => {
    const fields = await formOf();
    const opened = Buffer.from(fields.policy, 'base64').toString().replace('out/', 'in/');
    const forged = { ...fields, policy: Buffer.from(opened).toString('base64') };
    expect(await codeOf(await post(forged, 'in/f'))).toBe('403 SignatureDoesNotMatch');
    nowMs += HOUR_MS + 1000;
    expect(await codeOf(await post(fields, 'out/f'))).toBe('400 ExpiredToken');
  });
});

describe('a bearer token', () => {
  test('C57: reads and deletes what its account may; unknown ones are 401', async () => {
    write('runs/bootstrap/n', 'what a task may know');
    const metadata = await cloud.openMetadata({ kind: 'account', email: OTHER });
    const asked = await fetch(
      `http://${metadata.host}/computeMetadata/v1/instance/service-accounts/default/token`,
      { headers: { 'metadata-flavor': 'Google' } },
    );
    const { access_token: token } = (await asked.json()) as { access_token: string };
    await metadata[Symbol.asyncDispose]();
    const url = `${cloud.baseUrl}/${BUCKET}/runs/bootstrap/n`;
    const ask = (method: string, bearer: string) =>
      fetch(url, { method, headers: { authorization: `Bearer ${bearer}` } });
    expect(await codeOf(await ask('GET', token))).toBe('403 AccessDenied');
    cloud.world.iam.grants?.push({
      principal: OTHER,
      permissions: ['storage.objects.get', 'storage.objects.delete'],
      resourcePrefix: `${OBJECTS}runs/bootstrap/`,
    });
    expect(await (await ask('GET', token)).text()).toBe('what a task may know');
    expect((await ask('HEAD', token)).status).toBe(200);
    expect((await ask('DELETE', token)).status).toBe(204);
    expect(await codeOf(await ask('GET', token))).toBe('404 NoSuchKey');
    expect(await codeOf(await ask('DELETE', token))).toBe('404 NoSuchKey');
    expect(await codeOf(await ask('GET', 'x'))).toBe('401 AuthenticationRequired');
  });

  test('a fault of the service is told in XML', async () => {
    const match = { method: 'storage.xml.get' };
    cloud.call('local.faults.plant', {}, { match, effect: 'before', kind: 'status', status: 503 });
    expect(await codeOf(await fetch(`${cloud.baseUrl}/${BUCKET}/x`))).toBe(
      '503 ServiceUnavailable',
    );
    expect(await codeOf(await fetch(`${cloud.baseUrl}/no-bucket/x`))).toBe('404 NoSuchBucket');
  });
});

test('C146: what the in-process signer signs is served by the same world', async () => {
  const { signer, storageRequest } = inProcessCloud({ world: cloud.world, nowMs: () => nowMs });
  const { signUrl, signForm } = signer({ reader: READER, uploader: UPLOADER });
  const put = await signUrl({ method: 'PUT', bucket: BUCKET, object: 'once/in process' });
  const headers = { ...put.headers, host: 'storage.googleapis.com' };
  const bytes = Buffer.from('x');
  const stored = await storageRequest({ verb: 'PUT', url: put.url, headers, bytes });
  expect(stored.status).toBe(200);
  expect((await storageRequest({ verb: 'PUT', url: put.url, headers, bytes })).status).toBe(403);
  const get = await signUrl({ method: 'GET', bucket: BUCKET, object: 'once/in process' });
  const read = await storageRequest({
    ...{ verb: 'GET', url: get.url, bytes: Buffer.alloc(0) },
    headers: { host: 'storage.googleapis.com' },
  });
  expect(Buffer.from(read.bytes ?? []).toString()).toBe('x');
  const form = await signForm({ bucket: BUCKET, prefix: 'out/' });
  const request = new Request('http://form', { method: 'POST', body: formData(form.fields) });
  const posted = await storageRequest({
    ...{ verb: 'POST', url: form.url, bytes: Buffer.from(await request.arrayBuffer()) },
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
  });
  expect([posted.status, content('out/p')]).toEqual([204, 'file']);
});

function formData(fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fields, key: 'out/p' })) form.append(name, value);
  form.append('file', new Blob(['file']), 'file');
  return form;
}
