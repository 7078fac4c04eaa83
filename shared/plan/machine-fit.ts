// Whether one machine type can be what a request asks for, by the catalogue: architecture, GPU, boot
// disk, local SSD, provisioning. Every refusal names what would fit.
import { fault } from '#shared/plan/fault.ts';
import { gpuName } from '#shared/plan/gpu-types.ts';
import { MACHINES } from '#shared/plan/machines/catalogue.ts';
import type { AttachableGpu, MachineFacts } from '#shared/plan/machines/family.ts';
import type {
  Fault,
  GpuNeed,
  Provisioning,
  ProvisioningModel,
  RunRequest,
} from '#shared/plan/model.ts';

/** The models that a request's provisioning allows, in the order of trying. */
export const MODELS: Readonly<Record<Provisioning, readonly ProvisioningModel[]>> = {
  standard: ['STANDARD'],
  spot: ['SPOT'],
  'spot-then-standard': ['SPOT', 'STANDARD'],
};

/** What stands against this machine for this request; empty when it fits. */
export function fitFaults(facts: MachineFacts, request: RunRequest, field: string): Fault[] {
  const { resources } = request;
  const found: Fault[] = [];
  if (facts.architecture !== resources.architecture) {
    const rule = `${facts.machineType} is ${facts.architecture}, and the run asks for ${resources.architecture}`;
    const accepted = `"architecture": "${facts.architecture}" with an image for it, or another machine type`;
    found.push(fault(field, facts.machineType, { rule, accepted }));
  }
  const { diskType } = resources;
  if (diskType !== null && !facts.diskTypes.includes(diskType)) {
    const rule = `${facts.machineType} does not boot from ${diskType}`;
    found.push(
      fault('resources.diskType', diskType, { rule, accepted: facts.diskTypes.join(', ') }),
    );
  }
  found.push(...gpuFaults(facts, resources.gpu), ...localSsdFaults(facts, resources.localSsdCount));
  if (!MODELS[request.provisioning].some((model) => facts.provisioningModels.includes(model))) {
    found.push(fault('provisioning', request.provisioning, notOnOffer(facts)));
  }
  return found;
}

function notOnOffer({ machineType, provisioningModels }: MachineFacts) {
  return provisioningModels.includes('SPOT')
    ? {
        rule: `${machineType} is sold as Spot, Flex-start or by reservation only, never on demand`,
        accepted: 'spot',
      }
    : { rule: `${machineType} is not sold as Spot`, accepted: 'standard' };
}

function localSsdFaults({ machineType, localSsd }: MachineFacts, count: number): Fault[] {
  if (count === 0 || count === localSsd.bundled || localSsd.counts.includes(count)) return [];
  const legal = localSsd.bundled > 0 ? [localSsd.bundled] : [0, ...localSsd.counts];
  const rule = `${machineType} does not take ${count} local SSDs`;
  return [fault('resources.localSsdCount', count, { rule, accepted: legal.join(', ') })];
}

function gpuFaults(facts: MachineFacts, gpu: GpuNeed | null): Fault[] {
  if (gpu === null) return [];
  if (facts.gpu !== null) return bundledFaults(facts, facts.gpu, gpu);
  const attachable = facts.attachableGpus.find(({ type }) => type === gpu.type);
  if (attachable !== undefined) return attachedFaults(facts, attachable, gpu);
  const rule = `${facts.machineType} takes no ${gpuName(gpu.type)}`;
  return [fault('resources.gpu.type', gpu.type, { rule, accepted: machinesWith(gpu) })];
}

function bundledFaults({ machineType }: MachineFacts, own: GpuNeed, gpu: GpuNeed): Fault[] {
  if (own.type !== gpu.type) {
    const rule = `${machineType} comes with ${gpuName(own.type)}`;
    const accepted = `${gpuName(own.type)}, or a machine with ${gpuName(gpu.type)}: ${machinesWith(gpu)}`;
    return [fault('resources.gpu.type', gpu.type, { rule, accepted })];
  }
  if (own.count === gpu.count) return [];
  const rule = `${machineType} has exactly ${own.count} ${gpuName(own.type)}`;
  const accepted = `${own.count}, or a machine with ${gpu.count}: ${machinesWith(gpu)}`;
  return [fault('resources.gpu.count', gpu.count, { rule, accepted })];
}

function attachedFaults(facts: MachineFacts, attachable: AttachableGpu, gpu: GpuNeed): Fault[] {
  const limit = attachable.limits.find(({ count }) => count === gpu.count);
  if (limit === undefined) {
    const rule = `${gpuName(gpu.type)} are attached in certain counts`;
    const accepted = attachable.limits.map(({ count }) => count).join(', ');
    return [fault('resources.gpu.count', gpu.count, { rule, accepted })];
  }
  if (facts.cpus <= limit.cpusMax && facts.memoryGiB <= limit.memoryGiBMax) return [];
  const rule = `${facts.machineType} is too large for ${gpu.count} ${gpuName(gpu.type)}`;
  const accepted = `at most ${limit.cpusMax} vCPU and ${limit.memoryGiBMax} GiB, or more GPUs`;
  return [fault('resources.gpu.count', gpu.count, { rule, accepted })];
}

/** Machine types with exactly these GPUs, smallest first; without them, the type's own counts. */
function machinesWith(gpu: GpuNeed): string {
  const ofType = MACHINES.filter(({ gpu: own }) => own?.type === gpu.type);
  const exact = ofType.filter(({ gpu: own }) => own?.count === gpu.count);
  const named = (exact.length > 0 ? exact : ofType).map(({ machineType }) => machineType);
  if (named.length > 0) return named.slice(0, 6).join(', ');
  return 'n1-standard-4 and other N1 machines';
}
