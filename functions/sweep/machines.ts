// The label's half of the sweep: a listed machine is judged against the record of its run, and what
// should be gone is deleted, in every pass again: a delete is never given up.
import type { ListedMachine } from '#functions/sweep/listing.ts';
import { keepNote, NOTES_MAX, type Note, type SweepReport } from '#functions/sweep/report.ts';
import type { CloudError } from '#shared/cloud/errors.ts';
import { judgeMachine, type Owner } from '#shared/lifecycle/sweep.ts';
import { describeUndeleted } from '#shared/lifecycle/undeleted.ts';
import { machineUsdPerHour } from '#shared/plan/cost.ts';
import { deleteMachine } from '#shared/runs/act.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

/** A machine that should be gone for so many passes is reported as a leak. */
export const LEAK_AFTER_PASSES = 5;

export async function sweepMachine(
  deps: RunDeps,
  machine: ListedMachine,
  owner: Owner,
  report: SweepReport,
): Promise<void> {
  const { sweepPeriodSeconds, reapsPerSweepMax } = deps.settings;
  const nowMs = deps.clock.nowMs();
  report.machines.seen += 1;
  const strayAfterMs = 2 * sweepPeriodSeconds * 1000;
  const verdict = judgeMachine(machine, owner, strayAfterMs, nowMs);
  switch (verdict.kind) {
    case 'foreign':
      report.machines.foreign += 1;
      return;
    case 'kept':
      report.machines.kept += 1;
      return;
    case 'unknown':
      report.machines.unknown += 1;
      if (report.machines.unknown > NOTES_MAX) return;
      deps.log('WARNING', 'machine-unknown', `${machine.name}: ${verdict.why}`);
      return;
    case 'stray':
      report.machines.strays += 1;
      if (report.machines.strays > reapsPerSweepMax) return keepStray(deps, machine, report);
      keepNote(report.strays, noteOf(machine, 'no record'));
      return await reap(deps, machine, 'no record', verdict.sinceMs, report);
    case 'doomed':
      return await reap(deps, machine, verdict.why, verdict.sinceMs, report);
    default:
      verdict satisfies never;
  }
}

function keepStray(deps: RunDeps, machine: ListedMachine, report: SweepReport): void {
  report.machines.kept += 1;
  const { reapsPerSweepMax } = deps.settings;
  if (!keepNote(report.strays, noteOf(machine, 'no record, kept'))) return;
  const why = `without a record, and more than ${reapsPerSweepMax} a pass are not deleted`;
  deps.log('CRITICAL', 'strays-kept', `${machine.name} in ${machine.zone}: ${why}`);
}

async function reap(
  deps: RunDeps,
  machine: ListedMachine,
  why: string,
  sinceMs: number | null,
  report: SweepReport,
): Promise<void> {
  // A delete goes by the name alone: since the list another machine may have taken its place.
  const live = await deps.compute.getInstance(machine.zone, machine.name);
  if (live.kind === 'there' && live.machine.id !== machine.id) {
    report.machines.kept += 1;
    return;
  }
  const reply = await deleteMachine(deps, null, machine.name, machine.zone);
  const error = reply.kind === 'unknown' ? reply.error : null;
  report.machines[error === null ? 'reaped' : 'unknown'] += 1;
  const leakMs = LEAK_AFTER_PASSES * deps.settings.sweepPeriodSeconds * 1000;
  if (sinceMs !== null && deps.clock.nowMs() > sinceMs + leakMs) {
    report.machines.leaks += 1;
    const refusal = error === null ? null : `${error.code} ${error.message}`;
    const still = `${why}, and still ${machine.status}`;
    keepNote(report.leaks, { ...noteOf(machine, still), refusal });
  }
  // One that is on its way out already may refuse a further delete.
  if (error !== null && machine.status !== 'STOPPING') noteUndeleted(deps, machine, error, report);
}

function noteUndeleted(
  deps: RunDeps,
  { name, zone }: ListedMachine,
  { code, message }: CloudError,
  report: SweepReport,
): void {
  report.machines.undeleted += 1;
  const undeleted = { instance: name, zone, project: deps.settings.plan.project, why: code };
  const lines = describeUndeleted(undeleted);
  if (!keepNote(report.undeleted, { ...undeleted, lines })) return;
  deps.log('ERROR', 'machine-undeleted', lines.join('; '), { instance: name, zone, message });
}

function noteOf({ name, zone, machineType, provisioningModel }: ListedMachine, why: string): Note {
  const usdPerHour = machineUsdPerHour(machineType, provisioningModel === 'SPOT');
  return { kind: 'machine', name, zone, type: machineType, usdPerHour, why };
}
