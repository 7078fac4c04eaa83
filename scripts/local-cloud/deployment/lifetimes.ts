// How long the bucket keeps what a run leaves: the rules that the local layout sets, that Terraform reads
// from `terraform/inventory.json`, and that doctor compares with.
import {
  ATTEMPTS_MAX,
  RUNNING_ALLOWANCE_SECONDS,
  TTL_ACCURACY_SECONDS,
  TTL_SECONDS_CEILING,
  WAIT_SECONDS_MAX,
} from '#shared/plan/limits.ts';
import { MARKER_PREFIX, REJECTED_PREFIX, RESULT_PREFIX } from '#shared/plan/objects.ts';

/** Days that a run may last at most: each try waits for capacity, boots, and lives to its end. */
export const RUN_DAYS_MAX = Math.ceil(
  (ATTEMPTS_MAX *
    (WAIT_SECONDS_MAX + RUNNING_ALLOWANCE_SECONDS + TTL_SECONDS_CEILING + TTL_ACCURACY_SECONDS)) /
    86_400,
);

export interface Lifetime {
  readonly days: number;
  readonly prefixes: readonly string[];
}

/**
 * Objects are as old as their last writing, and a run may last: its longest life comes on top of the
 * retention, so that no rule takes an object from under a run that is alive. Request and result go a day
 * after the rest: an id is never free while something of its run is still there.
 */
export const lifetimesOf = (retentionDays: number): readonly Lifetime[] => [
  {
    days: retentionDays + RUN_DAYS_MAX,
    prefixes: [
      ...['runs/work/', MARKER_PREFIX, 'runs/bootstrap/', 'runs/ended/', 'runs/dead/'],
      REJECTED_PREFIX,
    ],
  },
  { days: retentionDays + RUN_DAYS_MAX + 1, prefixes: ['runs/state/', RESULT_PREFIX] },
];
