// G4: NVIDIA RTX PRO 6000, which come with the machine; Hyperdisk alone. The machines with a part of
// a card (6, 12 and 24 vCPU) need a vGPU driver and are refused by the catalogue.
// Prices: for each card with its share of the machine, us-central1, secondary sources of 2026-09.
import { gpuFamily, type MachineFamily } from '#shared/plan/machines/family.ts';

export const g4: MachineFamily = gpuFamily({
  name: 'g4',
  gpuType: 'nvidia-rtx-pro-6000',
  architecture: 'amd64',
  hostMaintenance: 'TERMINATE',
  provisioningModels: ['STANDARD', 'SPOT'],
  diskTypes: ['hyperdisk-balanced'],
  zones: null,
  usdPerHour: { STANDARD: { cpu: 0, gib: 0, gpu: 4.5 }, SPOT: { cpu: 0, gib: 0, gpu: 1.77 } },
  // biome-ignore format: a table reads better in columns
  shapes: [
    // machine type     vCPU    GiB GPUs local SSDs
    ['g4-standard-48',    48,   180,   1, [4]],
    ['g4-standard-96',    96,   360,   2, [8]],
    ['g4-standard-192',  192,   720,   4, [16]],
    ['g4-standard-384',  384,  1440,   8, [32]],
  ],
});
