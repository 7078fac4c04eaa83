// What happens to a machine when its host is maintained (Compute Engine's page on host maintenance):
// machines with GPUs, Spot machines and bare metal are ended; E2 on demand refuses to be.
import type { MachineFacts } from '#shared/plan/machines/family.ts';
import type { GpuNeed, ProvisioningModel } from '#shared/plan/model.ts';

/** The scheduling field; absent for a machine type of no table, where the server's default stands. */
export function hostMaintenance(
  machineType: string,
  facts: MachineFacts | null,
  gpu: GpuNeed | null,
  model: ProvisioningModel,
): { readonly onHostMaintenance?: 'MIGRATE' | 'TERMINATE' } {
  const ended = model === 'SPOT' || gpu !== null || machineType.endsWith('-metal');
  if (ended) return { onHostMaintenance: 'TERMINATE' };
  return facts === null ? {} : { onHostMaintenance: facts.hostMaintenance };
}
