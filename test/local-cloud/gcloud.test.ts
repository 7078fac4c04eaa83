// The real gcloud against the server, where it is installed: what people try by hand after `npm start`.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { isRequired } from '#test/required.ts';

const run = promisify(execFile);
const missing = await run('gcloud', ['--version']).then(
  () => null,
  () => 'gcloud is not installed',
);

if (missing !== null && isRequired('gcloud')) {
  test('gcloud is there, as this run requires', () => {
    expect(missing).toBeNull();
  });
}

/** Each command takes a second or two, and several on a busy machine. */
const TIMEOUT_MS = 240_000;

describe.skipIf(missing !== null)(
  `gcloud${missing === null ? '' : ` (skipped: ${missing})`}`,
  () => {
    let cloud: LocalCloud;
    let folder: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'gcloud-'));
      const compute = { provisioningMs: 0, stagingMs: 0, shutdownMs: 0, removalMs: 0 };
      cloud = await startLocalCloud({ world: { compute, storage: { objectWriteGapMs: 0 } } });
    });
    afterAll(async () => {
      await cloud[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    });

    const gcloud = (...args: string[]) => gcloudWith({}, ...args);

    async function gcloudWith(
      variables: Readonly<Record<string, string>>,
      ...args: string[]
    ): Promise<string> {
      const env = {
        ...process.env,
        CLOUDSDK_CONFIG: folder,
        CLOUDSDK_CORE_PROJECT: 'local-project',
        CLOUDSDK_CORE_DISABLE_PROMPTS: '1',
        CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
        CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE: `${cloud.baseUrl}/compute/v1/`,
        CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${cloud.baseUrl}/storage/v1/`,
        CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB: `${cloud.baseUrl}/`,
        CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDSCHEDULER: `${cloud.baseUrl}/`,
        ...variables,
      };
      return (await run('gcloud', args, { env })).stdout;
    }

    test('compute: create, list, describe and delete an instance', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const zone = '--zone=us-central1-a';
      await gcloud('compute', 'instances', 'create', 'vm', zone, '--machine-type=n2-standard-2');
      const listed = JSON.parse(await gcloud('compute', 'instances', 'list', '--format=json'));
      expect(listed).toMatchObject([{ name: 'vm', status: 'RUNNING' }]);
      const described = await gcloud(
        'compute',
        'instances',
        'describe',
        'vm',
        zone,
        '--format=value(status)',
      );
      expect(described.trim()).toBe('RUNNING');
      await gcloud('compute', 'instances', 'delete', 'vm', zone, '--quiet');
      expect(JSON.parse(await gcloud('compute', 'instances', 'list', '--format=json'))).toEqual([]);
    });

    test('storage: cp up, ls, cat, a refused create-only copy, rm', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const source = join(folder, 'in.txt');
      writeFileSync(source, 'seventeen bytes…');
      const target = 'gs://local-bucket/runs/in.txt';
      await gcloud('storage', 'cp', source, target);
      expect(await gcloud('storage', 'ls', 'gs://local-bucket/runs/')).toBe(`${target}\n`);
      expect(await gcloud('storage', 'cat', target)).toBe('seventeen bytes…');
      const again = gcloud('storage', 'cp', '--if-generation-match=0', source, target);
      await expect(again).rejects.toThrow(/412/);
      await gcloud('storage', 'rm', target);
      await expect(gcloud('storage', 'cat', target)).rejects.toThrow();
    });

    test('pubsub: create, publish, pull; scheduler: run a job', {
      timeout: TIMEOUT_MS,
    }, async () => {
      await gcloud('pubsub', 'topics', 'create', 'top');
      await gcloud('pubsub', 'subscriptions', 'create', 'sub', '--topic=top');
      await gcloud(
        'pubsub',
        'topics',
        'publish',
        'top',
        '--message={"a": "b c"}',
        '--attribute=k=v',
      );
      const pulled = JSON.parse(
        await gcloud('pubsub', 'subscriptions', 'pull', 'sub', '--auto-ack', '--format=json'),
      );
      expect(pulled).toMatchObject([
        {
          message: { data: Buffer.from('{"a": "b c"}').toString('base64'), attributes: { k: 'v' } },
        },
      ]);
      const job = {
        name: 'projects/local-project/locations/us-central1/jobs/j',
        schedule: '0 0 1 1 *',
      };
      const httpTarget = { uri: `${cloud.baseUrl}/local/faults/clear` };
      const location = { project: 'local-project', location: 'us-central1' };
      cloud.call('cloudscheduler.jobs.create', location, { ...job, httpTarget });
      await gcloud('scheduler', 'jobs', 'run', 'j', '--location=us-central1');
      expect(cloud.world.scheduler.attemptsMade).toBe(1);
    });

    test('C62: run: list, describe and cancel executions of Jobs', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const place = { project: 'local-project', location: 'us-central1' };
      const containers = [{ image: 'i', env: [{ name: 'MAYFLY_RUN_ID', value: 'r' }] }];
      const body = { template: { template: { containers, maxRetries: 0 } } };
      const run = (job: string) => {
        cloud.call('run.projects.locations.jobs.create', { ...place, jobId: job }, body);
        const reply = cloud.call('run.projects.locations.jobs.run', { ...place, job }, {});
        const { name = '' } = (reply.body?.metadata ?? {}) as { name?: string };
        return name.replace(/^.*\//, '');
      };
      const [one, other] = [run('job-a'), run('job-b')];
      // The region is put before the host's name, so that one is needed which a proxy takes.
      const proxy = {
        CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN: 'http://run.local/',
        CLOUDSDK_PROXY_TYPE: 'http',
        CLOUDSDK_PROXY_ADDRESS: '127.0.0.1',
        CLOUDSDK_PROXY_PORT: String(cloud.port),
      };
      const jobs = (...args: string[]) => gcloudWith(proxy, 'run', 'jobs', ...args);
      const names = async (...args: string[]) => {
        const listed = JSON.parse(await jobs('executions', 'list', '--format=json', ...args));
        return listed.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort();
      };
      const region = '--region=us-central1';
      expect(await names(region)).toEqual([one, other]);
      expect(await names(region, '--job=job-b')).toEqual([other]);
      const described = await jobs('executions', 'describe', one, region);
      expect(described).toContain(`Execution ${one} in region us-central1`);
      expect(described).toMatch(/MAYFLY_RUN_ID\s+r/);
      await jobs('executions', 'cancel', one, region);
      const [task] = JSON.parse(
        await jobs('executions', 'tasks', 'list', `--execution=${one}`, region, '--format=json'),
      );
      expect(task).toMatchObject({ metadata: { name: `${one}-task0` } });
    });
  },
);
