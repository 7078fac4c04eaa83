// What a machine family's table says, and how a row of it becomes the facts of one machine type.
import type { Architecture, GpuNeed, ProvisioningModel } from '#shared/plan/model.ts';

/** US dollars an hour for each vCPU, GiB of memory and GPU of a machine. */
export interface Rates {
  readonly cpu: number;
  readonly gib: number;
  readonly gpu?: number;
  /** For each local SSD that comes with the machine, where it is not the common price. */
  readonly ssd?: number;
}

export interface AttachableGpu {
  readonly type: string;
  readonly limits: readonly {
    readonly count: number;
    readonly cpusMax: number;
    readonly memoryGiBMax: number;
  }[];
  /** For each GPU. */
  readonly usdPerHour: Readonly<Record<ProvisioningModel, number | null>>;
  readonly zones: readonly string[] | null;
}

export interface LocalSsd {
  /** Disks that come with the machine, without being asked for. */
  readonly bundled: number;
  /** Counts that may be asked for, beside none. */
  readonly counts: readonly number[];
}

/** What a family's machines have in common. */
export interface FamilyFacts {
  readonly name: string;
  readonly architecture: Architecture;
  /** What happens at maintenance of the host to a machine without GPU that is not Spot. */
  readonly hostMaintenance: 'MIGRATE' | 'TERMINATE';
  readonly provisioningModels: readonly ProvisioningModel[];
  /** Types that it can boot from; the first one is taken when nothing is asked for. */
  readonly diskTypes: readonly string[];
  /** Where it is on offer, as far as that is known for good; null: not recorded. */
  readonly zones: readonly string[] | null;
  readonly usdPerHour: Readonly<Record<ProvisioningModel, Rates | null>>;
  readonly attachableGpus?: readonly AttachableGpu[];
}

export interface MachineFacts extends Omit<FamilyFacts, 'name' | 'usdPerHour' | 'attachableGpus'> {
  readonly machineType: string;
  readonly family: string;
  readonly cpus: number;
  readonly memoryGiB: number;
  /** GPUs that come with the machine. */
  readonly gpu: GpuNeed | null;
  /** GPUs that can be attached to it. */
  readonly attachableGpus: readonly AttachableGpu[];
  readonly localSsd: LocalSsd;
  /** The machine without disks, in us-central1; null: not known. */
  readonly usdPerHour: Readonly<Record<ProvisioningModel, number | null>>;
}

export interface MachineFamily extends FamilyFacts {
  readonly machines: readonly MachineFacts[];
}

type Counts = LocalSsd | readonly number[];
type CpuRow = readonly [machineType: string, cpus: number, memoryGiB: number, localSsd: Counts];
type GpuRow = readonly [
  machineType: string,
  cpus: number,
  memoryGiB: number,
  gpus: number,
  localSsd: Counts,
];

export const NO_SSD: LocalSsd = { bundled: 0, counts: [] };
export const bundled = (count: number): LocalSsd => ({ bundled: count, counts: [] });

/** Counts of local SSDs that small machines take, and what larger ones take of these. */
export const ANY = [1, 2, 4, 8, 16, 24];
export const FROM_2 = [2, 4, 8, 16, 24];
export const FROM_4 = [4, 8, 16, 24];
export const FROM_8 = [8, 16, 24];
export const FROM_16 = [16, 24];
export const UP_TO_8 = [1, 2, 3, 4, 5, 6, 7, 8];
export const UP_TO_24 = [...UP_TO_8, 16, 24];

/** 375 GiB at 0.08 dollars a GiB and month of 730 hours (us-central1, 2026-02). */
export const LOCAL_SSD_USD_PER_HOUR = (375 * 0.08) / 730;

export function cpuFamily(family: FamilyFacts & { readonly shapes: readonly CpuRow[] }) {
  const machines = family.shapes.map(([machineType, cpus, memoryGiB, localSsd]) =>
    machineOf(family, { machineType, cpus, memoryGiB, gpu: null }, localSsd),
  );
  return { ...family, machines };
}

export function gpuFamily(
  family: FamilyFacts & { readonly gpuType: string; readonly shapes: readonly GpuRow[] },
) {
  const machines = family.shapes.map(([machineType, cpus, memoryGiB, count, localSsd]) =>
    machineOf(
      family,
      { machineType, cpus, memoryGiB, gpu: { type: family.gpuType, count } },
      localSsd,
    ),
  );
  return { ...family, machines };
}

type Size = Pick<MachineFacts, 'machineType' | 'cpus' | 'memoryGiB' | 'gpu'>;

/** The facts of one machine type of a family. */
export function machineOf(family: FamilyFacts, size: Size, counts: Counts): MachineFacts {
  const localSsd = 'bundled' in counts ? counts : { bundled: 0, counts };
  const { name, architecture, hostMaintenance, provisioningModels, diskTypes, zones } = family;
  const price = (model: ProvisioningModel) => {
    const rates = provisioningModels.includes(model) ? family.usdPerHour[model] : null;
    if (rates === null) return null;
    const gpus = (rates.gpu ?? 0) * (size.gpu?.count ?? 0);
    const disks = (rates.ssd ?? LOCAL_SSD_USD_PER_HOUR) * localSsd.bundled;
    return size.cpus * rates.cpu + size.memoryGiB * rates.gib + gpus + disks;
  };
  return {
    ...size,
    family: name,
    architecture,
    hostMaintenance: size.gpu === null ? hostMaintenance : 'TERMINATE',
    provisioningModels,
    diskTypes,
    zones,
    attachableGpus: family.attachableGpus ?? [],
    localSsd,
    usdPerHour: { STANDARD: price('STANDARD'), SPOT: price('SPOT') },
  };
}
