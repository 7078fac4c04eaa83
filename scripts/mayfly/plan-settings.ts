// The settings that a plan is made under: the caller's own, and the local cloud's for what is missing.
import { localEnvironment } from '#scripts/local-cloud/deployment/environment.ts';
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';
import { findTarget } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { readSettings } from '#shared/cloud/config.ts';
import { SettingsError } from '#shared/cloud/settings-reader.ts';
import type { PlanSettings } from '#shared/plan/model.ts';

/** What a plan depends on and every deployment has to set for itself. */
const NEEDED = [
  'MAYFLY_PROJECT',
  'MAYFLY_BUCKET',
  'MAYFLY_REGIONS',
  'MAYFLY_WORKER_SERVICE_ACCOUNTS',
];
/** Where things run locally has no place in a plan for the real cloud, and no bearing on it. */
const NEVER_BORROWED = /^MAYFLY_(ENDPOINT_|GUEST$|FULL_LOG$)/;

/** Throws a usage error for a setting that is wrong; one warning names all that were missing. */
export async function readPlanSettings(
  call: Call,
  terminal: Terminal,
): Promise<{ readonly settings: PlanSettings; readonly warnings: readonly string[] }> {
  const own = withTarget(terminal.environment, await findTarget(call, terminal));
  const borrowed = Object.entries(localEnvironment()).filter(
    ([name]) => !NEVER_BORROWED.test(name) && !own[name],
  );
  const missing = NEEDED.filter((name) => !own[name]);
  const warning = `not set, so taken from the local cloud: ${missing.join(', ')}`;
  try {
    const { plan } = readSettings({ ...own, ...Object.fromEntries(borrowed) });
    return { settings: plan, warnings: missing.length === 0 ? [] : [warning] };
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
