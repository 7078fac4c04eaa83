// What the metadata server knows about a machine, or about the account that a function runs as.
import { regionOf } from '#scripts/local-cloud/compute/catalogue.ts';
import { accountOf } from '#scripts/local-cloud/compute/events.ts';
import type { MachineState } from '#scripts/local-cloud/compute/state.ts';
import { asArray, asObject, asString } from '#scripts/local-cloud/json.ts';
import { accountId } from '#scripts/local-cloud/keys.ts';
import type { World } from '#scripts/local-cloud/world.ts';

/** Folders and values; a value is printed as it is, a list one entry a line. */
export type MetadataTree = {
  readonly [name: string]: MetadataTree | string | number | readonly string[];
};

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

function accounts(email: string | null, scopes: readonly string[]): MetadataTree {
  if (email === null) {
    return {};
  }
  const account = { aliases: ['default'], email, scopes };
  return { default: account, [email]: account };
}

function project(world: World): MetadataTree {
  return {
    attributes: {},
    'numeric-project-id': Number(world.options.compute.projectNumber),
    'project-id': world.options.project,
  };
}

export function machineTree(world: World, machine: MachineState): MetadataTree {
  const number = world.options.compute.projectNumber;
  const { name, zone } = machine;
  const attached = asObject(asArray(machine.body.serviceAccounts)[0]);
  const scopes = asArray(attached.scopes).filter((scope) => typeof scope === 'string');
  const { automaticRestart, onHostMaintenance } = asObject(machine.body.scheduling);
  return {
    instance: {
      attributes: { ...machine.metadata },
      'cpu-platform': 'Unknown CPU Platform',
      description: asString(machine.body.description) ?? '',
      disks: {},
      'guest-attributes': guestAttributes(machine),
      hostname: `${name}.${zone}.c.${machine.project}.internal`,
      id: machine.id,
      image: '',
      'machine-type': `projects/${number}/machineTypes/${machine.machineType}`,
      'maintenance-event': 'NONE',
      name,
      preempted: machine.preempted ? 'TRUE' : 'FALSE',
      'remaining-cpu-time': -1,
      scheduling: {
        'automatic-restart': automaticRestart === false ? 'FALSE' : 'TRUE',
        'on-host-maintenance': asString(onHostMaintenance) ?? 'MIGRATE',
        preemptible: machine.spot ? 'TRUE' : 'FALSE',
      },
      'service-accounts': accounts(accountOf(machine), scopes),
      tags: [],
      zone: `projects/${number}/zones/${zone}`,
    },
    project: project(world),
    universe: { 'universe-domain': 'googleapis.com' },
  };
}

function guestAttributes(machine: MachineState): MetadataTree {
  const tree: Record<string, Record<string, string>> = {};
  for (const [path, value] of machine.guestAttributes) {
    const [namespace = '', key = ''] = path.split('/');
    tree[namespace] = { ...tree[namespace], [key]: value };
  }
  return tree;
}

/** As a Cloud Run function sees it: no attributes, a region instead of a machine. */
export function functionTree(world: World, email: string): MetadataTree {
  const number = world.options.compute.projectNumber;
  const [zone = 'us-central1-a'] = world.compute.zones.keys();
  return {
    instance: {
      attributes: {},
      id: accountId(email),
      region: `projects/${number}/regions/${regionOf(zone)}`,
      'service-accounts': accounts(email, [SCOPE]),
      zone: `projects/${number}/zones/${zone}`,
    },
    project: project(world),
    universe: { 'universe-domain': 'googleapis.com' },
  };
}
