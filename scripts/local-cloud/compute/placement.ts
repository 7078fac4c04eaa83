// Whether a machine can be made where it was asked for: planted outcomes first, then quota, then stock.
// The answers are errors of the operation, in the shapes that Compute gives them.
import { regionOf } from '#scripts/local-cloud/compute/catalogue.ts';
import {
  type ComputeState,
  type OperationError,
  type PlantedOutcome,
  placeKey,
  type Quota,
} from '#scripts/local-cloud/compute/state.ts';
import type { World } from '#scripts/local-cloud/world.ts';

export interface Demand {
  readonly zone: string;
  readonly name: string;
  readonly machineType: string;
  readonly spot: boolean;
  readonly serviceAccount: string | undefined;
  /** Attached GPUs as `type:count`, for the details of a stock-out. */
  readonly attachment: string;
}

export interface Verdict {
  readonly error: OperationError;
  /** The machine lives although its operation fails. */
  readonly machineLives: boolean;
}

/** Null: there is room; a unit of stock has been taken. */
export function place(world: World, demand: Demand): Verdict | null {
  const { compute } = world;
  const planted = takeOutcome(compute, demand);
  if (planted !== null) {
    return { error: planted.error, machineLives: planted.machineLives };
  }
  const error =
    actAsError(compute, demand) ?? quotaError(world, demand) ?? stockError(world, demand);
  return error === null ? null : { error, machineLives: false };
}

function takeOutcome(compute: ComputeState, demand: Demand): PlantedOutcome | null {
  for (const entry of compute.outcomes) {
    const { match, times } = entry.outcome;
    if (
      entry.used < times &&
      (match.zone ?? demand.zone) === demand.zone &&
      (match.machineType ?? demand.machineType) === demand.machineType &&
      demand.name.includes(match.name ?? '')
    ) {
      entry.used += 1;
      return entry.outcome;
    }
  }
  return null;
}

function actAsError(compute: ComputeState, { serviceAccount }: Demand): OperationError | null {
  if (serviceAccount === undefined || !compute.actAsDenied.has(serviceAccount)) {
    return null;
  }
  const message = `The user does not have access to service account '${serviceAccount}'. Ask a project owner to grant you the iam.serviceAccountUser role on the service account.`;
  return { httpStatus: 400, errors: [{ code: 'SERVICE_ACCOUNT_ACCESS_DENIED', message }] };
}

/** The CPU metric of a machine family: N1, E2 and what has none of its own count as CPUS. */
function cpuMetric(machineType: string, spot: boolean): string {
  const family = machineType.split('-')[0]?.toUpperCase() ?? '';
  const own = ['N2', 'N2D', 'C2', 'C2D', 'C3', 'T2D', 'T2A', 'A2', 'M1', 'M2', 'M3'];
  return spot ? 'PREEMPTIBLE_CPUS' : own.includes(family) ? `${family}_CPUS` : 'CPUS';
}

function gpuMetric(acceleratorType: string, spot: boolean): string {
  const model = acceleratorType.replace(/^nvidia-(?:tesla-)?/, '').replaceAll('-', '_');
  return `${spot ? 'PREEMPTIBLE_' : ''}NVIDIA_${model.toUpperCase()}_GPUS`;
}

/** What one machine takes of each metric. */
function demandOf(world: World, machineType: string, spot: boolean): Map<string, number> {
  const spec = world.options.compute.machineTypes[machineType];
  const demand = new Map([['INSTANCES', 1]]);
  if (spec !== undefined) {
    demand.set(cpuMetric(machineType, spot), spec.guestCpus);
    demand.set('CPUS_ALL_REGIONS', spec.guestCpus);
  }
  if (spec?.accelerator !== undefined) {
    demand.set(gpuMetric(spec.accelerator.type, spot), spec.accelerator.count);
    demand.set('GPUS_ALL_REGIONS', spec.accelerator.count);
  }
  return demand;
}

/** What the machines that exist take of a quota. */
export function usageOf(world: World, quota: Quota): number {
  let usage = 0;
  for (const machine of world.compute.machines.values()) {
    const inScope = quota.scope === 'global' || regionOf(machine.zone) === quota.scope;
    if (inScope && machine.doom === null) {
      usage += demandOf(world, machine.machineType, machine.spot).get(quota.metric) ?? 0;
    }
  }
  return usage;
}

function quotaError(world: World, { zone, machineType, spot }: Demand): OperationError | null {
  const region = regionOf(zone);
  const demand = demandOf(world, machineType, spot);
  for (const quota of world.compute.quotas) {
    const wanted = demand.get(quota.metric) ?? 0;
    const applies = quota.scope === 'global' || quota.scope === region;
    if (wanted === 0 || !applies || usageOf(world, quota) + wanted <= quota.limit) {
      continue;
    }
    const global = quota.scope === 'global';
    const where = global ? 'globally' : `in region ${region}`;
    const quotaInfo = {
      metricName: `compute.googleapis.com/${quota.metric.toLowerCase()}`,
      limit: quota.limit,
      limitName: `${quota.metric.replaceAll('_', '-')}-per-project${global ? '' : '-region'}`,
      dimensions: global ? { global: 'global' } : { region },
    };
    const message = `Quota '${quota.metric}' exceeded.  Limit: ${quota.limit}.0 ${where}.`;
    const error = { code: 'QUOTA_EXCEEDED', message, errorDetails: [{ quotaInfo }] };
    return { httpStatus: 403, errors: [error] };
  }
  return null;
}

function stockError(world: World, demand: Demand): OperationError | null {
  const { compute } = world;
  const { zone, machineType } = demand;
  const key = placeKey(zone, machineType);
  const left = compute.stock.get(key) ?? Number.POSITIVE_INFINITY;
  if (left > 0) {
    if (Number.isFinite(left)) {
      compute.stock.set(key, left - 1);
    }
    return null;
  }
  const zonesAvailable = zonesWithStock(compute, demand);
  const metadatas = { zone, vmType: machineType, attachment: demand.attachment };
  const detailed = { ...metadatas, zonesAvailable: zonesAvailable.join(',') };
  const place = `projects/${world.options.project}/zones/${zone}`;
  const message = `The zone '${place}' does not have enough resources available to fulfill the request. Try a different zone, or try again later.`;
  if (zonesAvailable.length === 0) {
    return { httpStatus: 503, errors: [{ code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message }] };
  }
  const errorInfo = { reason: 'resource_availability', domain: 'compute.googleapis.com' };
  const error = {
    code: 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
    message,
    errorDetails: [{ errorInfo: { ...errorInfo, metadatas: detailed } }],
  };
  return { httpStatus: 503, errors: [error] };
}

/** Other zones of the region that offer the type and have some left. */
function zonesWithStock(compute: ComputeState, { zone, machineType }: Demand): string[] {
  return [...compute.zones.keys()].filter(
    (other) =>
      other !== zone &&
      regionOf(other) === regionOf(zone) &&
      compute.zones.get(other)?.has(machineType) === true &&
      (compute.stock.get(placeKey(other, machineType)) ?? 1) > 0,
  );
}

/** A machine is gone: what it took comes back, where stock is counted. */
export function giveBack(compute: ComputeState, zone: string, machineType: string): void {
  const key = placeKey(zone, machineType);
  const left = compute.stock.get(key);
  if (left !== undefined) {
    compute.stock.set(key, left + 1);
  }
}
