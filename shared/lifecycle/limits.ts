// The named bounds of a run's life. Seconds or milliseconds as each name says.

/** After a deadline: how long until what should be gone is treated as gone or late. */
export const SLACK_MS = 5 * 60_000;
/** A machine that is RUNNING without a claim for longer is taken for unable to boot. */
export const BOOT_ALLOWANCE_MS = 10 * 60_000;
/** An insert without a known outcome is repeated for this long: requestId's window is not documented. */
export const REPEAT_WINDOW_MS = 30 * 60_000;
/** An execution that its list does not show so long after the call is started once more. */
export const LISTING_GRACE_MS = 30_000;
/** What has reported its end goes by itself within this time; only then is it told to. */
export const FINISHING_MS = 60_000;
/** When a placement that nobody seems to work on is due again. */
export const PLACEMENT_LEASE_MS = 60_000;
/** Pauses between two walks over all candidates: first, factor, longest. */
export const WALK_PAUSE_MS = { first: 30_000, factor: 2, longest: 300_000 } as const;
/** Pauses before the same place is tried again, and how often it is in one walk. */
export const PLACE_PAUSE_MS = { first: 10_000, factor: 3, longest: 60_000 } as const;
export const PLACE_WAITS_MAX = 2;
/** A place that failed or was preempted no longer ago is tried after the others. */
export const FAILED_LATELY_MS = 10 * 60_000;
/** Pauses before a further attempt, by how many of its counter were used; the first begins at once. */
export const RETRY_PAUSE_MS = { first: 10_000, factor: 2, longest: 300_000 } as const;
/** Attempts that may end because an insert's outcome could not be learnt. */
export const ABANDONED_MAX = 3;
/** Intents of one attempt: walks over all places end here whatever the request waits for. */
export const INTENTS_MAX = 1_000;
/** Pauses between two looks at an operation, and between two repeats of an insert. */
export const POLL_MS = { first: 500, factor: 1.6, longest: 5_000 } as const;
/** Steps of one pass over one run; more would be a loop. */
export const STEPS_MAX = 4_000;
export const DETAIL_CHARACTERS_MAX = 2_000;

/** The pause before try `n` (from 0), with up to a fifth of jitter taken off. */
export function pauseMs(
  schedule: { readonly first: number; readonly factor: number; readonly longest: number },
  n: number,
  fraction: number,
): number {
  const full = Math.min(schedule.first * schedule.factor ** n, schedule.longest);
  return Math.round(full * (1 - fraction / 5));
}
