// Names of GPUs: the short ones of requests, and Google's accelerator types.
import type { Broken } from '#shared/plan/fault.ts';

const ACCELERATORS = new Map([
  ['T4', 'nvidia-tesla-t4'],
  ['P4', 'nvidia-tesla-p4'],
  ['V100', 'nvidia-tesla-v100'],
  ['L4', 'nvidia-l4'],
  ['A100', 'nvidia-tesla-a100'],
  ['A100_80GB', 'nvidia-a100-80gb'],
  ['H100', 'nvidia-h100-80gb'],
  ['H100_MEGA', 'nvidia-h100-mega-80gb'],
  ['H200', 'nvidia-h200-141gb'],
  ['B200', 'nvidia-b200'],
  ['RTX_PRO_6000', 'nvidia-rtx-pro-6000'],
]);

export const GPU_NAMES = [...ACCELERATORS.keys()];

/** Google's types, and other names of its for the same cards. */
const FULL_NAMES = new Map([
  ...[...ACCELERATORS.values()].map((type) => [type, type] as const),
  ['nvidia-a100-40gb', 'nvidia-tesla-a100'],
]);

export type GpuName =
  | { readonly kind: 'known'; readonly type: string }
  | ({ readonly kind: 'unknown' } & Broken);

/** Google's accelerator type for a short or full name in any case. */
export function acceleratorType(name: string): GpuName {
  const short = name.toUpperCase().replaceAll('-', '_');
  const full = name.toLowerCase();
  const type = ACCELERATORS.get(short) ?? FULL_NAMES.get(full);
  if (type !== undefined) return { kind: 'known', type };
  const accepted = GPU_NAMES.join(', ');
  if (short === 'P100' || full === 'nvidia-tesla-p100') {
    return { kind: 'unknown', rule: 'the P100 was shut down on 2026-09-15', accepted };
  }
  return { kind: 'unknown', rule: 'no GPU of this name is known', accepted };
}

/** The short name of an accelerator type, for messages. */
export const gpuName = (type: string) =>
  GPU_NAMES.find((name) => ACCELERATORS.get(name) === type) ?? type;
