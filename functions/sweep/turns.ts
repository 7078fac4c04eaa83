// Which active runs a pass looks at. A run with one healthy machine within its time needs nothing from
// the sweep but that a lost report is noticed: such runs take turns when there are very many. All others
// are looked at in every pass.
import type { ListedMachine, Machines } from '#functions/sweep/listing.ts';
import { BOOT_ALLOWANCE_MS } from '#shared/lifecycle/limits.ts';
import { runHash } from '#shared/plan/names.ts';

/** Runs with a healthy machine that one pass looks at; with fewer of them it looks at all. */
export const HEALTHY_LOOKED_AT_MAX = 2_000;
/** A boot without a claim is looked at in that many passes before it takes turns. */
const BOOT_PASSES = 3;

export interface Pass {
  readonly nowMs: number;
  readonly periodMs: number;
  readonly healthyMax: number;
}

/**
 * The runs to look at, in the order of this pass. Machines whose run is left to a later pass are marked:
 * nothing speaks against them.
 */
export function takeTurns(runIds: readonly string[], machines: Machines, pass: Pass): string[] {
  const number = Math.floor(pass.nowMs / pass.periodMs);
  const healthy = runIds.map((runId) => {
    const machine = machines.byRun.get(runHash(runId));
    return machine !== undefined && isHealthy(machine, pass) ? machine : null;
  });
  const groups = Math.ceil(healthy.filter((machine) => machine !== null).length / pass.healthyMax);
  const looked = runIds.filter((_, index) => {
    const machine = healthy[index];
    if (!machine || groups < 2) return true;
    if (Number.parseInt(machine.runHash.slice(0, 12), 16) % groups === number % groups) return true;
    machine.turn = 'left';
    return false;
  });
  return rotate(looked, number);
}

/** The run's only machine, running within its time, whose boot is over or has time left. */
function isHealthy(machine: ListedMachine, { nowMs, periodMs }: Pass): boolean {
  const { status, sibling, lastStartMs, deadlineMs } = machine;
  if (status !== 'RUNNING' || sibling !== null || lastStartMs === null) return false;
  if (deadlineMs === null || nowMs >= deadlineMs) return false;
  const lateMs = nowMs - lastStartMs - BOOT_ALLOWANCE_MS;
  return lateMs < 0 || lateMs > BOOT_PASSES * periodMs;
}

/** Each pass starts elsewhere, so that one that runs out of time does not starve the same runs. */
function rotate(runIds: readonly string[], number: number): string[] {
  if (runIds.length === 0) return [];
  const start = (number * 7919) % runIds.length;
  return [...runIds.slice(start), ...runIds.slice(0, start)];
}
