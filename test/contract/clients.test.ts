// All real clients of a deployment over one local cloud, with the token of its metadata server.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MetadataServer } from '#scripts/local-cloud/server/metadata.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { createClients } from '#shared/cloud/clients.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { readSettings } from '#shared/cloud/config.ts';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import { createUrlSigner } from '#shared/cloud/signed-url.ts';

const ENVIRONMENT = { ...process.env };
const PROJECT = 'local-project';
const ACCOUNT = `submit@${PROJECT}.iam.gserviceaccount.com`;
const JOB = `projects/${PROJECT}/locations/us-central1/jobs/mayfly-sweep`;
let cloud: LocalCloud;
let metadata: MetadataServer;

beforeEach(async () => {
  cloud = await startLocalCloud({ world: { project: PROJECT, buckets: ['clients'] } });
  metadata = await cloud.openMetadata({ kind: 'account', email: ACCOUNT });
  process.env.GCE_METADATA_HOST = metadata.host;
  process.env.METADATA_SERVER_DETECTION = 'assume-present';
});
afterEach(async () => {
  process.env = { ...ENVIRONMENT };
  await metadata[Symbol.asyncDispose]();
  await cloud[Symbol.asyncDispose]();
});

const open = (changes: Readonly<Record<string, string>> = {}) => createClients(settings(changes));

function settings(changes: Readonly<Record<string, string>> = {}) {
  return readSettings({
    MAYFLY_PROJECT: PROJECT,
    MAYFLY_BUCKET: 'clients',
    MAYFLY_REGIONS: 'us-central1',
    MAYFLY_WORKER_SERVICE_ACCOUNTS: `worker@${PROJECT}.iam.gserviceaccount.com`,
    MAYFLY_PUSH_MODE: 'internal-token',
    MAYFLY_PUSH_TOKEN: 'a-shared-token-of-this-test',
    MAYFLY_ENDPOINT_STORAGE: cloud.baseUrl,
    MAYFLY_ENDPOINT_COMPUTE: cloud.baseUrl,
    MAYFLY_ENDPOINT_PUBSUB: cloud.baseUrl,
    MAYFLY_ENDPOINT_SCHEDULER: cloud.baseUrl,
    MAYFLY_ENDPOINT_RUN: cloud.baseUrl,
    MAYFLY_ENDPOINT_IAMCREDENTIALS: cloud.baseUrl,
    MAYFLY_JOBS_READER_SERVICE_ACCOUNT: `reader@${PROJECT}.iam.gserviceaccount.com`,
    ...changes,
  });
}

function principals(method: string): (string | null)[] {
  return [...cloud.world.calls.entries()]
    .filter((entry) => entry.method === method)
    .map(({ principal }) => principal);
}

test('C11: every client speaks for the account of the metadata server', async () => {
  cloud.call('pubsub.topics.create', { project: PROJECT, topic: 'mayfly-run-requests' }, {});
  cloud.call(
    'cloudscheduler.jobs.create',
    { project: PROJECT, location: 'us-central1' },
    { name: JOB, schedule: '*/2 * * * *', httpTarget: { uri: 'http://127.0.0.1:9/' } },
  );
  const clients = open();
  expect((await clients.store.write('a', '{}', { ifGeneration: '0' })).kind).toBe('written');
  expect((await clients.store.read('a')).kind).toBe('found');
  expect((await clients.store.list('')).objects).toHaveLength(1);
  expect((await clients.store.delete('a')).kind).toBe('deleted');
  expect((await clients.compute.getInstance('us-central1-a', 'vm')).kind).toBe('gone');
  expect(await clients.publisher.publish('mayfly-run-requests', '{}')).toMatch(/^\d+$/);
  expect((await clients.scheduler.pause(JOB)).state).toBe('PAUSED');
  expect((await clients.scheduler.resume(JOB)).state).toBe('ENABLED');
  expect((await clients.scheduler.get(JOB)).name).toBe(JOB);
  expect(await clients.jobs.listJobs('us-central1')).toEqual([]);
  const read = { method: 'GET', bucket: 'clients', object: 'a' } as const;
  expect((await clients.signer.signUrl(read)).url).toContain('reader%40');
  for (const method of [
    'storage.objects.insert',
    'storage.objects.get',
    'storage.objects.list',
    'storage.objects.delete',
    'compute.instances.get',
    'pubsub.topics.publish',
    'cloudscheduler.jobs.pause',
    'run.projects.locations.jobs.list',
    'iamcredentials.projects.serviceAccounts.signBlob',
  ]) {
    const seen = principals(method);
    expect(seen.length, method).toBeGreaterThan(0);
    expect(new Set(seen), method).toEqual(new Set([ACCOUNT]));
  }
});

test('where an emulator stands in, calls speak for nobody', async () => {
  const { host } = new URL(cloud.baseUrl);
  const clients = open({ STORAGE_EMULATOR_HOST: host });
  process.env.STORAGE_EMULATOR_HOST = host;
  expect((await clients.store.write('a', '{}', { ifGeneration: '0' })).kind).toBe('written');
  expect((await clients.store.read('a')).kind).toBe('found');
  expect(principals('storage.objects.insert')).toEqual([null]);
});

test('a bucket that is gone is unknown for reads, writes and lists', async () => {
  const clients = open({ MAYFLY_BUCKET: 'no-such-bucket' });
  const expected = { code: 'unavailable', reason: 'bucket-missing' };
  await expect(clients.store.read('a')).rejects.toMatchObject(expected);
  await expect(clients.store.list('')).rejects.toMatchObject(expected);
});

test('a copy of a client that is loaded late has all of its methods: a dry run is made of copies', async () => {
  const { compute, jobs, signer, transport } = open();
  const real = {
    ...createCompute({ project: PROJECT, endpoint: cloud.baseUrl, transport }),
    ...createRunJobs({ project: PROJECT, endpoint: cloud.baseUrl, transport }),
    ...createUrlSigner({
      transport,
      endpoints: settings().endpoints,
      reader: null,
      uploader: null,
    }),
  };
  const copies = { ...compute, ...jobs, ...signer };
  expect(Object.keys(copies).toSorted()).toEqual(Object.keys(real).toSorted());
  expect((await copies.listInstances('labels.deployment=mayfly', null)).items).toEqual([]);
});
