// The candidates of a run on Cloud Run Jobs: the Job of its base and class in each region, in order; then
// the larger classes that its retries after "out of memory" may reach.
import { type Candidates, withinBudget } from '#shared/plan/candidates.ts';
import { attemptsAllowed, estimateRun, roundUsd } from '#shared/plan/cost.ts';
import { fault } from '#shared/plan/fault.ts';
import { taskUsdPerHour } from '#shared/plan/job-prices.ts';
import { baseNamed, JOB_SIZES, type JobClass, jobName } from '#shared/plan/jobs-inventory.ts';
import { CANDIDATES_MAX } from '#shared/plan/limits.ts';
import type { Candidate, Estimate, Fault, PlanSettings, RunRequest } from '#shared/plan/model.ts';

const LADDER: readonly JobClass[] = ['S', 'M', 'L'];

/** All candidates of a request, or why there is none. */
export function jobCandidatesOf(request: RunRequest, settings: PlanSettings): Candidates {
  const lacking = lackingAccounts(settings);
  if (lacking.length > 0) return { candidates: [], warnings: [], faults: lacking };
  const asked = request.place.regions ?? settings.regions;
  const regions = asked.filter((region) => settings.regions.includes(region));
  if (regions.length === 0) {
    const rule = 'the Jobs of this deployment are in the regions of the setting MAYFLY_REGIONS';
    const accepted = settings.regions.join(', ');
    return {
      candidates: [],
      warnings: [],
      faults: [fault('place.regions', asked, { rule, accepted })],
    };
  }
  const warnings = asked
    .filter((region) => !regions.includes(region))
    .map((region) => `region ${region} has no Jobs of this deployment and is left out`);
  const classes = classesOf(request);
  const kept = regions.slice(0, Math.floor(CANDIDATES_MAX / classes.length));
  if (kept.length < regions.length) {
    warnings.push(`${regions.length} regions are cut to the first ${kept.length}`);
  }
  const all = classes.flatMap((jobClass) =>
    kept.map((region) => candidateOf(request, settings, { jobClass, region })),
  );
  return withinBudget(all, request, warnings);
}

/** One attempt in the class that was asked for; then each may be in the largest. None is preempted. */
export function estimateJobs(candidates: readonly Candidate[], request: RunRequest): Estimate {
  const { ttlSeconds, retry } = request;
  const first = candidates.filter(({ memoryGiB }) => memoryGiB === candidates[0]?.memoryGiB);
  const { attemptUsd } = estimateRun(first, ttlSeconds, retry);
  const { attemptUsd: dearestUsd } = estimateRun(candidates, ttlSeconds, retry);
  const totalUsd =
    attemptUsd === null || dearestUsd === null
      ? null
      : roundUsd(attemptUsd + dearestUsd * (attemptsAllowed({ ...retry, preempted: 0 }) - 1));
  return { attemptUsd, totalUsd };
}

/** The class that was asked for, and as many larger ones as the retries allow. */
function classesOf({ resources, retry }: RunRequest): readonly JobClass[] {
  const asked = resources.class as JobClass;
  const step = LADDER.indexOf(asked);
  return step < 0 ? [asked] : LADDER.slice(step, step + 1 + retry.outOfMemory);
}

function candidateOf(
  { resources, tasks }: RunRequest,
  { deployment, jobs }: PlanSettings,
  { jobClass, region }: { readonly jobClass: JobClass; readonly region: string },
): Candidate {
  const base = baseNamed(resources.base ?? undefined, jobClass, jobs) ?? '';
  const usd = taskUsdPerHour(jobClass, region);
  return {
    region,
    zone: region,
    subnetwork: '',
    machineType: jobName(deployment, jobs, { base, class: jobClass }),
    provisioningModel: 'STANDARD',
    usdPerHour: usd === null ? null : roundUsd(usd * tasks),
    memoryGiB: JOB_SIZES[jobClass].memoryGiB,
  };
}

function lackingAccounts({ jobs }: PlanSettings): Fault[] {
  const lacking = [
    ...(jobs.readerServiceAccount === null ? ['MAYFLY_JOBS_READER_SERVICE_ACCOUNT'] : []),
    ...(jobs.uploaderServiceAccount === null ? ['MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT'] : []),
  ];
  if (lacking.length === 0) return [];
  const rule = `this deployment runs no jobs: ${lacking.join(' and ')} ${lacking.length === 1 ? 'is' : 'are'} not set`;
  return [
    fault('runtime', 'cloudrun-jobs', { rule, accepted: `gce; or set ${lacking.join(', ')}` }),
  ];
}
