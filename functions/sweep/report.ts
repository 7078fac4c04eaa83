// What a pass of the sweep did, or would do: returned to the caller, and logged as one line. Counts are
// whole; lists are bounded, because a log entry and a reply are.
import { LOOKS_PER_SECOND, type LookCounts } from '#functions/sweep/looks.ts';
import type { UndeletedMachine } from '#shared/lifecycle/undeleted.ts';

/** Entries of each list; the counts beside them tell how many there were. */
export const NOTES_MAX = 100;

export interface SweepReport {
  readonly at: string;
  readonly dryRun: boolean;
  readonly deployment: string;
  /**
   * Active runs: looked at, ended, not decided this time, and left to a later pass because their only
   * machine is healthy and there are very many of them.
   */
  runs: { seen: number; ended: number; unknown: number; left: number };
  /** Messages to submit that something is due; what is beyond the rate is left to the next pass. */
  looks: LookCounts;
  machines: Counts & { foreign: number; strays: number; leaks: number; undeleted: number };
  disks: Counts & { leaks: number };
  /** Of Cloud Run Jobs, running ones. */
  executions: Counts & { strays: number };
  /** Machines without a record; beyond the limit of one pass they are kept, for somebody to look at. */
  strays: Note[];
  /** What should be gone for long, or will not go, and bills. */
  leaks: Leak[];
  /** Machines whose delete was refused in this pass, in words; the next one sends it again. */
  undeleted: (UndeletedMachine & { readonly lines: readonly string[] })[];
  /** Regions and Jobs (`region/job`) whose executions could not be listed. */
  unknownJobs: string[];
  /** Zones whose content could not be listed: nothing in them was taken for gone. */
  unknownZones: string[];
  /** True when the pass ran out of time; the next one begins elsewhere. */
  cut: boolean;
}

interface Counts {
  seen: number;
  kept: number;
  reaped: number;
  unknown: number;
}

export interface Note {
  readonly kind: 'machine' | 'disk' | 'execution';
  readonly name: string;
  readonly zone: string;
  /** The machine type, or the disk's type. */
  readonly type: string;
  /** By the built-in prices; null when it is not known. */
  readonly usdPerHour: number | null;
  readonly why: string;
}

export interface Leak extends Note {
  /** The platform's answer to the delete of this pass; null when it was taken. */
  readonly refusal: string | null;
}

export function emptyReport(at: string, dryRun: boolean, deployment: string): SweepReport {
  const none = () => ({ seen: 0, kept: 0, reaped: 0, unknown: 0 });
  return {
    at,
    dryRun,
    deployment,
    runs: { seen: 0, ended: 0, unknown: 0, left: 0 },
    looks: { published: 0, left: 0 },
    machines: { ...none(), foreign: 0, strays: 0, leaks: 0, undeleted: 0 },
    disks: { ...none(), leaks: 0 },
    executions: { ...none(), strays: 0 },
    strays: [],
    leaks: [],
    undeleted: [],
    unknownJobs: [],
    unknownZones: [],
    cut: false,
  };
}

/** Adds to a list while it has room. */
export function keepNote<Item>(list: Item[], item: Item): boolean {
  if (list.length >= NOTES_MAX) return false;
  list.push(item);
  return true;
}

/** The report in one line. */
export function sentence({ runs, looks, machines, disks, executions, cut }: SweepReport): string {
  const left = looks.left === 0 ? '' : `, ${looks.left} left (${LOOKS_PER_SECOND} a second)`;
  return (
    `${runs.seen} runs (${runs.unknown} unknown, ${runs.left} left), ` +
    `${looks.published} looks${left}; machines: ${countsOf(machines)}; ` +
    `disks: ${countsOf(disks)}; executions: ${countsOf(executions)}${cut ? '; out of time' : ''}`
  );
}

const countsOf = ({ kept, reaped, unknown }: Counts) =>
  `${kept} kept, ${reaped} reaped, ${unknown} unknown`;

/** What is said of a leak. */
export function describeLeak({ kind, name, zone, type, usdPerHour, why, refusal }: Leak): string {
  const price =
    usdPerHour === null ? 'at an unknown price' : `${usdPerHour.toFixed(4)} USD an hour`;
  const answer = refusal === null ? 'its delete was taken' : `its delete was refused: ${refusal}`;
  return `${kind} ${name} in ${zone} (${type}, ${price}): ${why}; ${answer}`;
}
