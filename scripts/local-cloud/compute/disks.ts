// Disks: made with their machine, deleted with it when autoDelete says so, and otherwise left behind.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import {
  beginOperation,
  finishOperation,
  operationResource,
} from '#scripts/local-cloud/compute/operations.ts';
import { rememberRequest, replayedOperation } from '#scripts/local-cloud/compute/requests.ts';
import {
  computeLink,
  type DiskState,
  type MachineState,
  placeKey,
} from '#scripts/local-cloud/compute/state.ts';
import { checkLabels, checkName } from '#scripts/local-cloud/compute/validation.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import {
  asArray,
  asObject,
  asString,
  asStringMap,
  type JsonObject,
  lastPart,
  timestamp,
} from '#scripts/local-cloud/json.ts';
import type { World } from '#scripts/local-cloud/world.ts';

interface DiskOrder {
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  readonly fields: JsonObject;
}

function createDisk(context: Context, { name, zone, project, fields }: DiskOrder): DiskState {
  const { world, nowMs } = context;
  const disk: DiskState = {
    id: world.random.digits(19),
    name,
    zone,
    project,
    sizeGb: String(fields.diskSizeGb ?? fields.sizeGb ?? '10'),
    type: lastPart(asString(fields.diskType) ?? asString(fields.type) ?? 'pd-standard'),
    sourceImage: asString(fields.sourceImage),
    labels: asStringMap(fields.labels),
    createdMs: nowMs,
    users: new Set(),
  };
  world.compute.disks.set(placeKey(zone, name), disk);
  return disk;
}

/**
 * Makes or finds the disks of a new machine. A disk of the wanted name that is already there is
 * attached instead of a new one.
 */
export function attachDisks(context: Context, machine: MachineState): void {
  const { zone, project } = machine;
  for (const [index, attached] of asArray(machine.body.disks).map(asObject).entries()) {
    const fields = asObject(attached.initializeParams);
    const fallback = index === 0 ? machine.name : `${machine.name}-${index}`;
    const source = asString(attached.source);
    const name = asString(fields.diskName) ?? (source === undefined ? fallback : lastPart(source));
    const key = placeKey(zone, name);
    const disk =
      context.world.compute.disks.get(key) ?? createDisk(context, { name, zone, project, fields });
    disk.users.add(placeKey(zone, machine.name));
    machine.disks.push({ key, autoDelete: attached.autoDelete === true });
  }
}

/** The machine goes: its disks lose their user, and go too where autoDelete says so. */
export function detachDisks(context: Context, machine: MachineState): void {
  const { disks } = context.world.compute;
  for (const { key, autoDelete } of machine.disks) {
    const disk = disks.get(key);
    disk?.users.delete(placeKey(machine.zone, machine.name));
    if (disk !== undefined && autoDelete && disk.users.size === 0) {
      disks.delete(key);
    }
  }
}

export function diskResource(world: World, disk: DiskState): JsonObject {
  const { name, zone, project } = disk;
  const resource: JsonObject = {
    kind: 'compute#disk',
    id: disk.id,
    name,
    zone: computeLink(world, project, `zones/${zone}`),
    status: 'READY',
    sizeGb: disk.sizeGb,
    type: computeLink(world, project, `zones/${zone}/diskTypes/${disk.type}`),
    labels: { ...disk.labels },
    creationTimestamp: timestamp(disk.createdMs),
    selfLink: computeLink(world, project, `zones/${zone}/disks/${name}`),
  };
  if (disk.sourceImage !== undefined) {
    resource.sourceImage = disk.sourceImage;
  }
  if (disk.users.size > 0) {
    resource.users = [...disk.users].map((key) => {
      return computeLink(world, project, `zones/${zone}/instances/${lastPart(key)}`);
    });
  }
  return resource;
}

const pathOf = ({ project = '', zone = '', disk = '' }: Call['params']) =>
  `projects/${project}/zones/${zone}/disks/${disk}`;

function findDisk(context: Context, call: Call, permission: string): DiskState | Reply {
  const { zone = '', disk: name = '' } = call.params;
  return (
    denied(context, call.principal, permission, pathOf(call.params)) ??
    context.world.compute.disks.get(placeKey(zone, name)) ??
    refuse(404, 'notFound', `The resource '${pathOf(call.params)}' was not found`)
  );
}

function getDisk(context: Context, call: Call): Reply {
  const found = findDisk(context, call, 'compute.disks.get');
  return 'headers' in found ? found : ok(diskResource(context.world, found));
}

function deleteDisk(context: Context, call: Call): Reply {
  const found = replayedOperation(context, call) ?? findDisk(context, call, 'compute.disks.delete');
  if ('headers' in found) {
    return found;
  }
  if (found.users.size > 0) {
    const message = `The disk resource '${pathOf(call.params)}' is already being used by '${[...found.users]}'`;
    return refuse(400, 'resourceInUseByAnotherResource', message);
  }
  const operation = beginOperation(context, {
    operationType: 'delete',
    ...orderOf(call, found),
  });
  rememberRequest(context, call, operation);
  context.world.timers.add(context.nowMs + context.world.options.compute.diskRemovalMs, {
    kind: 'disk-delete',
    disk: placeKey(found.zone, found.name),
    operation: operation.name,
  });
  return ok(operationResource(context.world, operation));
}

function orderOf(call: Call, { id, name, zone, project }: DiskState) {
  const { principal, params } = call;
  const target = `zones/${zone}/disks/${name}`;
  return { zone, project, targetId: id, target, principal, requestId: params.requestId };
}

export function removeDisk(context: Context, key: string, operation: string): void {
  context.world.compute.disks.delete(key);
  finishOperation(context, operation);
}

/** A disk of its own, as `gcloud compute disks create` makes one. */
function insertDisk(context: Context, call: Call): Reply {
  const { project = '', zone = '' } = call.params;
  const fields = asObject(call.body);
  const name = asString(fields.name) ?? '';
  const refusal =
    denied(context, call.principal, 'compute.disks.create', `projects/${project}/zones/${zone}`) ??
    checkName('name', name) ??
    checkLabels('labels', fields.labels);
  if (refusal !== null) {
    return refusal;
  }
  if (context.world.compute.disks.has(placeKey(zone, name))) {
    return refuse(
      409,
      'alreadyExists',
      `The resource '${pathOf({ project, zone, disk: name })}' already exists`,
    );
  }
  const disk = createDisk(context, { name, zone, project, fields });
  const operation = beginOperation(context, { operationType: 'insert', ...orderOf(call, disk) });
  finishOperation(context, operation.name);
  return ok(operationResource(context.world, operation));
}

export const diskMethods: Methods = {
  'compute.disks.get': getDisk,
  'compute.disks.delete': deleteDisk,
  'compute.disks.insert': insertDisk,
};
