import { expect, test } from 'vitest';
import type { Reply } from '#scripts/local-cloud/call.ts';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import { createTransport, noCredentials } from '#shared/cloud/token.ts';
import { describeRunJobs, JOB, type OpenedRunJobs } from '#test/contract/run-jobs.ts';

const REGION = 'europe-west1';
const A_MINUTE_MS = 60_000;

/** A Job in the world, and what else a suite asks of it. */
async function withJob(
  call: (method: string, params: Record<string, string>, body: object) => Promise<Reply> | Reply,
  project: string,
): Promise<Pick<OpenedRunJobs, 'region' | 'endTask'>> {
  const container = { image: 'europe-docker.pkg.dev/p/r/i', env: [{ name: 'OWN', value: 'kept' }] };
  const body = { template: { template: { containers: [container], maxRetries: 0 } } };
  const params = { project, location: REGION, jobId: JOB };
  const made = await call('run.projects.locations.jobs.create', params, body);
  expect(made.status).toBe(200);
  return {
    region: REGION,
    async endTask(execution, end) {
      const ended = await call('local.run.taskEnded', {}, { execution, ...end });
      expect(ended.status).toBe(200);
    },
  };
}

function openWorld() {
  const world = createWorld({ grants: null });
  let nowMs = Date.parse('2026-12-01T00:00:00Z');
  const cloud = inProcessCloud({ world, nowMs: () => nowMs });
  const { project } = world.options;
  const real = createRunJobs({
    project,
    endpoint: null,
    transport: cloud.transport,
    clock: { nowMs: () => nowMs, sleep: async () => {} },
    entropy: cloud.entropy,
  });
  const settle = async () => {
    nowMs += A_MINUTE_MS;
  };
  const place = () =>
    withJob((method, params, body) => cloud.call({ method, params, body }), project);
  return { cloud, real, settle, place };
}

const nothing = { [Symbol.asyncDispose]: async () => {} };

describeRunJobs('the real adapter over the local cloud without sockets', async () => {
  const { real, settle, place } = openWorld();
  return { jobs: real, settle, ...(await place()), ...nothing };
});

describeRunJobs('the local cloud’s own adapter', async () => {
  const { cloud, settle, place } = openWorld();
  return { jobs: cloud.jobs, settle, ...(await place()), ...nothing };
});

describeRunJobs('the real adapter and transport over the local cloud', async () => {
  let nowMs = Date.parse('2026-12-01T00:00:00Z');
  const cloud = await startLocalCloud({ nowMs: () => nowMs });
  const { project } = cloud.world.options;
  const transport = createTransport(noCredentials(project));
  return {
    jobs: createRunJobs({ project, endpoint: cloud.baseUrl, transport }),
    async settle() {
      nowMs += A_MINUTE_MS;
    },
    ...(await withJob(cloud.call, project)),
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
});

test('C77: above the quota a minute, calls make nothing and say so', async () => {
  const { real, place } = openWorld();
  const { region } = await place();
  const overrides = { env: {}, taskCount: 1, timeoutSeconds: 60 };
  const kinds = new Map<string, number>();
  for (let call = 0; call < 183; call += 1) {
    const { kind } = await real.runJob(region, JOB, overrides);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  expect(Object.fromEntries(kinds)).toEqual({ accepted: 180, 'rate-limited': 3 });
});
