// A request's faults before it is sent: only what no deployment could take. What the deployment's own
// settings decide is checked here where the caller has them set, and by submit in any case. What will
// be otherwise than the request's words is told here: after this nobody sees the planning.
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { faultLines } from '#scripts/mayfly/fault-lines.ts';
import { localWarnings } from '#scripts/mayfly/local-target.ts';
import { type PlanSource, readPlanSettings } from '#scripts/mayfly/plan-settings.ts';
import type { RequestFields } from '#scripts/mayfly/request-file.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { TTL_SECONDS_CEILING } from '#shared/plan/limits.ts';
import { chooseMachines } from '#shared/plan/machine-choice.ts';
import type { Fault, PlanSettings, Runtime } from '#shared/plan/model.ts';
import { planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';

const RUNTIMES: readonly Runtime[] = ['gce', 'cloudrun-jobs'];

/** Gives warnings. Throws a usage error that names every fault at once; nothing has been sent. */
export async function refuseFaults(
  call: Call,
  terminal: Terminal,
  request: RequestFields,
): Promise<readonly string[]> {
  const source = await readPlanSettings(call, terminal);
  const settings = widest(source.settings, terminal.environment, request);
  const faults = leastFaults(request, settings);
  if (faults.length === 0) return warningsOf(request, { ...source, settings }, terminal);
  const lines = faultLines(faults).join('\n');
  throw usageError(`the request is refused, nothing was sent:\n${lines}`, { errors: faults });
}

/** Places are the deployment's to know: what is said of them counts where the caller has its settings. */
function warningsOf(
  fields: RequestFields,
  { settings, warnings }: PlanSource,
  { environment }: Terminal,
): readonly string[] {
  const parsed = parseRequest(fields, { defaultRunId: null, settings });
  if (parsed.kind === 'invalid') return [];
  const { request } = parsed;
  const local = localWarnings(environment, request);
  const planned = warnings(request.runtime).length === 0 ? planRun(request, settings) : null;
  if (planned?.kind === 'planned') return [...local, ...parsed.warnings, ...planned.plan.warnings];
  return [
    ...local,
    ...parsed.warnings,
    ...(request.runtime === 'gce' ? chooseMachines(request).warnings : []),
  ];
}

/** Which runtime a request without one gets is the deployment's to say: it is right if one takes it. */
function leastFaults(request: RequestFields, settings: PlanSettings): readonly Fault[] {
  let least: readonly Fault[] | null = null;
  for (const defaultRuntime of new Set([settings.defaultRuntime, ...RUNTIMES])) {
    const parsed = parseRequest(request, {
      defaultRunId: null,
      settings: { ...settings, defaultRuntime },
    });
    if (parsed.kind === 'valid') return [];
    least ??= parsed.faults;
  }
  return least ?? [];
}

/** The settings, as wide as they can be where the caller has not set them. */
function widest(
  settings: PlanSettings,
  environment: Terminal['environment'],
  { capabilities, serviceAccount, resources }: RequestFields,
): PlanSettings {
  const own = (name: string) => Boolean(environment[`MAYFLY_${name}`]);
  const texts = (value: unknown) => [value].flat().filter((one) => typeof one === 'string');
  const { capabilitiesAllowed, workerServiceAccounts, jobs } = settings;
  const asked = texts((resources as RequestFields | null | undefined)?.base);
  const named = Object.fromEntries(asked.map((base) => [base, base]));
  return {
    ...settings,
    ...(own('TTL_SECONDS_MAX') ? {} : { ttlSecondsMax: TTL_SECONDS_CEILING }),
    ...(own('BUDGET_USD_MAX') ? {} : { budgetUsdMax: null }),
    ...(own('CAPABILITIES_ALLOWED')
      ? {}
      : { capabilitiesAllowed: [...capabilitiesAllowed, ...texts(capabilities)] }),
    ...(own('WORKER_SERVICE_ACCOUNTS')
      ? {}
      : { workerServiceAccounts: [...workerServiceAccounts, ...texts(serviceAccount)] }),
    jobs: {
      ...jobs,
      ...(own('JOBS_GPU_JOBS') ? {} : { gpuJobs: true }),
      ...(own('JOBS_GPU_TASK_SECONDS_MAX') ? {} : { gpuTaskSecondsMax: TTL_SECONDS_CEILING }),
      ...(own('JOBS_PLUGIN_BASES') ? {} : { pluginBases: { ...named, ...jobs.pluginBases } }),
    },
  };
}
