// The real gcloud against the server, where it is installed: what people try by hand after `npm start`.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRequired } from '#test/required.ts';
import { type LaidOut, layOut } from '#test/scripts/mayfly/laid-out.ts';

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
    let laidOut: LaidOut;
    let folder: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'gcloud-'));
      // Long enough for operations to be found at work.
      const compute = { provisioningMs: 500, stagingMs: 500, shutdownMs: 500, removalMs: 500 };
      laidOut = await layOut(Date.now, { compute });
    });
    afterAll(async () => {
      await laidOut[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    });

    /** With the lines that `npm start` and `mayfly local` print, and nothing of this machine's own set-up. */
    async function gcloudWith(
      variables: Readonly<Record<string, string>>,
      ...args: string[]
    ): Promise<string> {
      const { environment } = laidOut;
      const own = { CLOUDSDK_CONFIG: folder, CLOUDSDK_CORE_DISABLE_PROMPTS: '1' };
      const env = { ...process.env, ...environment, ...own, ...variables };
      return (await run('gcloud', args, { env })).stdout;
    }
    const gcloud = (...args: string[]) => gcloudWith({}, ...args);
    const json = async (...args: string[]) => JSON.parse(await gcloud(...args, '--format=json'));

    test('compute: create, list, describe and delete an instance', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const zone = '--zone=us-central1-a';
      const instances = (...args: string[]) => json('compute', 'instances', ...args);
      await instances('create', 'vm', zone, '--machine-type=n2-standard-2', '--labels=a=b');
      expect(await instances('list')).toMatchObject([{ name: 'vm', status: 'RUNNING' }]);
      expect(await instances('list', '--filter=labels.a=c')).toEqual([]);
      const described = await instances('describe', 'vm', zone);
      expect(described).toMatchObject({ status: 'RUNNING', labels: { a: 'b' } });
      expect(described.machineType).toMatch(/\/us-central1-a\/machineTypes\/n2-standard-2$/);
      await gcloud('compute', 'instances', 'delete', 'vm', zone, '--quiet');
      expect(await instances('list')).toEqual([]);
      await expect(instances('describe', 'vm', zone)).rejects.toThrow(/was not found/);
    });

    test('storage: cp up and down, ls, cat, a refused create-only copy, rm', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const [source, back] = [join(folder, 'in.txt'), join(folder, 'out.txt')];
      writeFileSync(source, 'seventeen bytes…');
      const target = 'gs://local-bucket/data/a b/in.txt';
      await gcloud('storage', 'cp', source, target);
      expect(await gcloud('storage', 'ls', 'gs://local-bucket/data/')).toBe(
        'gs://local-bucket/data/a b/\n',
      );
      expect(await gcloud('storage', 'ls', 'gs://local-bucket/data/**')).toBe(`${target}\n`);
      expect(await gcloud('storage', 'cat', target)).toBe('seventeen bytes…');
      await gcloud('storage', 'cp', target, back);
      expect(readFileSync(back, 'utf8')).toBe('seventeen bytes…');
      const again = gcloud('storage', 'cp', '--if-generation-match=0', source, target);
      await expect(again).rejects.toThrow(/412/);
      await gcloud('storage', 'rm', target);
      await expect(gcloud('storage', 'cat', target)).rejects.toThrow(/matched no objects/);
    });

    test('pubsub: subscriptions, publish, pull', { timeout: TIMEOUT_MS }, async () => {
      const submit = await json('pubsub', 'subscriptions', 'describe', 'mayfly-submit');
      expect(submit).toMatchObject({
        topic: 'projects/local-project/topics/mayfly-run-requests',
        ackDeadlineSeconds: 600,
      });
      await gcloud('pubsub', 'subscriptions', 'create', 'sub', '--topic=mayfly-run-events');
      const message = ['--message={"a": "b c"}', '--attribute=k=v'];
      const sent = await json('pubsub', 'topics', 'publish', 'mayfly-run-events', ...message);
      const pulled = await json('pubsub', 'subscriptions', 'pull', 'sub', '--auto-ack');
      expect(pulled).toMatchObject([
        {
          message: {
            data: Buffer.from('{"a": "b c"}').toString('base64'),
            attributes: { k: 'v' },
            messageId: sent.messageIds[0],
          },
        },
      ]);
      expect(await json('pubsub', 'subscriptions', 'pull', 'sub')).toEqual([]);
      const nowhere = gcloud('pubsub', 'topics', 'publish', 'nowhere', '--message=x');
      await expect(nowhere).rejects.toThrow(/NOT_FOUND/);
    });

    test('scheduler: list, pause, run and resume the job that sweeps', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const at = '--location=europe-west1';
      const jobs = (...args: string[]) => json('scheduler', 'jobs', ...args, at);
      const name = 'projects/local-project/locations/europe-west1/jobs/mayfly-sweep';
      expect(await jobs('list')).toMatchObject([
        { name, schedule: '*/2 * * * *', state: 'ENABLED', attemptDeadline: '1800s' },
      ]);
      await jobs('pause', 'mayfly-sweep');
      expect(await jobs('describe', 'mayfly-sweep')).toMatchObject({ name, state: 'PAUSED' });
      const { scheduler } = laidOut.cloud.world;
      const before = scheduler.attemptsMade;
      await jobs('run', 'mayfly-sweep');
      expect(scheduler.attemptsMade).toBe(before + 1);
      await jobs('resume', 'mayfly-sweep');
      expect(await jobs('list')).toMatchObject([{ state: 'ENABLED' }]);
    });

    test('C62: run: list, describe and cancel executions of Jobs', {
      timeout: TIMEOUT_MS,
    }, async () => {
      const { cloud } = laidOut;
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
