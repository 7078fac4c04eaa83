// Zones, regions with their quotas, machine types, and the project: what clients look up before they
// make a machine.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { regionOf } from '#scripts/local-cloud/compute/catalogue.ts';
import { usageOf } from '#scripts/local-cloud/compute/placement.ts';
import { computeLink, regionsOf } from '#scripts/local-cloud/compute/state.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import type { World } from '#scripts/local-cloud/world.ts';

const notFound = (path: string) =>
  refuse(404, 'notFound', `The resource 'projects/${path}' was not found`);

function zoneResource(world: World, project: string, zone: string): JsonObject {
  return {
    kind: 'compute#zone',
    id: String(2000 + [...world.compute.zones.keys()].indexOf(zone)),
    name: zone,
    description: zone,
    status: 'UP',
    region: computeLink(world, project, `regions/${regionOf(zone)}`),
    selfLink: computeLink(world, project, `zones/${zone}`),
  };
}

function quotasOf(world: World, scope: string): JsonObject[] {
  return world.compute.quotas
    .filter((quota) => quota.scope === scope)
    .map((quota) => ({ metric: quota.metric, limit: quota.limit, usage: usageOf(world, quota) }));
}

function regionResource(world: World, project: string, region: string): JsonObject {
  const zones = [...world.compute.zones.keys()].filter((zone) => regionOf(zone) === region);
  return {
    kind: 'compute#region',
    name: region,
    status: 'UP',
    zones: zones.map((zone) => computeLink(world, project, `zones/${zone}`)),
    quotas: quotasOf(world, region),
    selfLink: computeLink(world, project, `regions/${region}`),
  };
}

export function typeResource(
  world: World,
  project: string,
  zone: string,
  name: string,
): JsonObject {
  const spec = world.options.compute.machineTypes[name];
  const resource: JsonObject = {
    kind: 'compute#machineType',
    name,
    zone,
    guestCpus: spec?.guestCpus,
    memoryMb: spec?.memoryMb,
    architecture: spec?.architecture ?? 'X86_64',
    selfLink: computeLink(world, project, `zones/${zone}/machineTypes/${name}`),
  };
  if (spec?.accelerator !== undefined) {
    const { type, count } = spec.accelerator;
    resource.accelerators = [{ guestAcceleratorType: type, guestAcceleratorCount: count }];
  }
  return resource;
}

function getZone({ world }: Context, { params }: Call): Reply {
  const { project = '', zone = '' } = params;
  return world.compute.zones.has(zone)
    ? ok(zoneResource(world, project, zone))
    : notFound(`${project}/zones/${zone}`);
}

function listZones({ world }: Context, { params }: Call): Reply {
  const { project = '' } = params;
  const items = [...world.compute.zones.keys()].map((zone) => zoneResource(world, project, zone));
  return ok({ kind: 'compute#zoneList', id: `projects/${project}/zones`, items });
}

function getRegion(context: Context, { principal, params }: Call): Reply {
  const { world } = context;
  const { project = '', region = '' } = params;
  const refusal = denied(context, principal, 'compute.regions.get', `projects/${project}`);
  if (refusal !== null) return refusal;
  return regionsOf(world.compute).includes(region)
    ? ok(regionResource(world, project, region))
    : notFound(`${project}/regions/${region}`);
}

function listRegions({ world }: Context, { params }: Call): Reply {
  const { project = '' } = params;
  const items = regionsOf(world.compute).map((region) => regionResource(world, project, region));
  return ok({ kind: 'compute#regionList', id: `projects/${project}/regions`, items });
}

function getMachineType({ world }: Context, { params }: Call): Reply {
  const { project = '', zone = '', machineType = '' } = params;
  return world.compute.zones.get(zone)?.has(machineType) === true
    ? ok(typeResource(world, project, zone, machineType))
    : notFound(`${project}/zones/${zone}/machineTypes/${machineType}`);
}

function listMachineTypes(context: Context, { principal, params }: Call): Reply {
  const { world } = context;
  const { project = '', zone = '' } = params;
  const right = 'compute.machineTypes.list';
  const refusal = denied(context, principal, right, `projects/${project}`);
  if (refusal !== null) return refusal;
  const offers = world.compute.zones.get(zone);
  if (offers === undefined) {
    return notFound(`${project}/zones/${zone}`);
  }
  const items = [...offers].map((name) => typeResource(world, project, zone, name));
  return ok({ kind: 'compute#machineTypeList', items });
}

function getProject(context: Context, { principal, params }: Call): Reply {
  const { world } = context;
  const { project = '' } = params;
  const refusal = denied(context, principal, 'compute.projects.get', `projects/${project}`);
  if (refusal !== null) return refusal;
  const number = world.options.compute.projectNumber;
  return ok({
    kind: 'compute#project',
    id: number,
    name: project,
    defaultServiceAccount: `${number}-compute@developer.gserviceaccount.com`,
    quotas: quotasOf(world, 'global'),
    selfLink: computeLink(world, project, '').replace(/\/$/, ''),
  });
}

export const placeMethods: Methods = {
  'compute.zones.get': getZone,
  'compute.zones.list': listZones,
  'compute.regions.get': getRegion,
  'compute.regions.list': listRegions,
  'compute.machineTypes.get': getMachineType,
  'compute.machineTypes.list': listMachineTypes,
  'compute.projects.get': getProject,
};
