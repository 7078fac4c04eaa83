// sweep: one pass over everything that carries our label and everything that is recorded as active.
// Machines are listed first, records read second, what is absent asked for third, markers read last.
// Every act is idempotent, so that overlapping passes are harmless.
import { sweepDisks } from '#functions/sweep/disks.ts';
import { dryRunDeps } from '#functions/sweep/dry-run.ts';
import { eachBounded } from '#functions/sweep/each-bounded.ts';
import { type Listing, listActive, listDisks, listMachines } from '#functions/sweep/listing.ts';
import { sweepMachines } from '#functions/sweep/machines.ts';
import { emptyReport, type SweepReport } from '#functions/sweep/report.ts';
import type { Machine } from '#shared/cloud/compute.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { type MachineFact, machineKey } from '#shared/lifecycle/observation.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { runHash } from '#shared/plan/names.ts';
import { publishLook } from '#shared/runs/act.ts';
import { advance } from '#shared/runs/advance.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { thereFact } from '#shared/runs/observe.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

/** Below Cloud Scheduler's longest attempt deadline of 30 minutes. */
export const PASS_BUDGET_MS = 20 * 60_000;
const RUNS_AT_ONCE = 16;

/** One pass. Throws a CloudError when machines or active runs cannot be listed at all. */
export async function handleSweep(
  request: { readonly dryRun: boolean },
  realDeps: RunDeps,
): Promise<SweepReport> {
  const deps = request.dryRun ? dryRunDeps(realDeps) : realDeps;
  const { clock, settings } = deps;
  const { deployment } = settings.plan;
  const startedMs = clock.nowMs();
  const report = emptyReport(new Date(startedMs).toISOString(), request.dryRun, deployment);
  const machines = await listMachines(deps.compute, deployment);
  report.unknownZones = [...machines.unknownZones].sort();
  const runIds = rotate(await listActive(deps.store), startedMs, settings.sweepPeriodSeconds);
  const records = new Map<string, RunRecord>();
  const active = new Map(runIds.map((runId) => [runHash(runId), runId]));
  const endsMs = startedMs + PASS_BUDGET_MS;
  await sweepMachines(deps, machines, { records, active, report, only: 'past-deadline' });
  await eachBounded(runIds, RUNS_AT_ONCE, async (runId) => {
    if (clock.nowMs() >= endsMs) report.cut = true;
    else await sweepRun(deps, runId, machines, records, report);
  });
  await sweepMachines(deps, machines, { records, active, report, only: 'others' });
  await sweepDisks(deps, await listDisks(deps.compute, deployment), machines, report);
  realDeps.log('NOTICE', 'sweep-done', sentence(report), { report });
  for (const leak of report.leaks) {
    realDeps.log('CRITICAL', 'leak-found', `${leak.name} in ${leak.zone}: ${leak.why}`, { leak });
  }
  return report;
}

/** Each pass starts elsewhere, so that one that runs out of time does not starve the same runs. */
function rotate(runIds: readonly string[], nowMs: number, periodSeconds: number): string[] {
  if (runIds.length === 0) return [];
  const start = (Math.floor(nowMs / (periodSeconds * 1000)) * 7919) % runIds.length;
  return [...runIds.slice(start), ...runIds.slice(0, start)];
}

async function sweepRun(
  deps: RunDeps,
  runId: string,
  machines: Listing<Machine>,
  records: Map<string, RunRecord>,
  report: SweepReport,
): Promise<void> {
  report.runs.seen += 1;
  try {
    const loaded = await loadRecord(deps.store, runId);
    if (loaded === null) {
      report.runs.looks += 1;
      await publishLook(deps, { runId });
      return;
    }
    const seen = { machines: knownFacts(deps, loaded.record, machines) };
    const after = await advance(deps, loaded, { depth: 'full', seen });
    for (const attempt of after.attempts) records.set(attempt.instance, after);
    if (isFinal(after.state)) report.runs.ended += 1;
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    report.runs.unknown += 1;
    deps.log('WARNING', 'run-unknown', `${runId}: ${error.message}`, { runId, code: error.code });
  }
}

/** Listed machines are there; whatever may be in a zone that was not listed is unknown. */
function knownFacts(
  deps: RunDeps,
  record: RunRecord,
  machines: Listing<Machine>,
): Record<string, MachineFact> {
  const { deployment } = deps.settings.plan;
  const facts: Record<string, MachineFact> = {};
  for (const attempt of record.attempts) {
    for (const { candidate } of attempt.intents) {
      const { zone } = candidate;
      if (machines.unknownZones.has(zone) || machines.unknownZones.has('*')) {
        facts[machineKey(attempt.instance, zone)] = { kind: 'unknown' };
      }
    }
    for (const machine of machines.items) {
      if (machine.name !== attempt.instance) continue;
      facts[machineKey(machine.name, machine.zone)] = thereFact(machine, attempt, deployment);
    }
  }
  return facts;
}

function sentence(report: SweepReport): string {
  const { machines, runs, disks } = report;
  return (
    `${runs.seen} runs (${runs.unknown} unknown), machines: ${machines.kept} kept, ` +
    `${machines.reaped} reaped, ${machines.unknown} unknown; disks: ${disks.reaped} reaped`
  );
}
