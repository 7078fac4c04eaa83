// The body of Compute Engine's `instances.insert` for one intent. Every body ends its machine by
// itself: run-time limit, action DELETE, never an automatic restart; disks go with the machine.
import { bootImagePath } from '#shared/plan/boot-image.ts';
import { hostMaintenance } from '#shared/plan/host-maintenance.ts';
import { bootDiskType } from '#shared/plan/machine-choice.ts';
import type { MachineFacts } from '#shared/plan/machines/family.ts';
import type { InstanceBody, IntentInput } from '#shared/plan/model.ts';

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];

export interface BodyParts {
  readonly instanceName: string;
  readonly diskName: string;
  readonly facts: MachineFacts | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly startupScript: string;
  readonly shutdownScript: string;
}

/** The insert body; equal input gives equal bytes. */
export function instanceBody(input: IntentInput, parts: BodyParts): InstanceBody {
  const { candidate, plan, settings } = input;
  const { request } = plan;
  return {
    name: parts.instanceName,
    machineType: `zones/${candidate.zone}/machineTypes/${candidate.machineType}`,
    labels: parts.labels,
    scheduling: scheduling(input, parts.facts),
    disks: [bootDisk(input, parts), ...localSsds(input, parts.facts)],
    networkInterfaces: [{ subnetwork: candidate.subnetwork }],
    serviceAccounts: [{ email: request.serviceAccount, scopes: SCOPES }],
    shieldedInstanceConfig: {
      ...(settings.secureBoot ? { enableSecureBoot: true } : {}),
      enableVtpm: true,
      enableIntegrityMonitoring: true,
    },
    metadata: { items: metadataItems(input, parts) },
    ...accelerators(input, parts.facts),
    ...(settings.networkTags.length > 0 ? { tags: { items: settings.networkTags } } : {}),
  };
}

function scheduling({ candidate, plan }: IntentInput, facts: MachineFacts | null) {
  const { provisioningModel, machineType } = candidate;
  const { ttlSeconds, resources } = plan.request;
  const gpu = facts?.gpu ?? resources.gpu;
  return {
    provisioningModel,
    instanceTerminationAction: 'DELETE',
    maxRunDuration: { seconds: String(ttlSeconds) },
    automaticRestart: false,
    ...hostMaintenance(machineType, facts, gpu, provisioningModel),
  };
}

function bootDisk(input: IntentInput, { diskName, facts, labels }: BodyParts) {
  const { candidate, settings } = input;
  const { bootDiskGiB, bootImage, diskType, architecture } = input.plan.request.resources;
  const { diskKmsKey } = settings;
  return {
    boot: true,
    autoDelete: true,
    initializeParams: {
      diskName,
      sourceImage: bootImagePath(bootImage, architecture),
      diskSizeGb: String(bootDiskGiB),
      diskType: `zones/${candidate.zone}/diskTypes/${bootDiskType(facts, diskType)}`,
      labels,
    },
    ...(diskKmsKey === null ? {} : { diskEncryptionKey: { kmsKeyName: diskKmsKey } }),
  };
}

/** Local SSDs that are asked for; those that come with the machine are not named. */
function localSsds({ candidate, plan }: IntentInput, facts: MachineFacts | null) {
  const bundled = (facts?.localSsd.bundled ?? 0) > 0;
  const count = bundled ? 0 : plan.request.resources.localSsdCount;
  return Array.from({ length: count }, () => ({
    type: 'SCRATCH',
    autoDelete: true,
    interface: 'NVME',
    initializeParams: { diskType: `zones/${candidate.zone}/diskTypes/local-ssd` },
  }));
}

/** GPUs that are attached; those that come with the machine are not named. */
function accelerators({ candidate, plan, settings }: IntentInput, facts: MachineFacts | null) {
  const { gpu } = plan.request.resources;
  if (gpu === null || facts === null || facts.gpu !== null) return {};
  const zone = `projects/${settings.project}/zones/${candidate.zone}`;
  const acceleratorType = `${zone}/acceleratorTypes/${gpu.type}`;
  return { guestAccelerators: [{ acceleratorType, acceleratorCount: gpu.count }] };
}

/** Contract §2, in this order; the deployment's own keys come last. */
function metadataItems(input: IntentInput, parts: BodyParts) {
  const { attempt, nonce, settings } = input;
  const items = [
    { key: 'startup-script', value: parts.startupScript },
    { key: 'google-logging-enabled', value: String(settings.fullLog === 'logging') },
    { key: 'shutdown-script', value: parts.shutdownScript },
    { key: 'enable-guest-attributes', value: 'TRUE' },
    { key: 'mayfly-attempt', value: String(attempt) },
    { key: 'mayfly-nonce', value: nonce },
  ];
  for (const [key, value] of Object.entries(settings.instanceMetadata)) items.push({ key, value });
  return items;
}
