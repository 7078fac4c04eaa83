// All checks of one deployment, in the order in which one thing rests on another. What is missing is
// found once: checks of what would be on it stay silent.
import { checkAccounts, checkPermissions } from '#scripts/mayfly/doctor/accounts.ts';
import { checkBucket } from '#scripts/mayfly/doctor/bucket.ts';
import { checkAgents, checkInvokers, checkSinks } from '#scripts/mayfly/doctor/callers.ts';
import {
  type Deployed,
  type Names,
  readFunctions,
  readServices,
} from '#scripts/mayfly/doctor/deployed.ts';
import { type Finding, unknown } from '#scripts/mayfly/doctor/finding.ts';
import {
  checkScheduler,
  checkSubscriptions,
  checkTopics,
} from '#scripts/mayfly/doctor/messages.ts';
import {
  checkClock,
  checkJobs,
  checkQuotas,
  checkServices,
} from '#scripts/mayfly/doctor/places.ts';
import type { Reader } from '#scripts/mayfly/doctor/reader.ts';
import type { Clock } from '#shared/cloud/clock.ts';

export interface Means {
  readonly reader: Reader;
  /** This computer's. */
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Told what comes next. */
  readonly looking: (what: string) => void;
}

export async function examine(
  names: Names,
  { reader, clock, looking }: Means,
): Promise<readonly Finding[]> {
  looking('APIs');
  const services = await readServices(names, reader);
  looking('functions');
  const { findings: functions, ...read } = await readFunctions(names, reader, services.number);
  const { settings } = read;
  const deployed: Deployed = { ...names, reader, number: services.number, ...read };
  looking('topics, subscriptions, accounts');
  const topics = await checkTopics(deployed);
  const subscriptions = await checkSubscriptions(deployed);
  const accounts = await checkAccounts(deployed);
  const missing = missingNames(deployed, [...topics, ...subscriptions, ...accounts]);
  looking('bucket, scheduler, sinks, quotas');
  const parts = [
    checkServices(names.project, services),
    functions,
    settings === null ? [settingsUnknown] : [],
    topics,
    subscriptions,
    await checkBucket(deployed),
    await checkScheduler(deployed),
    await checkSinks(deployed, missing),
    await checkJobs(deployed),
    await checkQuotas(deployed),
    [await checkClock(reader, clock.nowMs)],
    accounts,
  ];
  looking('permissions');
  const rights = [
    await checkAgents(deployed, missing),
    await checkInvokers(deployed),
    await checkPermissions(deployed, missing),
  ];
  return [...parts, ...rights].flat();
}

const settingsUnknown = unknown(
  'settings',
  'no function’s settings can be read: Jobs, sinks of tasks, quotas and audiences are not compared',
  'mayfly deploy',
);

/** Resource names, and the e-mails of accounts, as the other checks know them. */
function missingNames({ project }: Deployed, findings: readonly Finding[]): ReadonlySet<string> {
  const names = findings
    .filter(({ state, what }) => state === 'fault' && what === 'is missing')
    .flatMap(({ check }) => {
      const [kind, name = ''] = check.split(' ');
      if (kind === 'account') return [name, `projects/${project}/serviceAccounts/${name}`];
      return [`projects/${project}/${kind}s/${name}`];
    });
  return new Set(names);
}
