// Each part of a machine that is to be made demands a permission of its own.
// Source: "Create and start a Compute Engine instance", required permissions; "Attach service accounts to
// resources" for actAs. That labels of a new disk demand one too is known from real refusals alone.
import type { Call, Context, Reply } from '#scripts/local-cloud/call.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asArray, asObject, asString, type JsonObject } from '#scripts/local-cloud/json.ts';

interface Demand {
  readonly permission: string;
  readonly resource: string;
}

/** Images that every account may use: those of the documentation's table of public images. */
const PUBLIC_IMAGES =
  /^projects\/(?:(?:centos|cos|debian|opensuse|rhel|rocky-linux|suse|ubuntu-os|ubuntu-os-pro|windows)-cloud|ubuntu-os-accelerator-images|deeplearning-platform-release)\//;

/** The refusal of an insert whose caller lacks what a part demands; null when he has it all. */
export function deniedParts(context: Context, { principal, params, body }: Call): Reply | null {
  const { project = '', zone = '' } = params;
  const place = { project, zone };
  const fields = asObject(body);
  const demands = [
    ...instanceDemands(place, fields),
    ...diskDemands(place, asArray(fields.disks).map(asObject)),
    ...asArray(fields.networkInterfaces).flatMap((one) => networkDemands(place, asObject(one))),
  ];
  for (const { permission, resource } of demands) {
    const refusal = denied(context, principal, permission, resource);
    if (refusal !== null) return refusal;
  }
  return null;
}

interface Place {
  readonly project: string;
  readonly zone: string;
}

/** Fields of the machine itself, in the order in which they are looked at. */
const FIELD_PERMISSIONS = {
  labels: 'compute.instances.setLabels',
  metadata: 'compute.instances.setMetadata',
  tags: 'compute.instances.setTags',
  serviceAccounts: 'compute.instances.setServiceAccount',
} as const;

function instanceDemands({ project, zone }: Place, fields: JsonObject): readonly Demand[] {
  const resource = `projects/${project}/zones/${zone}/instances/${asString(fields.name) ?? ''}`;
  const given = Object.entries(FIELD_PERMISSIONS).filter(([name]) => fields[name] !== undefined);
  return [
    { permission: 'compute.instances.create', resource },
    ...given.map(([, permission]) => ({ permission, resource })),
    ...asArray(fields.serviceAccounts).map((account) => ({
      permission: 'iam.serviceAccounts.actAs',
      resource: `projects/-/serviceAccounts/${asObject(account).email}`,
    })),
  ];
}

/** Disks that are made with the machine. */
function diskDemands({ project, zone }: Place, disks: readonly JsonObject[]): readonly Demand[] {
  const resource = `projects/${project}/zones/${zone}/disks/`;
  return disks.flatMap(({ initializeParams }) => {
    if (initializeParams === undefined) return [];
    const { labels, sourceImage } = asObject(initializeParams);
    const image = fullName(project, sourceImage);
    const isCustom = image !== null && !PUBLIC_IMAGES.test(image);
    return [
      { permission: 'compute.disks.create', resource },
      ...(labels === undefined ? [] : [{ permission: 'compute.disks.setLabels', resource }]),
      ...(isCustom ? [{ permission: 'compute.images.useReadOnly', resource: image }] : []),
    ];
  });
}

function networkDemands({ project }: Place, network: JsonObject): readonly Demand[] {
  const resource = fullName(project, network.subnetwork) ?? `projects/${project}/regions/`;
  const isPublic = asArray(network.accessConfigs).length > 0;
  return [
    { permission: 'compute.subnetworks.use', resource },
    ...(isPublic ? [{ permission: 'compute.subnetworks.useExternalIp', resource }] : []),
  ];
}

/** `projects/…`, whether it was given as a link, in full, or within the project. */
function fullName(project: string, given: unknown): string | null {
  const text = asString(given)?.replace(/^https:\/\/[^/]+\/compute\/v1\//, '') ?? '';
  if (text === '') return null;
  return text.startsWith('projects/') ? text : `projects/${project}/${text}`;
}
