// Rules on what the deployment allows a run: account, capabilities, time, money, tasks.
import { KEPT_CAPABILITIES } from '#shared/plan/capabilities.ts';
import { fault } from '#shared/plan/fault.ts';
import { DEFAULT_CLASS, taskSecondsMax } from '#shared/plan/jobs-inventory.ts';
import { JOB_TTL_SECONDS_MAX, TTL_SECONDS_MIN } from '#shared/plan/limits.ts';
import { defaultTtlSeconds, timeoutSecondsMax } from '#shared/plan/request-defaults.ts';
import { NONE, type Rule } from '#shared/plan/rule.ts';

const accountListed: Rule = {
  reads: ['serviceAccount'],
  check: ({ request: { serviceAccount }, settings, runtime }) => {
    const accounts = settings.workerServiceAccounts;
    const listed =
      serviceAccount === undefined ? accounts.length > 0 : accounts.includes(serviceAccount);
    if (runtime !== 'gce' || listed) return NONE;
    const rule = "a machine runs as one of the deployment's MAYFLY_WORKER_SERVICE_ACCOUNTS";
    const accepted = accounts.join(', ') || 'none until the setting names one';
    return [fault('serviceAccount', serviceAccount, { rule, accepted })];
  },
};

const capabilitiesAllowed: Rule = {
  reads: ['capabilities'],
  check: ({ request: { capabilities = [] }, settings }) => {
    const allowed = new Set([...KEPT_CAPABILITIES, ...settings.capabilitiesAllowed]);
    const accepted = settings.capabilitiesAllowed.join(', ') || 'none in this deployment';
    const rule = 'a capability is one of the setting MAYFLY_CAPABILITIES_ALLOWED';
    return capabilities.flatMap((name, index) =>
      allowed.has(name) ? [] : [fault(`capabilities[${index}]`, name, { rule, accepted })],
    );
  },
};

const ttlAllowed: Rule = {
  reads: ['ttlSeconds'],
  check: ({ request: { ttlSeconds = 0 }, settings: { ttlSecondsMax }, runtime }) => {
    if (runtime === 'cloudrun-jobs' && ttlSeconds > JOB_TTL_SECONDS_MAX) {
      const rule =
        'a run on cloudrun-jobs reaches its data by signed addresses, which are good for 12 hours';
      const longest = Math.min(JOB_TTL_SECONDS_MAX, ttlSecondsMax);
      const accepted = `${TTL_SECONDS_MIN} to ${longest}; or the runtime gce`;
      return [fault('ttlSeconds', ttlSeconds, { rule, accepted })];
    }
    if (ttlSeconds <= ttlSecondsMax) return NONE;
    const rule = `a machine lives ${ttlSecondsMax} seconds at most here (setting MAYFLY_TTL_SECONDS_MAX)`;
    const accepted = `${TTL_SECONDS_MIN} to ${ttlSecondsMax}`;
    return [fault('ttlSeconds', ttlSeconds, { rule, accepted })];
  },
};

const limitInTtl: Rule = {
  reads: ['ttlSeconds', 'timeoutSeconds', 'resources.class'],
  check: ({ request, settings, runtime }) => {
    const { ttlSeconds = defaultTtlSeconds(settings), timeoutSeconds = 0, resources } = request;
    const { jobs } = settings;
    const most = timeoutSecondsMax(request, ttlSeconds, { runtime, jobs });
    if (timeoutSeconds <= most) return NONE;
    const taskSeconds = taskSecondsMax(resources?.class ?? DEFAULT_CLASS, jobs);
    const byTask = runtime === 'cloudrun-jobs' && taskSeconds - jobs.timeoutMarginSeconds === most;
    const rule = byTask
      ? `Cloud Run ends such a task after ${taskSeconds} seconds, and ${jobs.timeoutMarginSeconds} of them are to report`
      : `the container's limit leaves ${ttlSeconds - most} of the ${ttlSeconds} seconds to report`;
    const accepted = byTask ? `1 to ${most}; or the runtime gce` : `1 to ${most}`;
    return [fault('timeoutSeconds', timeoutSeconds, { rule, accepted })];
  },
};

const keptInTtl: Rule = {
  reads: ['ttlSeconds', 'keepOnFailureSeconds'],
  check: ({ request, settings }) => {
    const { ttlSeconds = defaultTtlSeconds(settings), keepOnFailureSeconds = 0 } = request;
    if (keepOnFailureSeconds <= ttlSeconds) return NONE;
    const rule = 'a failed machine is kept no longer than its ttlSeconds';
    const accepted = `0 to ${ttlSeconds}`;
    return [fault('keepOnFailureSeconds', keepOnFailureSeconds, { rule, accepted })];
  },
};

const budgetAllowed: Rule = {
  reads: ['budgetUsd'],
  check: ({ request: { budgetUsd }, settings: { budgetUsdMax } }) => {
    if (budgetUsd === undefined || budgetUsdMax === null || budgetUsd <= budgetUsdMax) return NONE;
    const rule = 'a budget is at most the setting MAYFLY_BUDGET_USD_MAX';
    return [fault('budgetUsd', budgetUsd, { rule, accepted: `up to ${budgetUsdMax}` })];
  },
};

const oneTaskOnVm: Rule = {
  reads: ['tasks'],
  check: ({ request: { tasks = 1 }, runtime }) => {
    if (runtime !== 'gce' || tasks === 1) return NONE;
    const rule = 'a run on gce has one task; publish a request for each, or use cloudrun-jobs';
    return [fault('tasks', tasks, { rule, accepted: '1' })];
  },
};

export const allowanceRules: readonly Rule[] = [
  accountListed,
  capabilitiesAllowed,
  ttlAllowed,
  limitInTtl,
  keptInTtl,
  budgetAllowed,
  oneTaskOnVm,
];
