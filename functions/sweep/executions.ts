// Executions of Cloud Run Jobs: they carry no labels of their own, so that each running one is known by
// its Job's name and its environment, and judged as a machine is.
import { eachBounded } from '#functions/sweep/each-bounded.ts';
import { keepNote, type SweepReport } from '#functions/sweep/report.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { Execution } from '#shared/cloud/run-jobs.ts';
import { judgeMachine, type Owner, type SweptMachine } from '#shared/lifecycle/sweep.ts';
import { jobDefinitions } from '#shared/plan/jobs-inventory.ts';
import { instanceName } from '#shared/plan/names.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { listExecutions } from '#shared/runs/jobs/executions.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

const AT_ONCE = 16;

/** All regions and Jobs; what cannot be listed is named, and nothing in it is taken for gone. */
export async function sweepExecutions(deps: RunDeps, report: SweepReport): Promise<void> {
  const { plan } = deps.settings;
  if (plan.jobs.uploaderServiceAccount === null) return;
  const places = plan.regions.flatMap((region) =>
    jobDefinitions(plan, region).map(({ name }) => ({ region, job: name })),
  );
  const running: Execution[] = [];
  await eachBounded(places, AT_ONCE, async ({ region, job }) => {
    try {
      for await (const execution of listExecutions(deps, region, job)) {
        if (execution.completedMs === null) running.push(execution);
      }
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      report.unknownJobs.push(`${region}/${job}`);
    }
  });
  await eachBounded(running, AT_ONCE, (execution) => sweepExecution(deps, execution, report));
}

async function sweepExecution(
  deps: RunDeps,
  execution: Execution,
  report: SweepReport,
): Promise<void> {
  const counts = report.executions;
  counts.seen += 1;
  const { MAYFLY_RUN_ID: runId, MAYFLY_NONCE: nonce } = execution.env;
  const machine = sweptMachine(deps.settings.plan.deployment, execution);
  // Started by hand: somebody else's.
  const owner: Owner = runId && nonce ? await ownerOf(deps, runId, nonce) : { kind: 'unknown' };
  const strayAfterMs = 2 * deps.settings.sweepPeriodSeconds * 1000;
  const verdict = judgeMachine(machine, owner, strayAfterMs, deps.clock.nowMs());
  switch (verdict.kind) {
    case 'foreign':
    case 'kept':
      counts.kept += 1;
      return;
    case 'unknown':
      counts.unknown += 1;
      return;
    case 'stray':
      counts.strays += 1;
      if (counts.strays > deps.settings.reapsPerSweepMax) {
        counts.kept += 1;
        return;
      }
      return await cancel(deps, execution, 'no record', report);
    case 'doomed':
      return await cancel(deps, execution, verdict.why, report);
    default:
      verdict satisfies never;
  }
}

function sweptMachine(deployment: string, execution: Execution): SweptMachine {
  const {
    MAYFLY_RUN_ID: runId,
    MAYFLY_ATTEMPT: attempt,
    MAYFLY_DEADLINE: deadline,
  } = execution.env;
  const ours = runId !== undefined && /^[1-9]\d?$/.test(attempt ?? '');
  const deadlineMs = Date.parse(deadline ?? '');
  return {
    name: ours ? instanceName(deployment, runId, Number(attempt)) : '',
    id: execution.name,
    zone: execution.region,
    status: 'RUNNING',
    ours,
    deadlineMs: ours && Number.isFinite(deadlineMs) ? deadlineMs : null,
    createdMs: execution.createdMs,
  };
}

/** The record is believed only about an execution with the nonce of one of its attempts. */
async function ownerOf(deps: RunDeps, runId: string, nonce: string): Promise<Owner> {
  try {
    const loaded = await loadRecord(deps.store, runId);
    if (loaded === null) return { kind: 'none' };
    const known = loaded.record.attempts.some((attempt) => attempt.nonce === nonce);
    return known ? { kind: 'record', record: loaded.record } : { kind: 'unknown' };
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown' };
    throw error;
  }
}

async function cancel(
  deps: RunDeps,
  { name, job, region }: Execution,
  why: string,
  report: SweepReport,
): Promise<void> {
  const reply = await deps.jobs.cancelExecution({ region, job, execution: name });
  report.executions[reply.kind === 'unknown' ? 'unknown' : 'reaped'] += 1;
  const said = reply.kind === 'unknown' ? `${reply.error.code} ${reply.error.message}` : reply.kind;
  deps.log('WARNING', 'execution-cancelled', `${name} in ${region}: ${why}; ${said}`, { job });
  keepNote(report.strays, {
    kind: 'execution',
    name,
    zone: region,
    type: job,
    usdPerHour: null,
    why,
  });
}
