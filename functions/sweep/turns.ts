// Which active runs a pass looks at. A run with one healthy machine within its time needs nothing from
// the sweep but that a lost report is noticed: such runs take turns when there are very many. All others
// are looked at in every pass.
import type { ListedMachine, Machines } from '#functions/sweep/listing.ts';
import { BOOT_ALLOWANCE_MS } from '#shared/lifecycle/limits.ts';
import { labelDeadlineMs } from '#shared/lifecycle/sweep.ts';
import { runHash } from '#shared/plan/names.ts';

/** Runs with a healthy machine that one pass looks at; with fewer of them it looks at all. */
export const HEALTHY_LOOKED_AT_MAX = 1_000;
/** A boot without a claim is looked at in that many passes before it takes turns. */
const BOOT_PASSES = 3;

export interface Turns {
  /** In the order of this pass. */
  readonly looked: readonly string[];
  /** Hashes of the runs that are left to a later pass: nothing speaks against their machine. */
  readonly left: ReadonlySet<string>;
}

export interface Pass {
  readonly nowMs: number;
  readonly periodMs: number;
  readonly healthyMax: number;
}

export function takeTurns(runIds: readonly string[], machines: Machines, pass: Pass): Turns {
  const number = Math.floor(pass.nowMs / pass.periodMs);
  const runs = runIds.map((runId) => ({ runId, hash: runHash(runId) }));
  const healthy = runs.filter(({ hash }) => isHealthy(machines.byRun.get(hash), pass)).length;
  const groups = Math.ceil(healthy / pass.healthyMax);
  const left = new Set<string>();
  const looked: string[] = [];
  for (const { runId, hash } of runs) {
    const turn = groups < 2 || Number.parseInt(hash.slice(0, 12), 16) % groups === number % groups;
    if (turn || !isHealthy(machines.byRun.get(hash), pass)) looked.push(runId);
    else left.add(hash);
  }
  return { looked: rotate(looked, number), left };
}

/** One machine, running within its time, whose boot is over or has time left. */
function isHealthy(
  machines: readonly ListedMachine[] | undefined,
  { nowMs, periodMs }: Pass,
): boolean {
  const [machine, second] = machines ?? [];
  if (machine?.status !== 'RUNNING' || second !== undefined) return false;
  const { lastStartMs, labels } = machine;
  if (lastStartMs === null || nowMs >= (labelDeadlineMs(labels) ?? 0)) return false;
  const lateMs = nowMs - lastStartMs - BOOT_ALLOWANCE_MS;
  return lateMs < 0 || lateMs > BOOT_PASSES * periodMs;
}

/** Each pass starts elsewhere, so that one that runs out of time does not starve the same runs. */
function rotate(runIds: readonly string[], number: number): string[] {
  if (runIds.length === 0) return [];
  const start = (number * 7919) % runIds.length;
  return [...runIds.slice(start), ...runIds.slice(0, start)];
}
