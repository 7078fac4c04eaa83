// A process with a local cloud full of machines: each the healthy machine of an active run, with its
// record and its marker. Started by the sweep's benchmark; answers over its channel; ends with it.
import {
  LOCAL_BUCKET,
  LOCAL_PROJECT,
  localAccount,
  localSettings,
} from '#scripts/local-cloud/deployment/environment.ts';
import { localGrants } from '#scripts/local-cloud/deployment/grants.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { readGuestScripts } from '#shared/guest/scripts.ts';
import { hashNonce } from '#shared/lifecycle/marker.ts';
import type { InstanceBody } from '#shared/plan/model.ts';
import { instanceName, runHash } from '#shared/plan/names.ts';
import { activeObject, markerObject, recordObject } from '#shared/plan/objects.ts';
import { planIntent, planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';
import { attempt, intent, NONCE, record } from '#test/lifecycle/fixtures.ts';

const MINUTE_MS = 60_000;
/** Machines that came to be an hour ago: their boot is over, their deadline is not near. */
const AGE_MS = 60 * MINUTE_MS;

const settings = localSettings().plan;
const scripts = readGuestScripts();

interface Template {
  readonly plan: ReturnType<typeof planOf>;
  readonly body: InstanceBody;
}

function planOf() {
  const json = { runId: 'bench-0', image: 'alpine:3.20', ttlSeconds: 43_200 };
  const parsed = parseRequest(json, { defaultRunId: null, settings });
  if (parsed.kind !== 'valid') throw new Error(JSON.stringify(parsed.faults));
  const planned = planRun(parsed.request, settings);
  if (planned.kind !== 'planned') throw new Error(JSON.stringify(planned.faults));
  return planned.plan;
}

/** The body that planning makes; the machines share its scripts, and differ in what is listed. */
function templateOf(createdSeconds: number): Template {
  const plan = planOf();
  const [candidate] = plan.candidates;
  if (candidate === undefined) throw new Error('a plan without a candidate');
  const planned = planIntent({
    plan,
    settings,
    scripts,
    inputs: [],
    attempt: 1,
    intent: 1,
    nonce: NONCE,
    candidate,
    createdSeconds,
    pinnedImage: null,
  });
  return { plan, body: planned.body };
}

function addRun(cloud: LocalCloud, { plan, body }: Template, index: number, nowMs: number): void {
  const runId = `bench-${index}`;
  const name = instanceName(settings.deployment, runId, 1);
  const candidate = plan.candidates[index % plan.candidates.length];
  if (candidate === undefined) throw new Error('a plan without a candidate');
  const { zone } = candidate;
  const labels: Record<string, string> = {
    ...(body.labels as Record<string, string>),
    run_id: runId,
    'run-hash': runHash(runId),
  };
  const [disk] = body.disks as [{ readonly initializeParams: object }];
  const initializeParams = { ...disk.initializeParams, diskName: `${name}-1`, labels };
  const machine = {
    ...body,
    name,
    machineType: `zones/${zone}/machineTypes/${candidate.machineType}`,
    labels,
    disks: [{ ...disk, initializeParams }],
    networkInterfaces: [{ subnetwork: candidate.subnetwork }],
  };
  const reply = cloud.call('compute.instances.insert', { project: LOCAL_PROJECT, zone }, machine);
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  const { targetId } = reply.body as { targetId: string };
  const deadlineSeconds = Number(labels.deadline);
  const made = intent({ candidate, deadlineSeconds, instanceId: targetId });
  const claim = { by: 'machine', instanceId: targetId, zone, bootId: 'boot-1' } as const;
  const working = attempt({ instance: name, intents: [made], claim, runningMs: nowMs });
  const stored = record({ runId, state: 'RUNNING', attempts: [working] });
  put(cloud, recordObject(runId), JSON.stringify(stored));
  put(cloud, markerObject(name), JSON.stringify(markerOf(runId, name, zone)));
  put(cloud, activeObject(runId), '');
}

const markerOf = (runId: string, instance: string, zone: string) => ({
  status: 'RUNNING',
  exit_code: null,
  instance,
  zone,
  detail: '',
  boot_epoch: null,
  exec_start_epoch: null,
  end_epoch: null,
  execute_s: null,
  schema: 1,
  run_id: runId,
  attempt: 1,
  step: null,
  cause: null,
  boot_id: 'boot-1',
  nonce: hashNonce(NONCE),
});

function put(cloud: LocalCloud, name: string, text: string): void {
  const bytes = new TextEncoder().encode(text);
  const body = { bytes, metadata: { name } };
  const reply = cloud.call('storage.objects.insert', { bucket: LOCAL_BUCKET, name }, body);
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
}

async function main(count: number): Promise<void> {
  const startedMs = Date.now();
  let pastMs = AGE_MS;
  const cloud = await startLocalCloud({
    world: {
      project: LOCAL_PROJECT,
      buckets: [LOCAL_BUCKET],
      grants: localGrants(),
      loggedCallsMax: 0,
    },
    nowMs: () => Date.now() - pastMs,
  });
  const template = templateOf(Math.floor((startedMs - AGE_MS) / 1000));
  for (let index = 0; index < count; index++) addRun(cloud, template, index, startedMs - AGE_MS);
  // All machines are RUNNING since an hour ago; from here on it is the present.
  cloud.call('compute.zones.list', { project: LOCAL_PROJECT });
  pastMs = 0;
  const metadata = await cloud.openMetadata({ kind: 'account', email: localAccount('sweep') });
  process.on('message', (method: string) => {
    process.send?.({ count: cloud.world.calls.count({ method }) });
  });
  process.once('disconnect', () => process.exit());
  process.send?.({ baseUrl: cloud.baseUrl, metadataHost: metadata.host });
}

await main(Number(process.argv[2]));
