// sweep: one pass over everything that carries our label and everything that is recorded as active.
// Machines are listed first, records read second, what is absent asked for third, markers read last.
// Every act is idempotent, so that overlapping passes are harmless.
import { sweepDisk } from '#functions/sweep/disks.ts';
import { dryRunDeps } from '#functions/sweep/dry-run.ts';
import { eachBounded } from '#functions/sweep/each-bounded.ts';
import { sweepExecutions } from '#functions/sweep/executions.ts';
import {
  type ListedMachine,
  listActive,
  listDisks,
  listMachines,
  type Machines,
  machinesOf,
} from '#functions/sweep/listing.ts';
import { looksPerPass, pacedPublisher } from '#functions/sweep/looks.ts';
import { sweepMachine } from '#functions/sweep/machines.ts';
import { ownerByMarker } from '#functions/sweep/owners.ts';
import { describeLeak, emptyReport, type SweepReport, sentence } from '#functions/sweep/report.ts';
import { HEALTHY_LOOKED_AT_MAX, takeTurns } from '#functions/sweep/turns.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import type { MachineFact } from '#shared/lifecycle/observation.ts';
import { machineKey } from '#shared/lifecycle/observation.ts';
import { currentAttempt, type RunRecord } from '#shared/lifecycle/record.ts';
import type { Owner } from '#shared/lifecycle/sweep.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { publishLook } from '#shared/runs/act.ts';
import { advance } from '#shared/runs/advance.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

/** Below Cloud Scheduler's longest attempt deadline of 30 minutes. */
export const PASS_BUDGET_MS = 20 * 60_000;
const AT_ONCE = 16;

interface Pass {
  readonly deps: RunDeps;
  readonly machines: Machines;
  readonly report: SweepReport;
  readonly endsMs: number;
}

/** One pass. Throws a CloudError when machines or active runs cannot be listed at all. */
export async function handleSweep(
  request: { readonly dryRun: boolean },
  realDeps: RunDeps,
): Promise<SweepReport> {
  const { clock, settings } = realDeps;
  const startedMs = clock.nowMs();
  const { deployment } = settings.plan;
  const report = emptyReport(new Date(startedMs).toISOString(), request.dryRun, deployment);
  const deps = request.dryRun ? dryRunDeps(realDeps, report) : paced(realDeps, report);
  const machines = await listMachines(deps.compute, deployment);
  report.unknownZones = [...machines.unknownZones].sort();
  const endsMs = startedMs + PASS_BUDGET_MS;
  const pass: Pass = { deps, machines, report, endsMs };
  const runIds = takeTurns(await listActive(deps.store), machines, {
    nowMs: startedMs,
    periodMs: settings.sweepPeriodSeconds * 1000,
    healthyMax: HEALTHY_LOOKED_AT_MAX,
  });
  await sweepLate(pass);
  await eachBounded(runIds, AT_ONCE, (runId) => sweepRun(pass, runId));
  await sweepOthers(pass);
  await sweepExecutions(deps, report);
  for await (const page of listDisks(deps.compute, deployment)) {
    await eachBounded(page.items, AT_ONCE, (disk) => sweepDisk(deps, disk, report));
  }
  realDeps.log('NOTICE', 'sweep-done', sentence(report), { report });
  for (const leak of report.leaks) {
    realDeps.log('CRITICAL', 'leak-found', describeLeak(leak), { leak });
  }
  return report;
}

function paced(deps: RunDeps, report: SweepReport): RunDeps {
  const looksMax = looksPerPass(deps.settings.sweepPeriodSeconds);
  const publisher = pacedPublisher(deps.publisher, deps.clock, report.looks, looksMax);
  return { ...deps, publisher };
}

/** Past its deadline label a machine goes whatever its record says, and before all else. */
async function sweepLate(pass: Pass): Promise<void> {
  const nowMs = pass.deps.clock.nowMs();
  const late = pass.machines.all.filter(({ deadlineMs }) => {
    return deadlineMs !== null && nowMs > deadlineMs + SLACK_MS;
  });
  await eachBounded(late, AT_ONCE, (machine) => judge(pass, machine, { kind: 'unknown' }));
}

async function judge(pass: Pass, machine: ListedMachine, owner: Owner): Promise<void> {
  if (machine.turn === 'done') return;
  machine.turn = 'done';
  await sweepMachine(pass.deps, machine, owner, pass.report);
}

/** A run, then its machines by what the record says now. */
async function sweepRun(pass: Pass, runId: string): Promise<void> {
  const { deps, machines, report } = pass;
  let owner: Owner = { kind: 'unknown' };
  if (deps.clock.nowMs() >= pass.endsMs) report.cut = true;
  else owner = await lookAt(pass, runId);
  for (const machine of machinesOf(machines, runId)) {
    await judge(pass, machine, owner);
  }
}

async function lookAt({ deps, machines, report }: Pass, runId: string): Promise<Owner> {
  report.runs.seen += 1;
  try {
    const loaded = await loadRecord(deps.store, runId);
    if (loaded === null) {
      await publishLook(deps, { runId });
      return { kind: 'none' };
    }
    const seen = { machines: knownFacts(loaded.record, machines) };
    const record = await advance(deps, loaded, { depth: 'full', seen });
    if (isFinal(record.state)) report.runs.ended += 1;
    return { kind: 'record', record };
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    report.runs.unknown += 1;
    deps.log('WARNING', 'run-unknown', `${runId}: ${error.message}`, { runId, code: error.code });
    return { kind: 'unknown' };
  }
}

/**
 * A machine of the live attempt that was listed as running is there; what was listed otherwise, or
 * belongs to what has ended, is asked for afresh. What may be in a zone that was not listed is unknown.
 */
function knownFacts(record: RunRecord, machines: Machines): Record<string, MachineFact> {
  const facts: Record<string, MachineFact> = {};
  for (const attempt of record.attempts) {
    for (const { candidate } of attempt.intents) {
      const { zone } = candidate;
      if (machines.unknownZones.has(zone) || machines.unknownZones.has('*')) {
        facts[machineKey(attempt.instance, zone)] = { kind: 'unknown' };
      }
    }
  }
  const attempt = currentAttempt(record);
  if (attempt === null || attempt.end !== null) return facts;
  for (const machine of machinesOf(machines, record.runId)) {
    const { name, zone, id, status, lastStartMs: startedMs } = machine;
    if (name !== attempt.instance || !COMING_OR_RUNNING.includes(status)) continue;
    facts[machineKey(name, zone)] = { kind: 'there', id, status, ours: true, startedMs };
  }
  return facts;
}

const COMING_OR_RUNNING: readonly string[] = ['PROVISIONING', 'STAGING', 'RUNNING'];

/** Machines of no active run, and those whose run was left to a later pass. */
async function sweepOthers(pass: Pass): Promise<void> {
  const { deps, machines, report } = pass;
  const left = machines.all.filter(({ turn }) => turn === 'left').length;
  report.runs.left = left;
  report.machines.seen += left;
  report.machines.kept += left;
  const others = machines.all.filter(({ turn }) => turn === 'open');
  await eachBounded(others, AT_ONCE, async (machine) => {
    const inTime = deps.clock.nowMs() < pass.endsMs;
    if (!inTime) report.cut = true;
    await judge(pass, machine, inTime ? await ownerByMarker(deps, machine) : { kind: 'unknown' });
  });
}
