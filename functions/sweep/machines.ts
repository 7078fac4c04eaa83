// The label's half of the sweep: every listed machine is judged against the record of its run, and what
// should be gone is deleted, in every pass again.
import { eachBounded } from '#functions/sweep/each-bounded.ts';
import type { Listing } from '#functions/sweep/listing.ts';
import type { MachineNote, SweepReport } from '#functions/sweep/report.ts';
import type { Machine } from '#shared/cloud/compute.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import { readMarker } from '#shared/lifecycle/marker.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { judgeMachine, labelDeadlineMs, type Owner } from '#shared/lifecycle/sweep.ts';
import { describeUndeleted } from '#shared/lifecycle/undeleted.ts';
import { machineUsdPerHour } from '#shared/plan/cost.ts';
import { instanceName } from '#shared/plan/names.ts';
import { markerObject } from '#shared/plan/objects.ts';
import { deleteMachine } from '#shared/runs/act.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

const MACHINES_AT_ONCE = 16;
/** A machine that should be gone for this long is reported as a leak. */
export const LEAK_AFTER_MS = 15 * 60_000;

export interface MachineSweep {
  /** By instance name: the records that this pass has read already. */
  readonly records: Map<string, RunRecord>;
  /** The active runs by the hash in their machines' labels. */
  readonly active: ReadonlyMap<string, string>;
  readonly report: SweepReport;
  readonly only: 'past-deadline' | 'others';
}

export async function sweepMachines(
  deps: RunDeps,
  machines: Listing<Machine>,
  sweep: MachineSweep,
): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const isLate = (machine: Machine) =>
    nowMs > (labelDeadlineMs(machine.labels) ?? Number.POSITIVE_INFINITY) + SLACK_MS;
  const wanted = machines.items.filter((one) => isLate(one) === (sweep.only === 'past-deadline'));
  await eachBounded(wanted, MACHINES_AT_ONCE, (machine) => sweepMachine(deps, machine, sweep));
}

async function sweepMachine(deps: RunDeps, machine: Machine, sweep: MachineSweep): Promise<void> {
  const { report } = sweep;
  const { plan, sweepPeriodSeconds, reapsPerSweepMax } = deps.settings;
  const nowMs = deps.clock.nowMs();
  report.machines.seen += 1;
  const owner = await ownerOf(deps, machine, sweep);
  const strayAfterMs = 2 * sweepPeriodSeconds * 1000;
  const verdict = judgeMachine(machine, owner, plan.deployment, strayAfterMs, nowMs);
  switch (verdict.kind) {
    case 'foreign':
      report.machines.foreign += 1;
      return;
    case 'kept':
      report.machines.kept += 1;
      return;
    case 'unknown':
      report.machines.unknown += 1;
      deps.log('WARNING', 'machine-unknown', `${machine.name}: ${verdict.why}`);
      return;
    case 'stray':
      report.strays.push(note(machine, 'no record'));
      if (report.strays.length > reapsPerSweepMax) {
        report.machines.kept += 1;
        deps.log(
          'CRITICAL',
          'strays-kept',
          `${machine.name}: more than ${reapsPerSweepMax} a pass`,
        );
        return;
      }
      return await reap(deps, machine, 'no record', report);
    case 'doomed':
      return await reap(deps, machine, verdict.why, report);
    default:
      verdict satisfies never;
  }
}

async function reap(
  deps: RunDeps,
  machine: Machine,
  why: string,
  report: SweepReport,
): Promise<void> {
  const deadlineMs = labelDeadlineMs(machine.labels);
  if (deadlineMs !== null && deps.clock.nowMs() > deadlineMs + SLACK_MS + LEAK_AFTER_MS) {
    report.leaks.push(note(machine, `${why}, and still ${machine.status}`));
  }
  const reply = await deleteMachine(deps, null, machine.name, machine.zone);
  report.machines[reply.kind === 'unknown' ? 'unknown' : 'reaped'] += 1;
  // One that is on its way out already may refuse a further delete.
  if (reply.kind !== 'unknown' || machine.status === 'STOPPING') return;
  noteUndeleted(deps, machine, reply.error, report);
}

function noteUndeleted(
  deps: RunDeps,
  { name, zone }: Machine,
  { code, message }: CloudError,
  report: SweepReport,
): void {
  const { project } = deps.settings.plan;
  const undeleted = { instance: name, zone, project, why: code };
  const lines = describeUndeleted(undeleted);
  report.undeleted.push({ ...undeleted, lines });
  deps.log('ERROR', 'machine-undeleted', lines.join('; '), { instance: name, zone, message });
}

function note(machine: Machine, why: string): MachineNote {
  const { name, zone, machineType } = machine;
  const spot = machine.provisioningModel === 'SPOT';
  return { name, zone, machineType, usdPerHour: machineUsdPerHour(machineType, spot), why };
}

/**
 * The run that a machine belongs to: an active one by the label's hash, else the one that the marker of
 * its name tells. A missing marker alone says nothing: it is written after the record, and may be lost.
 */
async function ownerOf(
  deps: RunDeps,
  machine: Machine,
  { records, active }: MachineSweep,
): Promise<Owner> {
  const known = records.get(machine.name);
  if (known !== undefined) return { kind: 'record', record: known };
  try {
    const activeId = active.get(machine.labels['run-hash'] ?? '');
    if (activeId !== undefined) {
      const live = await loadRecord(deps.store, activeId);
      return live === null ? { kind: 'none' } : { kind: 'record', record: live.record };
    }
    const reply = await deps.store.read(markerObject(machine.name));
    if (reply.kind === 'absent') return { kind: 'none' };
    const reading = readMarker(reply.bytes);
    if (reading.kind === 'unreadable') return { kind: 'unknown' };
    const { runId, attempt } = reading.marker;
    const { deployment } = deps.settings.plan;
    if (instanceName(deployment, runId, attempt) !== machine.name) return { kind: 'unknown' };
    const loaded = await loadRecord(deps.store, runId);
    return loaded === null ? { kind: 'none' } : { kind: 'record', record: loaded.record };
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown' };
    throw error;
  }
}
