import { createSign, createVerify, generateKeyPairSync } from 'node:crypto';
import { Storage } from '@google-cloud/storage';
import fc from 'fast-check';
import { GoogleAuth, JWT } from 'google-auth-library';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createUrlSigner } from '#shared/cloud/signed-url.ts';
import { applicationCredentials, createTransport, noCredentials } from '#shared/cloud/token.ts';
import { type Answer, googleError, type SeenRequest, startLoopback } from '#test/cloud/loopback.ts';
import { instantTiming } from '#test/cloud/timing.ts';

const READER = 'reader@p.iam.gserviceaccount.com';
const UPLOADER = 'uploader@p.iam.gserviceaccount.com';
const EMULATOR = 'http://127.0.0.1:9023';
const HOURS_12_MS = 12 * 3_600_000;
const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const ENVIRONMENT = { ...process.env };

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => {
  vi.useRealTimers();
  process.env = { ...ENVIRONMENT };
});

/** IAM Credentials' signBlob with the key that the official client has too. */
function signBlob({ body }: SeenRequest): Answer {
  const { payload } = JSON.parse(body) as { payload: string };
  const sign = createSign('RSA-SHA256').update(Buffer.from(payload, 'base64'));
  return { status: 200, json: { keyId: 'k', signedBlob: sign.sign(privateKey, 'base64') } };
}

async function open(
  answer: (request: SeenRequest, index: number) => Answer = signBlob,
  storage: string | null = null,
) {
  const server = await startLoopback(answer);
  const timing = instantTiming();
  const signer = createUrlSigner({
    transport: createTransport(noCredentials('p')),
    endpoints: { storage, iamCredentials: server.url },
    reader: READER,
    uploader: UPLOADER,
    clock: { ...timing.clock, nowMs: () => Date.now() },
    entropy: timing.entropy,
  });
  return { signer, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Signs with the key that it holds, without a call. */
function official(account: string, host: string | null): Storage {
  const auth = new GoogleAuth({ authClient: new JWT({ email: account, key: privateKey }) });
  auth.jsonContent = { client_email: account };
  const endpoint = host === null ? {} : { apiEndpoint: host };
  return new Storage({ projectId: 'p', authClient: auth as never, ...endpoint });
}

const PIECES = [
  ...[' ', '+', '%', '/', '"', "'", '?', '#', '&', '=', '*', '(', ')', '!', '~', '\\', '$', ':'],
  ...['%2F', '%25', '..', 'a', 'Z', '0', '-', '_', '.', 'ü', 'e\u0301', '漢', '😀', '\u00a0', '{}'],
];
/** No URL has a segment of dots alone: every client takes it away. */
const objectName = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 20 })
  .map((pieces) => pieces.join(''))
  .filter((name) => !name.split('/').some((segment) => /^\.{1,2}$/.test(segment)));
const bucketName = fc.constantFrom('my-bucket', 'a.b_c', '123');
const instant = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2037, 0, 1) });
const host = fc.constantFrom(null, EMULATOR);

describe('C145, C148: as Google’s own client signs, byte for byte', () => {
  test('addresses to read one generation, or what is there', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          bucket: bucketName,
          object: objectName,
          at: instant,
          host,
          // Above 2^53 the client rounds them.
          generation: fc.option(fc.integer({ min: 1, max: 2 ** 53 - 1 }).map(String)),
        }),
        async ({ bucket, object, at, host: storage, generation }) => {
          vi.setSystemTime(at);
          await using opened = await open(signBlob, storage);
          const { url, headers } = await opened.signer.signUrl({
            method: 'GET',
            bucket,
            object,
            ...(generation === null ? {} : { generation }),
          });
          const [expected] = await official(READER, storage)
            .bucket(bucket)
            .file(object, generation === null ? {} : { generation })
            .getSignedUrl({
              version: 'v4',
              action: 'read',
              accessibleAt: at,
              expires: Math.floor(at / 1000) * 1000 + HOURS_12_MS,
            });
          expect(url).toBe(expected);
          expect(headers).toEqual({});
        },
      ),
      { numRuns: 200, seed: 145 },
    );
  });

  test('addresses to create an object once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          bucket: bucketName,
          object: objectName,
          at: instant,
          host,
          contentType: fc.constantFrom(undefined, 'application/json', 'text/plain; charset=utf-8'),
        }),
        async ({ bucket, object, at, host: storage, contentType }) => {
          vi.setSystemTime(at);
          await using opened = await open(signBlob, storage);
          const type = contentType === undefined ? {} : { contentType };
          const request = { method: 'PUT', bucket, object, ...type } as const;
          const { url, headers } = await opened.signer.signUrl(request);
          const [expected] = await official(UPLOADER, storage)
            .bucket(bucket)
            .file(object)
            .getSignedUrl({
              version: 'v4',
              action: 'write',
              accessibleAt: at,
              expires: Math.floor(at / 1000) * 1000 + HOURS_12_MS,
              extensionHeaders: { 'x-goog-if-generation-match': '0' },
              ...type,
            });
          expect(url).toBe(expected);
          expect(headers).toEqual({
            'x-goog-if-generation-match': '0',
            ...(contentType === undefined ? {} : { 'content-type': contentType }),
          });
        },
      ),
      { numRuns: 200, seed: 148 },
    );
  });

  // The client always pins the key; ours leaves it open, so that one form serves for a whole prefix.
  test('C146: forms for a prefix, but for the condition on one key', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ bucket: bucketName, prefix: objectName, at: instant, host }),
        async ({ bucket, prefix, at, host: storage }) => {
          vi.setSystemTime(at);
          if (storage === null) delete process.env.STORAGE_EMULATOR_HOST;
          else process.env.STORAGE_EMULATOR_HOST = storage;
          await using opened = await open(signBlob, storage);
          const form = await opened.signer.signForm({ bucket, prefix });
          const [expected] = await official(UPLOADER, storage)
            .bucket(bucket)
            .file('any')
            .generateSignedPostPolicyV4({
              expires: at + HOURS_12_MS,
              conditions: [['starts-with', '$key', prefix]],
            });
          const { key, policy, 'x-goog-signature': _, ...fields } = expected.fields;
          const pinned = Buffer.from(policy ?? '', 'base64').toString();
          const open_ = pinned.replace(`{"key":"${key}"},`, '');
          expect(open_).not.toBe(pinned);
          const signature = form.fields['x-goog-signature'] ?? '';
          expect(form).toEqual({
            url: expected.url,
            bucket,
            prefix,
            fields: {
              ...fields,
              policy: Buffer.from(open_).toString('base64'),
              'x-goog-signature': signature,
            },
          });
          const verify = createVerify('RSA-SHA256').update(form.fields.policy ?? '');
          expect(verify.verify(publicKey, signature, 'hex')).toBe(true);
        },
      ),
      { numRuns: 200, seed: 146 },
    );
  });
});

test('C146: reading is signed as the reader, writing as the uploader', async () => {
  await using opened = await open();
  const get = await opened.signer.signUrl({ method: 'GET', bucket: 'b-1', object: 'o' });
  const put = await opened.signer.signUrl({ method: 'PUT', bucket: 'b-1', object: 'o' });
  const form = await opened.signer.signForm({ bucket: 'b-1', prefix: 'p/' });
  const credential = ({ url }: { readonly url: string }) =>
    new URL(url).searchParams.get('X-Goog-Credential')?.split('/')[0];
  expect([credential(get), credential(put)]).toEqual([READER, UPLOADER]);
  expect(form.fields['x-goog-credential']?.split('/')[0]).toBe(UPLOADER);
  expect(
    opened.server.seen.map(({ method, path }) => `${method} ${decodeURIComponent(path)}`),
  ).toEqual(
    [READER, UPLOADER, UPLOADER].map(
      (account) => `POST /v1/projects/-/serviceAccounts/${account}:signBlob`,
    ),
  );
});

test('C145: each signature is asked for with a token that is still good', async () => {
  let tokens = 0;
  let lifeSeconds = 3600;
  await using metadata = await startLoopback(() => ({
    status: 200,
    json: { access_token: `token-${++tokens}`, expires_in: lifeSeconds, token_type: 'Bearer' },
    headers: { 'metadata-flavor': 'Google' },
  }));
  process.env.GCE_METADATA_HOST = metadata.host;
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
  await using server = await startLoopback(signBlob);
  vi.setSystemTime(Date.UTC(2026, 11, 1));
  const signer = createUrlSigner({
    transport: createTransport(applicationCredentials('p')),
    endpoints: { storage: null, iamCredentials: server.url },
    reader: READER,
    uploader: UPLOADER,
  });
  const sign = () => signer.signUrl({ method: 'GET', bucket: 'b-1', object: 'o' });
  await sign();
  await sign();
  lifeSeconds = 7200;
  vi.setSystemTime(Date.UTC(2026, 11, 1, 1, 30));
  await sign();
  expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer token-1',
    'Bearer token-1',
    'Bearer token-2',
  ]);
});

test('a signature changes nothing, so that its call is repeated', async () => {
  await using opened = await open((request, index) =>
    index < 2 ? googleError(503, 'backendError') : signBlob(request),
  );
  const { url } = await opened.signer.signUrl({ method: 'GET', bucket: 'b-1', object: 'o' });
  expect(url).toMatch(/X-Goog-Signature=[0-9a-f]{512}$/);
  expect(opened.server.seen).toHaveLength(3);
});

test('C12: without the permission the error names it, and what to do', async () => {
  await using opened = await open(() => googleError(403, 'forbidden', 'no'));
  await expect(
    opened.signer.signUrl({ method: 'GET', bucket: 'b-1', object: 'o' }),
  ).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringMatching(/iam\.serviceAccounts\.signBlob.*serviceAccountTokenCreator/),
  });
  expect(opened.server.seen).toHaveLength(1);
});

test.each([
  { name: 'no JSON', answer: { status: 200, text: 'ok' } },
  { name: 'no signature', answer: { status: 200, json: { keyId: 'k' } } },
  { name: 'no base64', answer: { status: 200, json: { signedBlob: '<html>' } } },
])('an answer with $name signs nothing', async ({ answer }) => {
  await using opened = await open(() => answer);
  await expect(opened.signer.signForm({ bucket: 'b-1', prefix: '' })).rejects.toMatchObject({
    code: 'unreadable',
  });
});

test.each(['GET', 'PUT'] as const)(
  'without an account a %s is not signed, and the setting is named',
  async (method) => {
    const signer = createUrlSigner({
      transport: () => Promise.reject(new Error('called')),
      endpoints: { storage: null, iamCredentials: null },
      reader: null,
      uploader: null,
    });
    const name = method === 'GET' ? 'READER' : 'UPLOADER';
    await expect(signer.signUrl({ method, bucket: 'b-1', object: 'o' })).rejects.toMatchObject({
      code: 'invalid',
      retriable: false,
      message: expect.stringContaining(`MAYFLY_JOBS_${name}_SERVICE_ACCOUNT`),
    });
  },
);
