// The real @google-cloud/storage client against the server: what it sends is served, what it checks holds.
import { gzipSync } from 'node:zlib';
import { CRC32C, Storage } from '@google-cloud/storage';
import { PassThroughClient } from 'google-auth-library';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';

let cloud: LocalCloud;
let storage: Storage;

beforeAll(async () => {
  cloud = await startLocalCloud({ world: { storage: { objectWriteGapMs: 0 } } });
  storage = new Storage({ apiEndpoint: cloud.baseUrl, projectId: 'local-project' });
});
afterAll(async () => cloud[Symbol.asyncDispose]());

const file = (name: string) => storage.bucket('local-bucket').file(name);

describe.each([
  { upload: 'multipart', resumable: false },
  { upload: 'resumable', resumable: true },
])('$upload upload', ({ upload, resumable }) => {
  test('arrives byte for byte, with its type, and passes the CRC32C check of the client', async () => {
    const name = `${upload}/ä b%2F"'=.bin`;
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256));
    await file(name).save(bytes, { resumable, validation: 'crc32c', contentType: 'image/png' });
    const [read] = await file(name).download({ validation: 'crc32c' });
    expect(read.equals(bytes)).toBe(true);
    const [metadata] = await file(name).getMetadata();
    const checksum = new CRC32C();
    checksum.update(bytes);
    expect(metadata).toMatchObject({
      contentType: 'image/png',
      size: '70000',
      crc32c: checksum.toString(),
      metageneration: '1',
      generation: expect.stringMatching(/^[0-9]{16}$/),
    });
  });

  test('a create-only write is refused with 412 the second time', async () => {
    const name = `${upload}-once`;
    const options = { resumable, preconditionOpts: { ifGenerationMatch: 0 } };
    await file(name).save('one', options);
    await expect(file(name).save('two', options)).rejects.toMatchObject({ code: 412 });
    expect((await file(name).download())[0].toString()).toBe('one');
  });
});

test('content that holds the look of a boundary survives a multipart upload', async () => {
  const text = '--abc\r\n\r\n--\r\nContent-Type: x\r\n\r\n';
  await file('tricky').save(text, { resumable: false });
  expect((await file('tricky').download())[0].toString()).toBe(text);
});

test.each([
  { name: 'in double quotes, CRLF', quote: '"', line: '\r\n' },
  { name: 'in single quotes, LF, as gcloud sends it', quote: "'", line: '\n' },
  { name: 'bare', quote: '', line: '\r\n' },
])('a boundary $name', async ({ quote, line }) => {
  const boundary = '===============0042==';
  const body = [
    `--${boundary}`,
    'Content-Type: application/json',
    'MIME-Version: 1.0',
    '',
    '{"name": "quoted"}',
    `--${boundary}`,
    'content-type: text/plain',
    '',
    'first\n',
    `--${boundary}--`,
  ].join(line);
  const headers = { 'content-type': `multipart/related; boundary=${quote}${boundary}${quote}` };
  const url = `${cloud.baseUrl}/upload/storage/v1/b/local-bucket/o?uploadType=multipart`;
  const reply = await fetch(url, { method: 'POST', headers, body });
  expect(await reply.json()).toMatchObject({
    name: 'quoted',
    contentType: 'text/plain',
    size: '6',
  });
  expect((await file('quoted').download())[0].toString()).toBe('first\n');
});

test('a wrong checksum is refused', async () => {
  const metadata = { crc32c: 'AAAAAA==' };
  const saving = file('wrong').save('x', { resumable: false, validation: false, metadata });
  await expect(saving).rejects.toMatchObject({ code: 400 });
});

test('gzip content is stored as sent and unpacked for who does not accept it', async () => {
  const url = `${cloud.baseUrl}/storage/v1/b/local-bucket/o/zipped?alt=media`;
  const packed = gzipSync('hello');
  await file('zipped').save(packed, {
    resumable: false,
    metadata: { contentEncoding: 'gzip', contentType: 'text/plain' },
  });
  expect((await file('zipped').getMetadata())[0].size).toBe(String(packed.length));
  const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
  expect([await plain.text(), plain.headers.get('content-encoding')]).toEqual(['hello', null]);
  const raw = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
  expect(raw.headers.get('content-encoding')).toBe('gzip');
  expect((await file('zipped').download())[0].toString()).toBe('hello');
});

test('lists by prefix, delimiter and page, in the order of the UTF-8 bytes', async () => {
  for (const name of [
    'list/b',
    'list/a/1',
    'list/a/2',
    'list/c',
    'list/\u{1F600}',
    'list/\uFF5E',
  ]) {
    await file(name).save('x', { resumable: false });
  }
  const bucket = storage.bucket('local-bucket');
  const options = { prefix: 'list/', maxResults: 2, autoPaginate: false };
  const [first, next] = await bucket.getFiles(options);
  const [second] = await bucket.getFiles({ ...options, ...next });
  expect([...first, ...second].map(({ name }) => name)).toEqual([
    'list/a/1',
    'list/a/2',
    'list/b',
    'list/c',
  ]);
  const [all] = await bucket.getFiles({ prefix: 'list/' });
  expect(all.slice(-2).map(({ name }) => name)).toEqual(['list/\uFF5E', 'list/\u{1F600}']);
  const [, , reply] = await bucket.getFiles({
    prefix: 'list/',
    delimiter: '/',
    autoPaginate: false,
  });
  expect(reply).toMatchObject({ prefixes: ['list/a/'] });
});

test('deletes by generation, and a missing object is a 404', async () => {
  await file('gone').save('x', { resumable: false });
  const [{ generation }] = await file('gone').getMetadata();
  await expect(file('gone').delete({ ifGenerationMatch: 1 })).rejects.toMatchObject({ code: 412 });
  await file('gone').delete({ ifGenerationMatch: Number(generation) });
  await expect(file('gone').download()).rejects.toMatchObject({ code: 404 });
});

test('copies, and reads exactly the generation that was asked for', async () => {
  await file('from').save('one', { resumable: false, contentType: 'text/x-one' });
  await file('from').copy(file('to'));
  expect((await file('to').getMetadata())[0]).toMatchObject({
    contentType: 'text/x-one',
    size: '3',
  });
  const [{ generation }] = await file('from').getMetadata();
  await file('from').save('two', { resumable: false });
  const old = storage.bucket('local-bucket').file('from', { generation: Number(generation) });
  await expect(old.download()).rejects.toMatchObject({ code: 404 });
});

test('the paths of STORAGE_EMULATOR_HOST, without /storage/v1, are served too', async () => {
  await file('plain').save('x', { resumable: false });
  const reply = await fetch(`${cloud.baseUrl}/b/local-bucket/o/plain`);
  expect(await reply.json()).toMatchObject({
    name: 'plain',
    mediaLink: expect.stringContaining(
      `${cloud.baseUrl}/download/storage/v1/b/local-bucket/o/plain`,
    ),
  });
});

test('a range of the content, as gcloud asks for it', async () => {
  await file('range').save('0123456789', { resumable: false });
  const { mediaLink } = (await file('range').getMetadata())[0];
  const reply = await fetch(String(mediaLink), { headers: { range: 'bytes=3-5' } });
  expect([reply.status, reply.headers.get('content-range'), await reply.text()]).toEqual([
    206,
    'bytes 3-5/10',
    '345',
  ]);
  const beyond = await fetch(String(mediaLink), { headers: { range: 'bytes=10-' } });
  expect(beyond.status).toBe(416);
});

test('who pays is seen, and an unknown access token is nobody', async () => {
  const paying = new Storage({ apiEndpoint: cloud.baseUrl, authClient: new PassThroughClient() });
  await paying.bucket('local-bucket', { userProject: 'payer' }).file('plain').getMetadata();
  expect(cloud.world.calls.entries().at(-1)).toMatchObject({ name: 'plain', userProject: 'payer' });
  const url = `${cloud.baseUrl}/storage/v1/b/local-bucket`;
  const reply = await fetch(url, { headers: { authorization: 'Bearer made-up' } });
  expect(reply.status).toBe(401);
});
