// An instance as `instances.get` shows it: what the caller sent, and what the platform knows.
import { computeLink, type MachineState } from '#scripts/local-cloud/compute/state.ts';
import { isSpot } from '#scripts/local-cloud/compute/validation.ts';
import {
  asArray,
  asObject,
  copyJson,
  type JsonObject,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import type { World } from '#scripts/local-cloud/world.ts';

function disksOf(world: World, machine: MachineState): JsonObject[] {
  const sent = asArray(machine.body.disks).map(asObject);
  return machine.disks.map(({ key, autoDelete }, index) => {
    const name = key.slice(key.indexOf('/') + 1);
    return {
      kind: 'compute#attachedDisk',
      type: 'PERSISTENT',
      mode: 'READ_WRITE',
      index,
      deviceName: sent[index]?.deviceName ?? `persistent-disk-${index}`,
      boot: sent[index]?.boot === true,
      autoDelete,
      source: computeLink(world, machine.project, `zones/${machine.zone}/disks/${name}`),
    };
  });
}

function schedulingOf(machine: MachineState): JsonObject {
  const spot = isSpot(machine.body);
  return {
    onHostMaintenance: spot ? 'TERMINATE' : 'MIGRATE',
    automaticRestart: !spot,
    preemptible: spot,
    provisioningModel: spot ? 'SPOT' : 'STANDARD',
    ...asObject(copyJson(machine.body.scheduling)),
  };
}

function interfacesOf(machine: MachineState): JsonObject[] {
  return asArray(copyJson(machine.body.networkInterfaces)).map((entry, index) => ({
    kind: 'compute#networkInterface',
    name: `nic${index}`,
    networkIP: '10.0.0.2',
    ...asObject(entry),
  }));
}

/** The instance's resource (`compute#instance`), freshly made. */
export function instanceResource(world: World, machine: MachineState): JsonObject {
  const { name, zone, project } = machine;
  const items = Object.entries(machine.metadata).map(([key, value]) => ({ key, value }));
  const resource: JsonObject = {
    ...copyJson(machine.body),
    kind: 'compute#instance',
    id: machine.id,
    name,
    zone: computeLink(world, project, `zones/${zone}`),
    machineType: computeLink(world, project, `zones/${zone}/machineTypes/${machine.machineType}`),
    status: machine.status,
    creationTimestamp: timestamp(machine.createdMs),
    selfLink: computeLink(world, project, `zones/${zone}/instances/${name}`),
    labels: { ...machine.labels },
    labelFingerprint: 'AAAAAAAAAAA=',
    metadata: { kind: 'compute#metadata', fingerprint: 'AAAAAAAAAAA=', items },
    disks: disksOf(world, machine),
    scheduling: schedulingOf(machine),
    networkInterfaces: interfacesOf(machine),
    deletionProtection: false,
    startRestricted: false,
  };
  if (machine.lastStartMs !== null) {
    resource.lastStartTimestamp = timestamp(machine.lastStartMs);
  }
  if (machine.lastStopMs !== null) {
    resource.lastStopTimestamp = timestamp(machine.lastStopMs);
  }
  if (machine.ttlEndMs !== null) {
    const terminationTimestamp = timestamp(machine.ttlEndMs);
    resource.resourceStatus = { scheduling: { terminationTimestamp } };
  }
  return resource;
}
