// All machine families by name. A machine type that stands in no table is not wrong, only unknown:
// it passes with a warning, without a price.
import { a2, a2Ultra } from '#shared/plan/machines/a2.ts';
import { a3High, a3Mega, a3SmallHigh, a3Ultra } from '#shared/plan/machines/a3.ts';
import { a4 } from '#shared/plan/machines/a4.ts';
import { c2 } from '#shared/plan/machines/c2.ts';
import { c2d } from '#shared/plan/machines/c2d.ts';
import { c3 } from '#shared/plan/machines/c3.ts';
import { c3d } from '#shared/plan/machines/c3d.ts';
import { c4 } from '#shared/plan/machines/c4.ts';
import { c4a } from '#shared/plan/machines/c4a.ts';
import { e2 } from '#shared/plan/machines/e2.ts';
import {
  type MachineFacts,
  type MachineFamily,
  machineOf,
  NO_SSD,
} from '#shared/plan/machines/family.ts';
import { g2 } from '#shared/plan/machines/g2.ts';
import { g4 } from '#shared/plan/machines/g4.ts';
import { h3 } from '#shared/plan/machines/h3.ts';
import { m1 } from '#shared/plan/machines/m1.ts';
import { m2 } from '#shared/plan/machines/m2.ts';
import { m3 } from '#shared/plan/machines/m3.ts';
import { n1 } from '#shared/plan/machines/n1.ts';
import { n2 } from '#shared/plan/machines/n2.ts';
import { n2d } from '#shared/plan/machines/n2d.ts';
import { n4 } from '#shared/plan/machines/n4.ts';
import { t2a } from '#shared/plan/machines/t2a.ts';
import { t2d } from '#shared/plan/machines/t2d.ts';

export const FAMILIES: readonly MachineFamily[] = [
  e2,
  n1,
  n2,
  n2d,
  n4,
  c2,
  c2d,
  c3,
  c3d,
  c4,
  c4a,
  t2a,
  t2d,
  m1,
  m2,
  m3,
  h3,
  g2,
  g4,
  a2,
  a2Ultra,
  a3SmallHigh,
  a3High,
  a3Mega,
  a3Ultra,
  a4,
];

export const MACHINES: readonly MachineFacts[] = FAMILIES.flatMap(({ machines }) => machines);

const BY_TYPE = new Map(MACHINES.map((facts) => [facts.machineType, facts]));

/** Families of which machines of any size can be made; without a prefix it is N1. */
const CUSTOM = /^(?:(n1|e2|n2|n2d|n4)-)?custom-(\d{1,3})-(\d{3,8})(?:-ext)?$/;

/** What is known of a machine type, or null when it stands in no table. */
export function machineFacts(machineType: string): MachineFacts | null {
  return BY_TYPE.get(machineType) ?? customMachine(machineType);
}

/** A machine of one's own size has its family's facts, but local SSD and price are not told. */
function customMachine(machineType: string): MachineFacts | null {
  const [, name = 'n1', cpus, memoryMiB] = CUSTOM.exec(machineType) ?? [];
  const family = FAMILIES.find((known) => known.name === name);
  if (cpus === undefined || memoryMiB === undefined || family === undefined) return null;
  const size = { machineType, cpus: Number(cpus), memoryGiB: Number(memoryMiB) / 1024, gpu: null };
  return machineOf({ ...family, usdPerHour: { STANDARD: null, SPOT: null } }, size, NO_SSD);
}

/** Machine types that exist, but that no run can be given; with the reason. */
const REFUSED: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^g4-standard-(?:6|12|24)$/, 'has a part of a GPU, for which a vGPU driver would be needed'],
  [/^a4x-/, 'is untested: it is Arm with GPUs, and sold by reservation alone'],
  [/^(?:ct|tpu)[0-9]/, 'is a TPU machine: not yet'],
];

/** Why this machine type is never planned, as the end of a sentence; null when it may be. */
export function refusedMachine(machineType: string): string | null {
  return REFUSED.find(([pattern]) => pattern.test(machineType))?.[1] ?? null;
}
