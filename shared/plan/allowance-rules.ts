// Rules on what the deployment allows a run: account, capabilities, time, money, tasks.
import { KEPT_CAPABILITIES } from '#shared/plan/capabilities.ts';
import { fault } from '#shared/plan/fault.ts';
import { JOB_SIZES } from '#shared/plan/jobs-inventory.ts';
import { TIMEOUT_RESERVE_SECONDS, TTL_SECONDS_MIN } from '#shared/plan/limits.ts';
import type { Fault } from '#shared/plan/model.ts';
import { defaultTtlSeconds } from '#shared/plan/request-defaults.ts';
import { NONE, type Rule } from '#shared/plan/rule.ts';

const accountListed: Rule = {
  reads: ['serviceAccount'],
  check: ({ request: { serviceAccount }, settings, runtime }) => {
    const accounts = settings.workerServiceAccounts;
    const listed =
      serviceAccount === undefined ? accounts.length > 0 : accounts.includes(serviceAccount);
    if (runtime !== 'gce' || listed) return NONE;
    const rule = "a machine runs as one of the deployment's WORKER_SERVICE_ACCOUNTS";
    const accepted = accounts.join(', ') || 'none until the setting names one';
    return [fault('serviceAccount', serviceAccount, { rule, accepted })];
  },
};

const capabilitiesAllowed: Rule = {
  reads: ['capabilities'],
  check: ({ request: { capabilities = [] }, settings }) => {
    const allowed = new Set([...KEPT_CAPABILITIES, ...settings.capabilitiesAllowed]);
    const accepted = settings.capabilitiesAllowed.join(', ') || 'none in this deployment';
    const rule = 'a capability is one of the setting CAPABILITIES_ALLOWED';
    return capabilities.flatMap((name, index) =>
      allowed.has(name) ? [] : [fault(`capabilities[${index}]`, name, { rule, accepted })],
    );
  },
};

const ttlAllowed: Rule = {
  reads: ['ttlSeconds'],
  check: ({ request: { ttlSeconds = 0 }, settings: { ttlSecondsMax } }) => {
    if (ttlSeconds <= ttlSecondsMax) return NONE;
    const rule = 'a machine lives no longer than the setting TTL_SECONDS_MAX';
    const accepted = `${TTL_SECONDS_MIN} to ${ttlSecondsMax}`;
    return [fault('ttlSeconds', ttlSeconds, { rule, accepted })];
  },
};

const limitsInTtl: Rule = {
  reads: ['ttlSeconds', 'timeoutSeconds', 'keepOnFailureSeconds', 'resources.class'],
  check: ({ request, settings }) => {
    const { ttlSeconds = defaultTtlSeconds(settings) } = request;
    const taskSeconds =
      request.resources?.class === undefined
        ? null
        : JOB_SIZES[request.resources.class].taskSecondsMax;
    const lifeSeconds = Math.min(ttlSeconds, taskSeconds ?? ttlSeconds);
    const reports = lifeSeconds - TIMEOUT_RESERVE_SECONDS;
    const faults: Fault[] = [];
    if ((request.timeoutSeconds ?? 0) > reports) {
      const rule = `the container's limit leaves ${TIMEOUT_RESERVE_SECONDS} of the ${lifeSeconds} seconds to report`;
      faults.push(
        fault('timeoutSeconds', request.timeoutSeconds, { rule, accepted: `1 to ${reports}` }),
      );
    }
    if ((request.keepOnFailureSeconds ?? 0) > ttlSeconds) {
      const rule = 'a failed machine is kept no longer than its ttlSeconds';
      faults.push(
        fault('keepOnFailureSeconds', request.keepOnFailureSeconds, {
          rule,
          accepted: `0 to ${ttlSeconds}`,
        }),
      );
    }
    return faults;
  },
};

const budgetAllowed: Rule = {
  reads: ['budgetUsd'],
  check: ({ request: { budgetUsd }, settings: { budgetUsdMax } }) => {
    if (budgetUsd === undefined || budgetUsdMax === null || budgetUsd <= budgetUsdMax) return NONE;
    const rule = 'a budget is at most the setting BUDGET_USD_MAX';
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
  limitsInTtl,
  budgetAllowed,
  oneTaskOnVm,
];
