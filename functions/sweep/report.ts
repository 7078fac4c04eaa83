// What a pass of the sweep did, or would do: returned to the caller, and logged as one line.
import type { UndeletedMachine } from '#shared/lifecycle/undeleted.ts';

export interface SweepReport {
  readonly at: string;
  readonly dryRun: boolean;
  readonly deployment: string;
  /** Active runs looked at, and those that could not be decided this time. */
  runs: { seen: number; ended: number; unknown: number; looks: number };
  machines: { seen: number; kept: number; reaped: number; unknown: number; foreign: number };
  disks: { seen: number; kept: number; reaped: number; unknown: number };
  /** Machines without a record beyond the limit of one pass: kept, for somebody to look at. */
  strays: MachineNote[];
  /** Machines that should be gone for long and are not: they bill. */
  leaks: MachineNote[];
  /** Machines whose delete was refused in this pass, in words; the next one sends it again. */
  undeleted: (UndeletedMachine & { readonly lines: readonly string[] })[];
  /** Zones whose content could not be listed: nothing in them was taken for gone. */
  unknownZones: string[];
  /** True when the pass ran out of time; the next one begins elsewhere. */
  cut: boolean;
}

export interface MachineNote {
  readonly name: string;
  readonly zone: string;
  readonly machineType: string;
  readonly usdPerHour: number | null;
  readonly why: string;
}

export function emptyReport(at: string, dryRun: boolean, deployment: string): SweepReport {
  return {
    at,
    dryRun,
    deployment,
    runs: { seen: 0, ended: 0, unknown: 0, looks: 0 },
    machines: { seen: 0, kept: 0, reaped: 0, unknown: 0, foreign: 0 },
    disks: { seen: 0, kept: 0, reaped: 0, unknown: 0 },
    strays: [],
    leaks: [],
    undeleted: [],
    unknownZones: [],
    cut: false,
  };
}
