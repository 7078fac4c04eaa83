// A4: NVIDIA B200, which come with the machine; sold by reservation, Spot or Flex-start, never on
// demand; Hyperdisk alone.
// Prices: Spot, for each card with its share of the machine, secondary sources of 2026-09.
import { bundled, gpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';

export const a4: MachineFamily = gpuFamily({
  name: 'a4',
  gpuType: 'nvidia-b200',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['SPOT'],
  diskTypes: ['hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: null, SPOT: { cpu: 0, gib: 0, gpu: 4.95375, ssd: 0 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type   vCPU    GiB GPUs local SSDs
    ['a4-highgpu-8g',  224,  3968,   8, bundled(32)],
  ],
});
