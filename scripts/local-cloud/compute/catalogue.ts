// The world's own table of places and machine types: small, and kept apart from the product's
// catalogue, so that one does not vouch for the other.

export interface MachineTypeSpec {
  readonly guestCpus: number;
  readonly memoryMb: number;
  readonly architecture?: 'X86_64' | 'ARM64';
  /** GPUs that come with the type. */
  readonly accelerator?: { readonly type: string; readonly count: number };
}

const ZONE_LETTERS: Readonly<Record<string, string>> = {
  'us-central1': 'abcf',
  'us-east1': 'bcd',
  'us-east4': 'abc',
  'us-west1': 'abc',
  'us-west4': 'abc',
  'europe-west1': 'bcd',
  'europe-west2': 'abc',
  'europe-west3': 'abc',
  'europe-west4': 'abc',
  'europe-north1': 'abc',
  'asia-east1': 'abc',
  'asia-northeast1': 'abc',
  'asia-southeast1': 'abc',
};

function allZones(): Record<string, { readonly machineTypes?: readonly string[] }> {
  const zones: Record<string, { readonly machineTypes?: readonly string[] }> = {};
  for (const [region, letters] of Object.entries(ZONE_LETTERS)) {
    for (const letter of letters) {
      zones[`${region}-${letter}`] = {};
    }
  }
  return zones;
}

export const DEFAULT_ZONES = allZones();

/** Family-class → [MiB a vCPU, vCPU counts]. */
const SHAPES: Readonly<Record<string, readonly [number, readonly number[]]>> = {
  'e2-standard': [4096, [2, 4, 8, 16, 32]],
  'e2-highmem': [8192, [2, 4, 8, 16]],
  'e2-highcpu': [1024, [2, 4, 8, 16, 32]],
  'n1-standard': [3840, [1, 2, 4, 8, 16, 32, 64, 96]],
  'n1-highmem': [6656, [2, 4, 8, 16, 32, 64, 96]],
  'n2-standard': [4096, [2, 4, 8, 16, 32, 48, 64, 80, 96, 128]],
  'n2-highmem': [8192, [2, 4, 8, 16, 32, 48, 64, 80, 96, 128]],
  'n2-highcpu': [1024, [2, 4, 8, 16, 32, 48, 64, 80, 96]],
  'n2d-standard': [4096, [2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224]],
  'n2d-highmem': [8192, [2, 4, 8, 16, 32, 48, 64, 80, 96]],
  'n4-standard': [4096, [2, 4, 8, 16, 32, 48, 64, 80]],
  'c2-standard': [4096, [4, 8, 16, 30, 60]],
  'c2d-standard': [4096, [2, 4, 8, 16, 32, 56, 112]],
  'c3-standard': [4096, [4, 8, 22, 44, 88, 176]],
  'c3d-standard': [4096, [4, 8, 16, 30, 60, 90, 180, 360]],
  'c4-standard': [3840, [2, 4, 8, 16, 32, 48, 96, 192]],
  'c4a-standard': [4096, [1, 2, 4, 8, 16, 32, 48, 64, 72]],
  't2a-standard': [4096, [1, 2, 4, 8, 16, 32, 48]],
  't2d-standard': [4096, [1, 2, 4, 8, 16, 32, 48, 60]],
};

const ACCELERATED: Readonly<Record<string, readonly [number, number, string, number]>> = {
  'g2-standard-4': [4, 16, 'nvidia-l4', 1],
  'g2-standard-8': [8, 32, 'nvidia-l4', 1],
  'g2-standard-12': [12, 48, 'nvidia-l4', 1],
  'g2-standard-16': [16, 64, 'nvidia-l4', 1],
  'g2-standard-24': [24, 96, 'nvidia-l4', 2],
  'g2-standard-32': [32, 128, 'nvidia-l4', 1],
  'g2-standard-48': [48, 192, 'nvidia-l4', 4],
  'g2-standard-96': [96, 384, 'nvidia-l4', 8],
  'g4-standard-48': [48, 180, 'nvidia-rtx-pro-6000', 1],
  'a2-highgpu-1g': [12, 85, 'nvidia-tesla-a100', 1],
  'a2-highgpu-2g': [24, 170, 'nvidia-tesla-a100', 2],
  'a2-highgpu-4g': [48, 340, 'nvidia-tesla-a100', 4],
  'a2-highgpu-8g': [96, 680, 'nvidia-tesla-a100', 8],
  'a2-ultragpu-1g': [12, 170, 'nvidia-a100-80gb', 1],
  'a3-highgpu-1g': [26, 234, 'nvidia-h100-80gb', 1],
  'a3-highgpu-8g': [208, 1872, 'nvidia-h100-80gb', 8],
};

function allMachineTypes(): Record<string, MachineTypeSpec> {
  const types: Record<string, MachineTypeSpec> = {};
  for (const [shape, [mebibytes, counts]] of Object.entries(SHAPES)) {
    const arm = shape.startsWith('t2a') || shape.startsWith('c4a');
    for (const guestCpus of counts) {
      types[`${shape}-${guestCpus}`] = {
        guestCpus,
        memoryMb: guestCpus * mebibytes,
        architecture: arm ? 'ARM64' : 'X86_64',
      };
    }
  }
  for (const [name, [guestCpus, gibibytes, type, count]] of Object.entries(ACCELERATED)) {
    types[name] = { guestCpus, memoryMb: gibibytes * 1024, accelerator: { type, count } };
  }
  return types;
}

export const DEFAULT_MACHINE_TYPES = allMachineTypes();

export const regionOf = (zone: string) => zone.slice(0, zone.lastIndexOf('-'));
