// `terraform/inventory.json`: what Terraform makes from the code's own tables: functions, APIs, topics
// with their subscriptions, how long a run may last, the Jobs of Cloud Run and the filters of the log sinks.
// `{deployment}`, `{bucket}` and `{region}` stand for the deployment's own.
import { completionFilter, taskEventFilter } from '#functions/signals/job-entry.ts';
import { signalFilter } from '#functions/signals/signal.ts';
import { localSettings } from '#scripts/local-cloud/deployment/environment.ts';
import {
  FUNCTION_NAMES,
  SERVICES,
  SUBSCRIPTIONS,
  TOPICS,
} from '#scripts/local-cloud/deployment/inventory.ts';
import { RUN_DAYS_MAX } from '#scripts/local-cloud/deployment/lifetimes.ts';
import { jobDefinitions } from '#shared/plan/jobs-inventory.ts';
import type { PlanSettings } from '#shared/plan/model.ts';

const STORAGE = 'https://storage.googleapis.com';

/** The settings' defaults, with the GPU's Job: Terraform leaves it out where it is not on offer. */
function inventorySettings(): PlanSettings {
  const { plan } = localSettings();
  return {
    ...plan,
    deployment: '{deployment}',
    bucket: '{bucket}',
    endpoints: { ...plan.endpoints, storage: STORAGE },
    jobs: { ...plan.jobs, gpuJobs: true },
  };
}

export function inventoryFile(): string {
  const settings = inventorySettings();
  const inventory = {
    functions: FUNCTION_NAMES,
    services: SERVICES,
    topics: TOPICS,
    subscriptions: SUBSCRIPTIONS,
    runDaysMax: RUN_DAYS_MAX,
    jobs: jobDefinitions(settings, '{region}'),
    filters: {
      signals: signalFilter(settings.deployment),
      'task-events': taskEventFilter(settings),
      executions: completionFilter(settings),
    },
  };
  return `${JSON.stringify(inventory, null, 2)}\n`;
}
