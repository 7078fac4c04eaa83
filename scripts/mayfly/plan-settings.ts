// The settings that a plan is made under: the caller's own, and the local cloud's for what is missing.
import { localEnvironment } from '#scripts/local-cloud/deployment/environment.ts';
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { findTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { readSettings, type Settings } from '#shared/cloud/config.ts';
import { SettingsError } from '#shared/cloud/settings-reader.ts';
import type { PlanSettings, Runtime } from '#shared/plan/model.ts';

/** What a plan depends on and every deployment has to set for itself. */
const NEEDED = [
  'MAYFLY_PROJECT',
  'MAYFLY_BUCKET',
  'MAYFLY_REGIONS',
  'MAYFLY_WORKER_SERVICE_ACCOUNTS',
];
/** And for jobs. */
const JOBS_NEEDED = ['MAYFLY_JOBS_READER_SERVICE_ACCOUNT', 'MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT'];
/** Where things run locally has no place in a plan for the real cloud, and no bearing on it. */
const NEVER_BORROWED = /^MAYFLY_(ENDPOINT_|GUEST$|FULL_LOG$)/;

export interface PlanSource {
  readonly settings: PlanSettings;
  /** At most one, which names all that were missing. */
  readonly warnings: (runtime: Runtime) => readonly string[];
}

/** Throws a usage error for a setting that is wrong. */
export async function readPlanSettings(call: Call, terminal: Terminal): Promise<PlanSource> {
  const { settings, warnings } = await readCallerSettings(call, terminal);
  return { settings: settings.plan, warnings };
}

/** All settings, found alike. */
export async function readCallerSettings(
  call: Call,
  terminal: Terminal,
): Promise<{ readonly settings: Settings; readonly warnings: PlanSource['warnings'] }> {
  const own = withTarget(terminal.environment, await findTarget(call, terminal));
  const borrowed = Object.entries(localEnvironment()).filter(
    ([name]) => !NEVER_BORROWED.test(name) && !own[name],
  );
  const warnings = (runtime: Runtime) => {
    const needed = runtime === 'gce' ? NEEDED : [...NEEDED, ...JOBS_NEEDED];
    const missing = needed.filter((name) => !own[name]);
    return missing.length === 0
      ? []
      : [`not set, so taken from the local cloud: ${missing.join(', ')}`];
  };
  try {
    const settings = readSettings({ ...own, ...Object.fromEntries(borrowed) });
    return { settings, warnings };
  } catch (error) {
    if (error instanceof SettingsError) throw usageError(error.message);
    throw error;
  }
}

function withTarget(
  environment: Terminal['environment'],
  target: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  const names = Object.entries(target).map(([key, value]) => [
    `MAYFLY_${key.toUpperCase()}`,
    value,
  ]);
  return { ...environment, ...Object.fromEntries(names) };
}
