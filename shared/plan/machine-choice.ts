// Which machine types a run may get: those that it names, in its order, or the cheapest of each
// family that fits its need. With what each of them costs and boots from.
import { diskUsdPerHour } from '#shared/plan/cost.ts';
import { fault, nearestName } from '#shared/plan/fault.ts';
import { MACHINE_TYPES_CHOSEN_MAX } from '#shared/plan/limits.ts';
import { fitFaults, MODELS } from '#shared/plan/machine-fit.ts';
import { MACHINES, machineFacts, refusedMachine } from '#shared/plan/machines/catalogue.ts';
import { LOCAL_SSD_USD_PER_HOUR, type MachineFacts } from '#shared/plan/machines/family.ts';
import type { Fault, GpuNeed, Offers, ProvisioningModel, RunRequest } from '#shared/plan/model.ts';

/** The disk that a machine type of no table boots from: new families take Hyperdisk alone. */
const UNKNOWN_DISK_TYPE = 'hyperdisk-balanced';

export interface ChosenMachine {
  readonly machineType: string;
  /** Null: the type stands in no table. */
  readonly facts: MachineFacts | null;
  /** Models on offer that the request allows, in its order. */
  readonly models: readonly ProvisioningModel[];
  /** Machine, attached GPUs, boot disk and local SSDs, in us-central1. */
  readonly usdPerHour: Readonly<Record<ProvisioningModel, number | null>>;
  /** Where it is on offer with its GPUs; null: not recorded. */
  readonly zones: readonly string[] | null;
}

export interface MachineChoice {
  readonly machines: readonly ChosenMachine[];
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
}

export function chooseMachines(request: RunRequest, offers: Offers = {}): MachineChoice {
  return request.resources.machineTypes.length > 0
    ? namedMachines(request, offers)
    : fittingMachines(request, offers);
}

/** The machine types that a request may get, whether they fit or not. */
export function machineTypesOf(request: RunRequest): readonly string[] {
  return chooseMachines(request).machines.map(({ machineType }) => machineType);
}

function namedMachines(request: RunRequest, offers: Offers): MachineChoice {
  const { machineTypes } = request.resources;
  const faults: Fault[] = [];
  const warnings: string[] = [];
  const machines = machineTypes.map((machineType, index) => {
    const field =
      machineTypes.length === 1 ? 'resources.machineType' : `resources.machineTypes[${index}]`;
    const facts = machineFacts(machineType);
    const refusal = refusedMachine(machineType);
    if (refusal !== null) {
      const accepted = 'another machine type';
      faults.push(fault(field, machineType, { rule: `${machineType} ${refusal}`, accepted }));
    } else if (facts !== null) faults.push(...fitFaults(facts, request, field));
    else warnings.push(notKnown(machineType));
    return chosen(machineType, facts, request, offers);
  });
  const distinct = new Map(faults.map((found) => [found.field + found.rule, found]));
  return { machines, faults: [...distinct.values()], warnings };
}

function notKnown(machineType: string): string {
  const names = MACHINES.map((facts) => facts.machineType);
  const near = nearestName(machineType, names);
  const hint = near === null ? '' : `; did you mean ${near}`;
  return `${machineType} stands in no table here: it is not checked and has no price${hint}`;
}

/** The cheapest machine of each family that fits, so that a stock-out of one is not the end. */
function fittingMachines(request: RunRequest, offers: Offers): MachineChoice {
  const cheapest = new Map<string, { facts: MachineFacts; usd: number }>();
  for (const facts of MACHINES) {
    if (!fitsNeed(facts, request)) continue;
    const usd = lowestPrice(facts, request);
    const known = cheapest.get(facts.family);
    if (known === undefined || usd < known.usd) cheapest.set(facts.family, { facts, usd });
  }
  const machines = [...cheapest.values()]
    .sort((a, b) => a.usd - b.usd)
    .slice(0, MACHINE_TYPES_CHOSEN_MAX)
    .map(({ facts }) => chosen(facts.machineType, facts, request, offers));
  const faults = machines.length > 0 ? [] : [nothingFits(request)];
  return { machines, faults, warnings: [] };
}

const NOTHING_FITS = {
  rule: 'no machine in the catalogue has all that is asked for, as it is provisioned',
  accepted: 'less of it, spot for machines that are never sold on demand, or a named machineType',
};

/** A number of GPUs that no machine has is said as such. */
function nothingFits({ resources }: RunRequest): Fault {
  const { gpu } = resources;
  const counts = MACHINES.flatMap((facts) =>
    gpu !== null && facts.gpu?.type === gpu.type ? [facts.gpu.count] : [],
  );
  if (gpu === null || counts.length === 0 || counts.includes(gpu.count)) {
    return fault('resources', resources, NOTHING_FITS);
  }
  const accepted = [...new Set(counts)].sort((a, b) => a - b).join(', ');
  const rule = `no machine has that many GPUs of type ${gpu.type}`;
  return fault('resources.gpu.count', gpu.count, { rule, accepted });
}

function fitsNeed(facts: MachineFacts, request: RunRequest): boolean {
  const { resources } = request;
  if (facts.cpus < resources.cpus || facts.memoryGiB < resources.memoryGiB) return false;
  if (facts.architecture !== resources.architecture) return false;
  if (!hasGpu(facts, resources.gpu)) return false;
  return fitFaults(facts, request, '').length === 0;
}

/** Exactly the GPUs asked for, and none when none are; counts that are attached come later. */
function hasGpu(facts: MachineFacts, gpu: GpuNeed | null): boolean {
  if (gpu === null) return facts.gpu === null;
  if (facts.gpu !== null) return facts.gpu.type === gpu.type && facts.gpu.count === gpu.count;
  return facts.attachableGpus.some(({ type }) => type === gpu.type);
}

function lowestPrice(facts: MachineFacts, request: RunRequest): number {
  const prices = MODELS[request.provisioning].map((model) => facts.usdPerHour[model]);
  return Math.min(...prices.map((usd) => usd ?? Number.POSITIVE_INFINITY));
}

function chosen(
  machineType: string,
  facts: MachineFacts | null,
  request: RunRequest,
  offers: Offers,
): ChosenMachine {
  const { gpu } = request.resources;
  const attached =
    gpu === null ? undefined : facts?.attachableGpus.find(({ type }) => type === gpu.type);
  const models = MODELS[request.provisioning];
  const price = (model: ProvisioningModel) => {
    const machine = facts?.usdPerHour[model] ?? null;
    const gpus = attached === undefined ? 0 : attached.usdPerHour[model];
    if (machine === null || gpus === null) return null;
    return machine + gpus * (gpu?.count ?? 0) + disksUsdPerHour(facts, request);
  };
  return {
    machineType,
    facts,
    models:
      facts === null ? models : models.filter((model) => facts.provisioningModels.includes(model)),
    usdPerHour: { STANDARD: price('STANDARD'), SPOT: price('SPOT') },
    zones: zonesWithBoth(offers[machineType] ?? facts?.zones ?? null, attached?.zones ?? null),
  };
}

/** Where both the machine and the GPUs that are attached to it are on offer. */
function zonesWithBoth(
  machine: readonly string[] | null,
  gpus: readonly string[] | null,
): readonly string[] | null {
  if (machine === null || gpus === null) return machine ?? gpus;
  return gpus.filter((zone) => machine.includes(zone));
}

function disksUsdPerHour(facts: MachineFacts | null, { resources }: RunRequest): number {
  const ssds = facts !== null && facts.localSsd.bundled > 0 ? 0 : resources.localSsdCount;
  const disk = diskUsdPerHour(bootDiskType(facts, resources.diskType), resources.bootDiskGiB);
  return disk + ssds * LOCAL_SSD_USD_PER_HOUR;
}

/** The boot disk's type: the one that is asked for, else the family's first. */
export function bootDiskType(facts: MachineFacts | null, asked: string | null): string {
  return asked ?? facts?.diskTypes[0] ?? UNKNOWN_DISK_TYPE;
}
