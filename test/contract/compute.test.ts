import { expect, test } from 'vitest';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { createTransport, noCredentials } from '#shared/cloud/token.ts';
import { describeCompute, type OpenedCompute } from '#test/contract/compute.ts';

const AN_HOUR_MS = 3_600_000;

function openWorld() {
  const world = createWorld();
  let nowMs = Date.parse('2026-12-01T00:00:00Z');
  const cloud = inProcessCloud({ world, nowMs: () => nowMs });
  const { project } = world.options;
  const opened: OpenedCompute = {
    compute: createCompute({
      project,
      endpoint: null,
      transport: cloud.transport,
      clock: { nowMs: () => nowMs, sleep: async () => {} },
      entropy: cloud.entropy,
    }),
    project,
    async settle() {
      nowMs += AN_HOUR_MS;
    },
    [Symbol.asyncDispose]: async () => {},
  };
  return { opened, cloud };
}

describeCompute('the local cloud without sockets', async () => openWorld().opened);

describeCompute('the real transport over the local cloud', async () => {
  let nowMs = Date.parse('2026-12-01T00:00:00Z');
  const cloud = await startLocalCloud({ nowMs: () => nowMs });
  const { project } = cloud.world.options;
  const transport = createTransport(noCredentials(project));
  return {
    compute: createCompute({ project, endpoint: cloud.baseUrl, transport }),
    project,
    async settle() {
      nowMs += AN_HOUR_MS;
    },
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
});

test.each(['warning', 'unreachables'])(
  'P75: a zone that the local cloud cannot reach (%s) is unknown',
  async (how) => {
    const { opened, cloud } = openWorld();
    const body = { zone: 'us-east1-b', how };
    const reply = await cloud.call({ method: 'local.compute.unreachable', params: {}, body });
    expect(reply.status).toBe(200);
    const page = await opened.compute.listInstances('labels.deployment=contract', null);
    expect(page.unknownZones).toEqual(['us-east1-b']);
  },
);
