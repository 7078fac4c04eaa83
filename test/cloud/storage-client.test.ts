import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { CloudError } from '#shared/cloud/errors.ts';
import { createObjectStore, type ObjectStoreOptions } from '#shared/cloud/storage-client.ts';
import { applicationCredentials, noCredentials } from '#shared/cloud/token.ts';
import { type Answer, googleError, type SeenRequest, startLoopback } from '#test/cloud/loopback.ts';
import { instantTiming } from '#test/cloud/timing.ts';

const NAME = 'runs/gce-status/vm 1.json';
const TEXT = '{"status":"RUNNING"}';
// crc32c of TEXT by a second implementation (bitwise, polynomial 0x82f63b78), base64 big-endian.
const CRC32C = crc32c(Buffer.from(TEXT));

function crc32c(bytes: Uint8Array): string {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE((crc ^ 0xffffffff) >>> 0);
  return sum.toString('base64');
}

function media(text: string | Uint8Array, headers: Record<string, string> = {}): Answer {
  return {
    status: 200,
    text,
    headers: {
      'x-goog-generation': '1764547200123456',
      'x-goog-stored-content-encoding': 'identity',
      'x-goog-hash': `crc32c=${crc32c(Buffer.from(text))}`,
      'last-modified': 'Mon, 01 Dec 2025 00:00:00 GMT',
      ...headers,
    },
  };
}

const written: Answer = {
  status: 200,
  json: { kind: 'storage#object', name: NAME, generation: '1764547200999999', crc32c: CRC32C },
};

async function open(
  answer: (request: SeenRequest, index: number) => Answer,
  options: Partial<ObjectStoreOptions> = {},
) {
  const server = await startLoopback(answer);
  const timing = instantTiming();
  const store = createObjectStore({
    bucket: 'b1',
    endpoint: server.url,
    credentials: noCredentials('p1'),
    ...timing,
    ...options,
  });
  return {
    store,
    server,
    waits: timing.waits,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function failure(call: Promise<unknown>): Promise<CloudError> {
  const error = await call.then(
    (reply) => new Error(`expected a failure, got ${JSON.stringify(reply)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CloudError)) throw error;
  return error;
}

test('a live read takes bytes, generation and time from one reply', async () => {
  await using opened = await open(() => media(TEXT));
  const reply = await opened.store.read(NAME);
  expect(reply).toEqual({
    kind: 'found',
    bytes: Buffer.from(TEXT),
    generation: '1764547200123456',
    updatedMs: Date.parse('2025-12-01T00:00:00Z'),
  });
  expect(opened.server.seen).toHaveLength(1);
  const [request] = opened.server.seen;
  expect(request?.path).toBe('/storage/v1/b/b1/o/runs%2Fgce-status%2Fvm%201.json');
  expect(request?.query.get('alt')).toBe('media');
  expect(request?.query.has('generation')).toBe(false);
});

test('a generation above 2^53 is sent digit by digit', async () => {
  await using opened = await open(() => media(TEXT));
  await opened.store.read(NAME, '9007199254740993');
  expect(opened.server.seen[0]?.query.get('generation')).toBe('9007199254740993');
});

test('P59: the pinned generation answers 404: absent, although a later one lives', async () => {
  await using opened = await open(({ query }) =>
    query.get('generation') === '1700000000000001'
      ? { status: 404, text: `No such object: b1/${NAME}` }
      : media('{"status":"SUCCEEDED"}', { 'x-goog-generation': '1700000000000002' }),
  );
  expect(await opened.store.read(NAME, '1700000000000001')).toEqual({ kind: 'absent' });
  expect(await opened.store.read(NAME)).toMatchObject({ generation: '1700000000000002' });
  expect(opened.server.seen).toHaveLength(2);
});

test('A82: an empty bucket or object name is a programming error, and nothing is sent', async () => {
  const credentials = noCredentials('p1');
  const openNameless = () => createObjectStore({ bucket: '', endpoint: null, credentials });
  expect(openNameless).toThrow('bucket without a name');
  await using opened = await open(() => media(TEXT));
  await expect(opened.store.read('')).rejects.toThrow('object without a name');
  await expect(opened.store.write('', TEXT, { ifGeneration: '0' })).rejects.toThrow(
    'without a name',
  );
  await expect(opened.store.delete('')).rejects.toThrow('object without a name');
  expect(opened.server.seen).toHaveLength(0);
  expect(opened.waits).toEqual([]);
});

test('A84: an object that is not there is absent', async () => {
  await using opened = await open(() => ({ status: 404, text: `No such object: b1/${NAME}` }));
  expect(await opened.store.read(NAME)).toEqual({ kind: 'absent' });
});

test('A84: a missing bucket says nothing about its objects', async () => {
  await using opened = await open(() =>
    googleError(404, 'notFound', 'The specified bucket does not exist.'),
  );
  const error = await failure(opened.store.read(NAME));
  expect(error).toMatchObject({ code: 'unavailable', reason: 'bucket-missing' });
  expect(error.message).toMatch(/bucket does not exist.*\(b1\)/);
});

test.each([
  { name: '503', answer: googleError(503, 'backendError'), code: 'unavailable', tries: 4 },
  { name: '429', answer: googleError(429, 'rateLimitExceeded'), code: 'rate-limited', tries: 4 },
  { name: 'a cut connection', answer: 'reset' as Answer, code: 'unavailable', tries: 4 },
  { name: '403', answer: googleError(403, 'forbidden'), code: 'forbidden', tries: 1 },
  { name: '401', answer: googleError(401, 'authError'), code: 'unauthenticated', tries: 1 },
])('A85: $name while reading is an error, never absent', async ({ answer, code, tries }) => {
  await using opened = await open(() => answer);
  expect((await failure(opened.store.read(NAME))).code).toBe(code);
  expect(opened.server.seen).toHaveLength(tries);
});

test('A85: a read that hangs ends at its deadline, and its connection is closed', async () => {
  await using opened = await open(() => 'hang', { timeoutMs: 150 });
  expect((await failure(opened.store.read(NAME))).code).toBe('timeout');
  await expect.poll(() => opened.server.isAbandoned()).toBe(true);
});

test('a write that hangs ends at its deadline, and its connection is closed', async () => {
  await using opened = await open(() => 'hang', { timeoutMs: 150 });
  const call = opened.store.write(NAME, TEXT, { ifGeneration: '0' });
  expect((await failure(call)).code).toBe('timeout');
  await expect.poll(() => opened.server.isAbandoned()).toBe(true);
});

test('A85: a read that succeeds at the third try succeeds', async () => {
  await using opened = await open((_, index) =>
    index < 2 ? googleError(503, 'backendError') : media(TEXT),
  );
  expect((await opened.store.read(NAME)).kind).toBe('found');
  expect(opened.waits).toEqual([250, 500]);
});

test('a 429 is waited out a second and more: a name takes one write a second', async () => {
  await using opened = await open((_, index) =>
    index < 2 ? googleError(429, 'rateLimitExceeded') : written,
  );
  expect((await opened.store.write(NAME, TEXT, { ifGeneration: '0' })).kind).toBe('written');
  expect(opened.waits).toEqual([1250, 2500]);
});

test('A86: damaged bytes are fetched again, and refused when they stay damaged', async () => {
  const damaged = media(TEXT, { 'x-goog-hash': 'crc32c=AAAAAA==' });
  await using healed = await open((_, index) => (index === 0 ? damaged : media(TEXT)));
  expect((await healed.store.read(NAME)).kind).toBe('found');
  await using broken = await open(() => damaged);
  const error = await failure(broken.store.read(NAME));
  expect(error).toMatchObject({ code: 'unavailable', reason: 'checksum-mismatch' });
});

test('A86: a reply without a generation is unreadable', async () => {
  await using opened = await open(() => ({ status: 200, text: TEXT }));
  expect((await failure(opened.store.read(NAME))).code).toBe('unreadable');
});

test('A86: bytes that are no JSON are handed over as they are', async () => {
  await using opened = await open(() => media(Buffer.from([0xff, 0xfe, 0x7b])));
  expect(await opened.store.read(NAME)).toMatchObject({ bytes: Buffer.from([0xff, 0xfe, 0x7b]) });
});

test('P61: an object stored with gzip encoding is unpacked', async () => {
  const packed = gzipSync(TEXT);
  await using opened = await open(() =>
    media(packed, { 'content-encoding': 'gzip', 'x-goog-stored-content-encoding': 'gzip' }),
  );
  expect(await opened.store.read(NAME)).toMatchObject({ bytes: Buffer.from(TEXT) });
});

test('P61: an object that the service unpacked is not compared with the stored checksum', async () => {
  await using opened = await open(() =>
    media(TEXT, {
      'x-goog-stored-content-encoding': 'gzip',
      'x-goog-hash': `crc32c=${crc32c(gzipSync(TEXT))}`,
      'x-goog-stored-content-length': '40',
    }),
  );
  expect(await opened.store.read(NAME)).toMatchObject({ bytes: Buffer.from(TEXT) });
});

test('P61: bytes that only claim to be gzip are unreadable', async () => {
  await using opened = await open(() =>
    media(TEXT, { 'content-encoding': 'gzip', 'x-goog-stored-content-encoding': 'gzip' }),
  );
  expect((await failure(opened.store.read(NAME))).code).toBe('unreadable');
});

test('a write is one multipart upload with its precondition and checksum', async () => {
  await using opened = await open(() => written);
  const reply = await opened.store.write(NAME, TEXT, { ifGeneration: '1764547200123456' });
  expect(reply).toEqual({ kind: 'written', generation: '1764547200999999' });
  const [request] = opened.server.seen;
  expect(opened.server.seen).toHaveLength(1);
  expect(request?.path).toBe('/upload/storage/v1/b/b1/o');
  expect(request?.query.get('uploadType')).toBe('multipart');
  expect(request?.query.get('name')).toBe(NAME);
  expect(request?.query.get('ifGenerationMatch')).toBe('1764547200123456');
  expect(request?.body).toContain(`"crc32c":"${CRC32C}"`);
  expect(request?.body).toContain(TEXT);
});

test('an empty object is written too', async () => {
  await using opened = await open(() => written);
  expect((await opened.store.write(NAME, '', { ifGeneration: '0' })).kind).toBe('written');
  expect(opened.server.seen[0]?.query.get('ifGenerationMatch')).toBe('0');
});

test('412 is a conflict, also after a reply was lost', async () => {
  await using opened = await open((_, index) =>
    index === 0 ? 'reset' : googleError(412, 'conditionNotMet'),
  );
  expect(await opened.store.write(NAME, TEXT, { ifGeneration: '0' })).toEqual({ kind: 'conflict' });
});

test.each([
  { name: 'no JSON', answer: { status: 200, text: '<html>' } as Answer },
  { name: 'an empty body', answer: { status: 200 } as Answer },
  { name: 'no generation', answer: { status: 200, json: { name: NAME } } as Answer },
])('a write answered with $name is unreadable, not written', async ({ answer }) => {
  await using opened = await open(() => answer);
  const call = opened.store.write(NAME, TEXT, { ifGeneration: '0' });
  expect((await failure(call)).code).toBe('unreadable');
});

test('deleting without a generation looks it up and deletes exactly that one', async () => {
  await using opened = await open(({ method }) =>
    method === 'GET' ? { status: 200, json: { name: NAME, generation: '7' } } : { status: 204 },
  );
  expect(await opened.store.delete(NAME)).toEqual({ kind: 'deleted' });
  expect(opened.server.seen.map(({ method }) => method)).toEqual(['GET', 'DELETE']);
  expect(opened.server.seen[1]?.query.get('ifGenerationMatch')).toBe('7');
});

test.each([
  { status: 204, kind: 'deleted' },
  { status: 404, kind: 'absent' },
  { status: 412, kind: 'conflict' },
])('deleting a generation: $status is $kind', async ({ status, kind }) => {
  await using opened = await open(() => (status === 204 ? { status } : googleError(status, 'x')));
  expect(await opened.store.delete(NAME, '7')).toEqual({ kind });
  expect(opened.server.seen[0]?.query.get('ifGenerationMatch')).toBe('7');
});

test('a page is listed in one request, and continued by its token', async () => {
  const updated = '2026-12-01T00:00:00.123Z';
  const item = { name: 'a', generation: '1', size: '12', updated, metadata: { own: 'x' } };
  await using opened = await open((_, index) => ({
    status: 200,
    json: index === 0 ? { items: [item], nextPageToken: 't2' } : {},
  }));
  expect(await opened.store.list('runs/active/')).toEqual({
    objects: [
      { name: 'a', generation: '1', bytes: 12, updatedMs: 1796083200123, metadata: { own: 'x' } },
    ],
    nextPageToken: 't2',
  });
  expect(await opened.store.list('runs/active/', 't2')).toEqual({
    objects: [],
    nextPageToken: null,
  });
  const [first, second] = opened.server.seen;
  expect(first?.query.get('prefix')).toBe('runs/active/');
  expect(first?.query.get('maxResults')).toBe('1000');
  expect(first?.query.has('pageToken')).toBe(false);
  expect(second?.query.get('pageToken')).toBe('t2');
});

test.each([
  { name: 'no body', answer: { status: 200 } as Answer },
  { name: 'a list', answer: { status: 200, json: [] } as Answer },
  { name: 'items that are no list', answer: { status: 200, json: { items: 3 } } as Answer },
])('a page answered with $name is unreadable, not empty', async ({ answer }) => {
  await using opened = await open(() => answer);
  expect((await failure(opened.store.list('runs/'))).code).toBe('unreadable');
});

test('A87: every request names the project that is billed for it', async () => {
  await using opened = await open(
    ({ method, query }) =>
      method === 'POST'
        ? written
        : query.get('alt') === 'media'
          ? media(TEXT)
          : { status: 200, json: { generation: '1' } },
    { userProject: 'payer' },
  );
  await opened.store.read(NAME);
  await opened.store.write(NAME, TEXT, { ifGeneration: '0' });
  await opened.store.list('runs/');
  await opened.store.delete(NAME);
  expect(opened.server.seen.map(({ query }) => query.get('userProject'))).toEqual(
    opened.server.seen.map(() => 'payer'),
  );
});

test('A87: without such a project no request names one', async () => {
  await using opened = await open(() => media(TEXT));
  await opened.store.read(NAME);
  expect(opened.server.seen[0]?.query.has('userProject')).toBe(false);
});

test('parallel calls do not take each other’s repeats away', async () => {
  const tries = new Map<string, number>();
  await using opened = await open(({ path }) => {
    const count = (tries.get(path) ?? 0) + 1;
    tries.set(path, count);
    return count < 3 ? googleError(503, 'backendError') : media(TEXT);
  });
  const names = Array.from({ length: 20 }, (_, index) => `runs/${index}`);
  const replies = await Promise.all(names.map((name) => opened.store.read(name)));
  expect(replies.map(({ kind }) => kind)).toEqual(names.map(() => 'found'));
});

test('the token of the metadata server is sent to an endpoint of our own', async () => {
  await using metadata = await startLoopback(() => ({
    status: 200,
    json: { access_token: 'local-token', expires_in: 3600, token_type: 'Bearer' },
    headers: { 'metadata-flavor': 'Google' },
  }));
  process.env.GCE_METADATA_HOST = metadata.host;
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
  await using opened = await open(() => media(TEXT), { credentials: applicationCredentials('p1') });
  await opened.store.read(NAME);
  expect(opened.server.seen[0]?.headers.authorization).toBe('Bearer local-token');
});

test('STORAGE_EMULATOR_HOST, which the library reads itself, moves no path', async () => {
  await using opened = await open(() => media(TEXT));
  process.env.STORAGE_EMULATOR_HOST = opened.server.host;
  await opened.store.read(NAME);
  delete process.env.STORAGE_EMULATOR_HOST;
  expect(opened.server.seen[0]?.path).toMatch(/^\/storage\/v1\/b\/b1\/o\//);
});

test('an object above 8 MiB is refused, not kept in memory', async () => {
  const text = new Uint8Array(8 * 1024 * 1024 + 1);
  const headers = { 'x-goog-generation': '1', 'last-modified': 'Mon, 01 Dec 2025 00:00:00 GMT' };
  await using opened = await open(() => ({ status: 200, text, headers }));
  expect((await failure(opened.store.read(NAME))).code).toBe('unreadable');
});

test('without credentials no header is sent', async () => {
  await using opened = await open(() => media(TEXT));
  await opened.store.read(NAME);
  expect(opened.server.seen[0]?.headers.authorization).toBeUndefined();
});
