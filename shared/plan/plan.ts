// The plan: everything that is decided before anything is created. `planRun` decides what does not
// depend on time, attempt or place; `planIntent` makes one ordered creation exact. Both are pure.
import { candidatesOf } from '#shared/plan/candidates.ts';
import { estimateRun } from '#shared/plan/cost.ts';
import { deadlineSeconds } from '#shared/plan/deadline.ts';
import { fault } from '#shared/plan/fault.ts';
import { instanceBody } from '#shared/plan/instance-body.ts';
import { estimateJobs, jobCandidatesOf } from '#shared/plan/job-candidates.ts';
import { machineLabels } from '#shared/plan/labels.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import { assertMetadataFits, scriptSizeFaults } from '#shared/plan/metadata-size.ts';
import type {
  Fault,
  IntentInput,
  Offers,
  PlannedIntent,
  PlanSettings,
  RunPlan,
  RunRequest,
} from '#shared/plan/model.ts';
import { diskNameOf, instanceName, requestId } from '#shared/plan/names.ts';
import { processSizeFaults } from '#shared/plan/process-size.ts';
import { settingsFaults } from '#shared/plan/settings-faults.ts';
import { buildShutdownScript, buildStartupScript } from '#shared/plan/startup-script.ts';

export type PlannedRun =
  | { readonly kind: 'planned'; readonly plan: RunPlan }
  | { readonly kind: 'invalid'; readonly faults: readonly Fault[] };

/**
 * Plans a valid request, or says all that stands against it. `offers`: what the platform was heard to
 * offer where; without it our own tables hold.
 */
export function planRun(
  request: RunRequest,
  settings: PlanSettings,
  offers: Offers = {},
): PlannedRun {
  if (request.runtime === 'cloudrun-jobs') return planJob(request, settings);
  const { candidates, warnings, faults } = candidatesOf(request, settings, offers);
  const all = [
    ...settingsFaults(settings),
    ...faults,
    ...sizeFaults(request),
    ...idleFaults(request),
  ];
  if (all.length > 0) return { kind: 'invalid', faults: all };
  const estimate = estimateRun(candidates, request.ttlSeconds, request.retry);
  return { kind: 'planned', plan: { request, candidates, warnings, estimate } };
}

function planJob(request: RunRequest, settings: PlanSettings): PlannedRun {
  const { candidates, warnings, faults } = jobCandidatesOf(request, settings);
  const all = [...settingsFaults(settings), ...faults, ...processSizeFaults(request)];
  if (all.length > 0) return { kind: 'invalid', faults: all };
  const estimate = estimateJobs(candidates, request);
  return { kind: 'planned', plan: { request, candidates, warnings, estimate } };
}

/** What is too large for the script is told as such, and not once more as too large by itself. */
function sizeFaults(request: RunRequest): readonly Fault[] {
  const tooLarge = scriptSizeFaults(request);
  const told = new Set(tooLarge.map(({ field }) => field));
  return [...tooLarge, ...processSizeFaults(request).filter(({ field }) => !told.has(field))];
}

/** Nothing can be idle on a machine without a GPU. */
function idleFaults({ gpuIdleSeconds, resources }: RunRequest): Fault[] {
  const types = resources.machineTypes.map(machineFacts);
  const withGpu =
    resources.gpu !== null || types.some((facts) => facts === null || facts.gpu !== null);
  if (gpuIdleSeconds === 0 || withGpu) return [];
  const rule = 'a run ends for idle GPUs only if it has GPUs';
  return [fault('gpuIdleSeconds', gpuIdleSeconds, { rule, accepted: '0, or resources.gpu' })];
}

/**
 * One ordered creation: names, `requestId`, deadline, scripts and the exact insert body. The input's
 * plan is of `planRun`; its candidate is one of the plan's.
 */
export function planIntent(input: IntentInput): PlannedIntent {
  const { plan, settings, attempt, intent, candidate, createdSeconds } = input;
  const { runId, ttlSeconds, labels } = plan.request;
  const { deployment } = settings;
  const name = instanceName(deployment, runId, attempt);
  const deadline = deadlineSeconds(createdSeconds, ttlSeconds);
  const facts = machineFacts(candidate.machineType);
  const { gpu, localSsdCount } = plan.request.resources;
  const machine = {
    instanceName: name,
    threads: facts === null ? null : Math.max(1, Math.floor(facts.cpus)),
    gpuCount: (facts?.gpu ?? gpu)?.count ?? 0,
    localSsdCount: facts?.localSsd.bundled || localSsdCount,
  };
  const startupScript = buildStartupScript(input, machine);
  const shutdownScript = buildShutdownScript(input, machine);
  const labelFacts = {
    deployment,
    runId,
    attempt,
    intent,
    deadlineSeconds: deadline,
    createdSeconds,
  };
  const disk = diskNameOf(name, intent);
  const body = instanceBody(input, {
    instanceName: name,
    diskName: disk,
    facts,
    labels: machineLabels(labels, labelFacts),
    startupScript,
    shutdownScript,
  });
  assertMetadataFits(body);
  return {
    instanceName: name,
    diskName: disk,
    requestId: requestId(deployment, runId, attempt, intent),
    deadlineSeconds: deadline,
    startupScript,
    shutdownScript,
    body,
  };
}
