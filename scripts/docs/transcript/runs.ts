// A deployment with its real functions on a virtual clock: while the command waits, time passes there.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Place } from '#scripts/docs/transcript/place.ts';
import type { Cloud } from '#scripts/mayfly/cloud.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const { project, bucket, deployment } = SETTINGS.plan;
const HOUR_MS = 3_600_000;

export async function openRuns(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-transcript-'));
  const kernel = new Kernel({
    guest: ({ name }) => {
      if (name.startsWith('mayfly-broken-')) return { ...GOOD_GUEST, exitCode: 3 };
      return name.startsWith('mayfly-long-') ? { ...GOOD_GUEST, workMs: HOUR_MS } : GOOD_GUEST;
    },
  });
  return {
    folder,
    environment: {
      MAYFLY_PROJECT: project,
      MAYFLY_BUCKET: bucket,
      MAYFLY_REGIONS: 'us-central1',
    },
    cloud: ({ bucket: asked }, interruption) => cloudOf(kernel, asked, interruption),
    pass: (seconds) => kernel.run(seconds * 1000),
    happen: (what) => HAPPENINGS[what as keyof typeof HAPPENINGS](kernel),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const HAPPENINGS = {
  /** Simulated guests run no container: what one of `first` would have written. */
  'first says hello': (kernel: Kernel) => {
    kernel.call({
      method: 'logging.entries.write',
      params: {},
      body: {
        logName: `projects/${project}/logs/mayfly-container`,
        resource: { type: 'gce_instance', labels: {} },
        labels: { run_id: 'first', attempt: '1' },
        entries: [{ textPayload: 'hello', timestamp: '2026-12-01T12:00:30Z', insertId: '1' }],
      },
    });
  },
  'no big machine is left': (kernel: Kernel) => {
    for (const letter of 'abcf') {
      const body = { zone: `us-central1-${letter}`, machineType: 'n2-standard-8', available: 0 };
      kernel.call({ method: 'local.compute.stock', params: {}, body });
    }
  },
};

function cloudOf(kernel: Kernel, asked: string, interruption: AbortController | null): Cloud {
  const ports = kernel.cloud(null);
  const { transport, entropy, publisher } = ports;
  const clock = {
    nowMs: () => kernel.clock.nowMs(),
    sleep: async (milliseconds: number) => {
      await kernel.run(milliseconds);
      // Ctrl-C comes while the command waits.
      interruption?.abort();
    },
  };
  return {
    target: { project, bucket: asked, deployment },
    store: ports.store(asked),
    ...{ clock, entropy },
    compute: createCompute({ project, endpoint: null, transport, clock: kernel.clock }),
    api: () => ({ endpoint: null, transport }),
    publishRequest: (data) => publisher.publish(`${deployment}-run-requests`, data),
  };
}
