// A Compute adapter over a loopback server, and recorded shapes of what Compute Engine v1 answers.
import { createCompute } from '#shared/cloud/compute-client.ts';
import { createTransport, noCredentials } from '#shared/cloud/token.ts';
import type { InstanceBody } from '#shared/plan/model.ts';
import { type Answer, type SeenRequest, startLoopback } from '#test/cloud/loopback.ts';
import { instantTiming } from '#test/cloud/timing.ts';

export const ZONE = 'us-central1-b';
export const NAME = 'mayfly-train-17-0123456789ab-1';
export const REQUEST_ID = 'c9a646d3-9c61-5cc2-9b0e-2a7f0c6a1a11';
export const BASE = `/compute/v1/projects/p1/zones/${ZONE}`;
export const SELF = 'https://www.googleapis.com/compute/v1/projects/p1';

// The shapes below follow the REST reference of Compute Engine v1.
export const operation = {
  kind: 'compute#operation',
  id: '4212718183948592911',
  name: 'operation-1764547200123-64abc',
  zone: `${SELF}/zones/${ZONE}`,
  operationType: 'insert',
  targetLink: `${SELF}/zones/${ZONE}/instances/${NAME}`,
  targetId: '8712345678901234567',
  status: 'RUNNING',
  user: 'submit@p1.iam.gserviceaccount.com',
  progress: 0,
  insertTime: '2025-11-30T16:00:00.123-08:00',
};
export const instance = {
  kind: 'compute#instance',
  id: '8712345678901234567',
  creationTimestamp: '2025-11-30T16:00:01.000-08:00',
  lastStartTimestamp: '2025-11-30T16:00:09.000-08:00',
  name: NAME,
  zone: `${SELF}/zones/${ZONE}`,
  status: 'RUNNING',
  machineType: `${SELF}/zones/${ZONE}/machineTypes/n2-standard-4`,
  labels: { 'managed-by': 'mayfly', deployment: 'mayfly' },
  metadata: { kind: 'compute#metadata', items: [{ key: 'mayfly-attempt', value: '1' }] },
  scheduling: { preemptible: true, provisioningModel: 'SPOT' },
};
export const body: InstanceBody = {
  name: NAME,
  machineType: 'n2-standard-4',
  labels: {},
  metadata: { items: [] },
};

export async function openCompute(
  answer: (request: SeenRequest, index: number) => Answer,
  timeoutMs = 5_000,
) {
  const server = await startLoopback(answer);
  const timing = instantTiming();
  const compute = createCompute({
    project: 'p1',
    endpoint: server.url,
    transport: createTransport(noCredentials('p1')),
    timeoutMs,
    ...timing,
  });
  return {
    compute,
    server,
    waits: timing.waits,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
