// A run as a deployment leaves it in the local cloud, without the deployment: its objects, its machine and
// what that machine said.
import type { LocalCloud } from '#scripts/local-cloud/server/server.ts';
import type { Attempt, AttemptEnd, RunRecord } from '#shared/lifecycle/record.ts';
import { buildResult } from '#shared/lifecycle/result.ts';
import { activeObject, recordObject, resultObject } from '#shared/plan/objects.ts';
import * as fixtures from '#test/lifecycle/fixtures.ts';

export const RUN = 'run-1';
export const ZONE = 'us-central1-a';
export const PROJECT = 'local-project';
export const BUCKET = 'local-bucket';
const INSTANCE = fixtures.INSTANCE;

/** What happens in the world; the owner's calls alone. */
export type Call = LocalCloud['call'];

export const environmentOf = (cloud: LocalCloud): Record<string, string> => ({
  MAYFLY_PROJECT: PROJECT,
  MAYFLY_BUCKET: BUCKET,
  STORAGE_EMULATOR_HOST: cloud.baseUrl,
  PUBSUB_EMULATOR_HOST: cloud.baseUrl,
  MAYFLY_ENDPOINT_COMPUTE: cloud.baseUrl,
});

export function put(call: Call, name: string, text: string): void {
  const body = { bytes: Buffer.from(text), metadata: { name } };
  const reply = call('storage.objects.insert', { bucket: BUCKET, name }, body);
  if (reply.status !== 200) throw new Error(`${name}: ${reply.status}`);
}

export function putRecord(call: Call, change: Partial<RunRecord> = {}): RunRecord {
  const record = fixtures.record(change);
  put(call, recordObject(RUN), JSON.stringify(record));
  return record;
}

/** The record and everything that the end of a run leaves; the active entry is still there. */
export function putEnded(
  call: Call,
  end: AttemptEnd,
  change: Partial<Attempt> = {},
  run: Partial<RunRecord> = {},
): void {
  const attempts = [fixtures.attempt({ end, ...change })];
  const record = putRecord(call, { state: end.status, end, attempts, ...run });
  const result = buildResult(record, { project: PROJECT, fullLog: 'none' });
  put(call, resultObject(RUN), JSON.stringify(result));
  put(call, activeObject(RUN), '');
}

/** The machine of the record's attempt; its numeric id. */
export function makeMachine(call: Call): string {
  const reply = call(
    'compute.instances.insert',
    { project: PROJECT, zone: ZONE },
    {
      name: INSTANCE,
      machineType: `zones/${ZONE}/machineTypes/e2-standard-4`,
      metadata: { items: [{ key: 'enable-guest-attributes', value: 'TRUE' }] },
      disks: [{ boot: true, autoDelete: true, initializeParams: { sourceImage: 'family/cos' } }],
      networkInterfaces: [{ network: 'global/networks/default' }],
    },
  );
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  return String(reply.body?.targetId);
}

/** Guest attributes under `mayfly/`. */
export function say(call: Call, machine: string, attributes: Record<string, string>): void {
  for (const [key, value] of Object.entries(attributes)) {
    const path = `/computeMetadata/v1/instance/guest-attributes/mayfly/${key}`;
    const reply = call('metadata.put', { machine, path, flavor: 'Google' }, Buffer.from(value));
    if (reply.status !== 200) throw new Error(`${key}: ${reply.status}`);
  }
}
