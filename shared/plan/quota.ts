// Which quotas a machine draws on, and whether one of them is known to be short. A metric that is not
// listed says nothing: newer families and GPUs are not reported for a region at all.
// Source: the quotas of `regions.get` and `projects.get` in Compute Engine v1.
import { gpuName } from '#shared/plan/gpu-types.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { Candidate, GpuNeed } from '#shared/plan/model.ts';

export interface Quota {
  readonly metric: string;
  readonly limit: number;
  readonly usage: number;
}

/** The scope of the project's own quotas beside those of its regions. */
export const ALL_REGIONS = 'all regions';

/** By region, or `ALL_REGIONS`; a scope that could not be read is absent. */
export type Quotas = Readonly<Record<string, readonly Quota[]>>;

export interface ShortQuota {
  readonly scope: string;
  readonly metric: string;
  readonly limit: number;
  readonly usage: number;
  readonly needed: number;
}

/** One need of a machine: the metric that it draws on under its names, and another that would do. */
interface Demand {
  readonly scope: string;
  readonly own: readonly string[];
  readonly other: readonly string[];
  readonly needed: number;
}

/**
 * Whose quotas are worth reading before a walk: those of GPUs, where a stock-out can hide a quota of 0 for
 * as long as an operation takes; a machine without GPUs is told at once by its first call.
 */
export function quotaScopes(candidates: readonly Candidate[], asked: GpuNeed | null): string[] {
  const withGpu = candidates.filter(({ machineType }) => gpuOf(machineType, asked) !== null);
  if (withGpu.length === 0) return [];
  return [ALL_REGIONS, ...new Set(withGpu.map(({ region }) => region))];
}

/** The GPUs of a machine; null: none. */
function gpuOf(machineType: string, asked: GpuNeed | null): GpuNeed | null {
  return machineFacts(machineType)?.gpu ?? asked;
}

/** The first quota that is listed and has no room for this candidate; null: none is known to be short. */
export function shortQuota(
  candidate: Candidate,
  asked: GpuNeed | null,
  quotas: Quotas,
): ShortQuota | null {
  for (const { scope, own, other, needed } of demandsOf(candidate, asked)) {
    const listed = (names: readonly string[]) =>
      (quotas[scope] ?? []).filter(({ metric }) => names.includes(metric));
    const [first] = listed(own);
    const hasRoom = ({ limit, usage }: Quota) => limit - usage >= needed;
    if (first === undefined || listed([...own, ...other]).some(hasRoom)) continue;
    return { scope, ...first, needed };
  }
  return null;
}

/**
 * A machine that is deleted within seven days may draw on the standard and on the preemptible pool, and
 * Spot draws on the standard one where no preemptible quota was granted.
 */
function demandsOf(candidate: Candidate, asked: GpuNeed | null): readonly Demand[] {
  const { machineType, region, provisioningModel } = candidate;
  const facts = machineFacts(machineType);
  const gpu = gpuOf(machineType, asked);
  const pools = (standard: readonly string[], preemptible: readonly string[]) =>
    provisioningModel === 'SPOT'
      ? { own: preemptible, other: standard }
      : { own: standard, other: preemptible };
  const demands: Demand[] = [];
  if (gpu !== null) {
    const name = `NVIDIA_${gpuName(gpu.type)}`;
    const standard = [`${name}_GPUS`, `GPU_FAMILY:${name}`];
    const needed = gpu.count;
    demands.push(
      { scope: ALL_REGIONS, own: ['GPUS_ALL_REGIONS'], other: [], needed },
      { scope: region, ...pools(standard, [`PREEMPTIBLE_${name}_GPUS`]), needed },
    );
  }
  const cpuMetric = facts === null ? null : cpuMetricOf(facts.family);
  if (facts !== null && cpuMetric !== null) {
    const needed = facts.cpus;
    demands.push(
      { scope: ALL_REGIONS, own: ['CPUS_ALL_REGIONS'], other: [], needed },
      { scope: region, ...pools([cpuMetric], ['PREEMPTIBLE_CPUS']), needed },
    );
  }
  return demands;
}

const OWN_METRIC = ['n2', 'n2d', 'c2', 'c2d', 'c3', 't2d', 't2a', 'a2', 'm1', 'm2', 'm3'];

/** Null: the family's CPUs are not among a region's quotas. */
function cpuMetricOf(family: string): string | null {
  const [series = ''] = family.split('-');
  if (series === 'n1' || series === 'e2') return 'CPUS';
  return OWN_METRIC.includes(series) ? `${series.toUpperCase()}_CPUS` : null;
}
