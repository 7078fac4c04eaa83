// The real signer, the local deployment's rights, and whoever holds what was signed: no token of his own.
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  LOCAL_BUCKET,
  LOCAL_PROJECT,
  localAccount,
  localEnvironment,
} from '#scripts/local-cloud/deployment/environment.ts';
import { localGrants } from '#scripts/local-cloud/deployment/grants.ts';
import type { MetadataServer } from '#scripts/local-cloud/server/metadata.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { createClients } from '#shared/cloud/clients.ts';
import { readSettings } from '#shared/cloud/config.ts';
import type { UploadForm } from '#shared/cloud/url-signer.ts';

const ENVIRONMENT = { ...process.env };
const HOURS_12_MS = 12 * 3_600_000;
/** An object takes a write a second. */
const WRITE_GAP_MS = 2_000;
let cloud: LocalCloud;
let metadata: MetadataServer;
let passedMs: number;

beforeEach(async () => {
  passedMs = 0;
  cloud = await startLocalCloud({
    world: { project: LOCAL_PROJECT, buckets: [LOCAL_BUCKET], grants: [...localGrants()] },
    nowMs: () => Date.now() + passedMs,
  });
  metadata = await openAs('submit');
});
afterEach(async () => {
  process.env = { ...ENVIRONMENT };
  await metadata[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

async function openAs(account: string): Promise<MetadataServer> {
  const opened = await cloud.openMetadata({ kind: 'account', email: localAccount(account) });
  process.env.GCE_METADATA_HOST = opened.host;
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
  return opened;
}

const signer = () => createClients(readSettings(localEnvironment(cloud.baseUrl))).signer;

/** As its owner; gives the generation. */
async function write(object: string, text: string): Promise<string> {
  const name = encodeURIComponent(object);
  const url = `${cloud.baseUrl}/upload/storage/v1/b/${LOCAL_BUCKET}/o?uploadType=media&name=${name}`;
  const reply = await fetch(url, { method: 'POST', body: text });
  return ((await reply.json()) as { generation: string }).generation;
}

async function upload({ url, fields }: UploadForm, key: string, text: string): Promise<number> {
  const form = new FormData();
  form.set('key', key);
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([text]));
  return (await fetch(url, { method: 'POST', body: form })).status;
}

test.each(['data/a b.csv', 'data/100%+ü/漢 "x".bin', "data/it's (1)/~!*"])(
  'C145, C150: an address reads the generation of %s that it was made for, and no other',
  async (object) => {
    const first = await write(object, 'one');
    const readFirst = await signer().signUrl({
      method: 'GET',
      bucket: LOCAL_BUCKET,
      object,
      generation: first,
    });
    expect(await (await fetch(readFirst.url)).text()).toBe('one');
    passedMs += WRITE_GAP_MS;
    await write(object, 'two');
    expect((await fetch(readFirst.url)).status).toBe(404);
    const live = await signer().signUrl({ method: 'GET', bucket: LOCAL_BUCKET, object });
    expect(await (await fetch(live.url)).text()).toBe('two');
  },
);

test('C147: an address creates its object once, and only as it was signed', async () => {
  const object = 'runs/work/run-1/1/claim.json';
  const put = await signer().signUrl({
    method: 'PUT',
    bucket: LOCAL_BUCKET,
    object,
    contentType: 'application/json',
  });
  const send = (headers: Readonly<Record<string, string>>) =>
    fetch(put.url, { method: 'PUT', headers, body: '{}' });
  const { 'x-goog-if-generation-match': _, ...without } = put.headers;
  expect((await send(without)).status).toBe(400);
  expect((await send(put.headers)).status).toBe(200);
  // Who may only create is refused either by his rights or by the condition.
  expect([403, 412]).toContain((await send(put.headers)).status);
});

test('C146, C147: a form creates under its prefix, and overwrites nothing there', async () => {
  const prefix = 'runs/gce-status/mayfly-r-1.';
  const form = await signer().signForm({ bucket: LOCAL_BUCKET, prefix });
  expect(await upload(form, `${prefix}json`, '{}')).toBe(204);
  expect(await upload(form, `${prefix}3.json`, '{}')).toBe(204);
  expect(await upload(form, `${prefix}json`, '{"again": true}')).toBe(403);
  expect(await upload(form, 'runs/gce-status/mayfly-r-2.json', '{}')).toBeGreaterThanOrEqual(400);
  expect(await upload(form, 'runs/results/r.json', '{}')).toBeGreaterThanOrEqual(400);
});

test('C146: outputs of an earlier attempt may be replaced', async () => {
  const form = await signer().signForm({ bucket: LOCAL_BUCKET, prefix: 'outputs/r/' });
  expect(await upload(form, 'outputs/r/a', '1')).toBe(204);
  passedMs += WRITE_GAP_MS;
  expect(await upload(form, 'outputs/r/a', '2')).toBe(204);
});

test('C145: what was signed is good for twelve hours', async () => {
  await write('data/x', 'one');
  const signed = signer();
  const { url } = await signed.signUrl({ method: 'GET', bucket: LOCAL_BUCKET, object: 'data/x' });
  const form = await signed.signForm({ bucket: LOCAL_BUCKET, prefix: 'outputs/r/' });
  passedMs = HOURS_12_MS - 60_000;
  expect((await fetch(url)).status).toBe(200);
  expect(await upload(form, 'outputs/r/a', '1')).toBe(204);
  passedMs = HOURS_12_MS + 60_000;
  expect((await fetch(url)).status).toBeGreaterThanOrEqual(400);
  expect(await upload(form, 'outputs/r/b', '1')).toBeGreaterThanOrEqual(400);
});

test('C12: who may not sign for the accounts is told which permission that takes', async () => {
  await metadata[Symbol.asyncDispose]();
  metadata = await openAs('finalize');
  await expect(
    signer().signUrl({ method: 'GET', bucket: LOCAL_BUCKET, object: 'data/x' }),
  ).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('iam.serviceAccounts.signBlob'),
  });
});
