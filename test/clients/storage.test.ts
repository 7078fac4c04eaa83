// The official Cloud Storage client with the variables that `mayfly local` prints, against a laid out
// deployment: STORAGE_EMULATOR_HOST, and for signed addresses the account of a metadata server.
import { createHash } from 'node:crypto';
import { CRC32C, Storage } from '@google-cloud/storage';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { localAccount } from '#scripts/local-cloud/deployment/environment.ts';
import { type LaidOut, layOut } from '#test/scripts/mayfly/laid-out.ts';

const BYTES = Buffer.from(Array.from({ length: 600_000 }, (_, index) => (index * 31) % 251));

let laidOut: LaidOut;
let storage: Storage;
beforeAll(async () => {
  laidOut = await layOut(Date.now);
  Object.assign(process.env, laidOut.environment);
  storage = new Storage({ projectId: 'local-project' });
});
afterAll(() => laidOut[Symbol.asyncDispose]());

const bucket = () => storage.bucket('local-bucket');
const file = (name: string) => bucket().file(name);

test('the bucket is as it was laid out: no versions, no soft delete, lifecycle, notifications', async () => {
  const [metadata] = await bucket().getMetadata();
  expect(metadata).toMatchObject({
    name: 'local-bucket',
    iamConfiguration: { uniformBucketLevelAccess: { enabled: true } },
    softDeletePolicy: { retentionDurationSeconds: '0' },
  });
  expect(metadata.lifecycle?.rule).toHaveLength(2);
  const [notifications] = await bucket().getNotifications();
  const prefixes = notifications.map(({ metadata: told }) => told.object_name_prefix);
  expect(prefixes.sort()).toEqual(['runs/gce-status/', 'runs/rejected/', 'runs/results/']);
  expect((await storage.bucket('elsewhere').exists())[0]).toBe(false);
});

describe.each([
  { name: 'multipart', parts: 0, options: { resumable: false } },
  { name: 'resumable', parts: 1, options: { resumable: true } },
  { name: 'in parts', parts: 3, options: { resumable: true, chunkSize: 256 * 1024 } },
])('an upload, $name', ({ name, parts, options }) => {
  test('is read back with its checksums, once by itself and once in a range', async () => {
    const target = file(`data/${name}/ä b%2F"'=.bin`);
    const sent = () => laidOut.cloud.world.calls.count({ method: 'storage.uploads.continue' });
    const before = sent();
    await target.save(BYTES, { ...options, validation: 'crc32c', contentType: 'image/png' });
    expect(sent() - before).toBe(parts);
    const [read] = await target.download({ validation: 'crc32c' });
    expect(read.equals(BYTES)).toBe(true);
    const [part] = await target.download({ start: 1000, end: 1999 });
    expect(part.equals(BYTES.subarray(1000, 2000))).toBe(true);
    const checksum = new CRC32C();
    checksum.update(BYTES);
    const [metadata] = await target.getMetadata();
    expect(metadata).toMatchObject({
      size: '600000',
      contentType: 'image/png',
      crc32c: checksum.toString(),
      md5Hash: createHash('md5').update(BYTES).digest('base64'),
    });
  });

  test('that may only create is refused with 412 the second time', async () => {
    const target = file(`data/${name}/once`);
    const once = { ...options, preconditionOpts: { ifGenerationMatch: 0 } };
    await target.save('one', once);
    await expect(target.save('two', once)).rejects.toMatchObject({ code: 412 });
    const [{ generation }] = await target.getMetadata();
    const swap = { ...options, preconditionOpts: { ifGenerationMatch: Number(generation) } };
    await target.save('three', swap);
    await expect(target.save('four', swap)).rejects.toMatchObject({ code: 412 });
    expect((await target.download())[0].toString()).toBe('three');
  });
});

test('lists page by page and by folder, and deletes', async () => {
  const names = ['a/1', 'a/2', 'a/3', 'b', 'c/1'].map((name) => `data/listed/${name}`);
  await Promise.all(names.map((name) => file(name).save('x', { resumable: false })));
  const prefix = 'data/listed/';
  const [first, next] = await bucket().getFiles({ prefix, maxResults: 2, autoPaginate: false });
  expect(first.map(({ name }) => name)).toEqual(names.slice(0, 2));
  const [rest, end] = await bucket().getFiles({ ...next, maxResults: 3 });
  expect([rest.map(({ name }) => name), end]).toEqual([names.slice(2), null]);
  const folders = { prefix, delimiter: '/', autoPaginate: false };
  const [files, , reply] = await bucket().getFiles(folders);
  expect(files.map(({ name }) => name)).toEqual(['data/listed/b']);
  expect(reply).toMatchObject({ prefixes: ['data/listed/a/', 'data/listed/c/'] });
  await bucket().deleteFiles({ prefix: 'data/listed/a/' });
  expect((await bucket().getFiles({ prefix }))[0].map(({ name }) => name)).toEqual(names.slice(3));
  await expect(file('data/listed/a/1').delete()).rejects.toMatchObject({ code: 404 });
});

test('an address that the client signs through IAM is read and written without a token', async () => {
  await using signing = await layOut(Date.now, { grants: null });
  const identity = { kind: 'account', email: localAccount('worker') } as const;
  await using metadata = await signing.cloud.openMetadata(identity);
  process.env.GCE_METADATA_HOST = metadata.host;
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
  const { baseUrl } = signing.cloud;
  const client = new Storage({
    projectId: 'local-project',
    apiEndpoint: baseUrl,
    useAuthWithCustomEndpoint: true,
  });
  const sign = async (action: 'read' | 'write') => {
    const [url] = await client
      .bucket('local-bucket')
      .file('data/signed ü')
      .getSignedUrl({
        version: 'v4',
        action,
        expires: Date.now() + 600_000,
        signingEndpoint: `${baseUrl}/v1/projects/-/serviceAccounts/`,
      });
    return url;
  };
  expect((await fetch(await sign('write'), { method: 'PUT', body: 'by whom' })).status).toBe(200);
  const reading = await sign('read');
  expect(await (await fetch(reading)).text()).toBe('by whom');
  const forged = reading.replace(/(?<=X-Goog-Signature=)./, (digit) => (digit === '0' ? '1' : '0'));
  expect((await fetch(forged)).status).toBe(403);
});
