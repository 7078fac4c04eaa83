// The closed list of a run's states and of the steps between them. A record is ordered by
// (attempt, intent, state) and never goes back in that order.
import type { RunRecord } from '#shared/lifecycle/record.ts';

export const FINAL_STATES = [
  'SUCCEEDED',
  'FAILED',
  'TIMED_OUT',
  'PREEMPTED',
  'CANCELLED',
  'LOST',
  'NO_CAPACITY',
] as const;
export type FinalState = (typeof FINAL_STATES)[number];

export const LIVE_STATES = [
  'ACCEPTED',
  'PLACING',
  'WAITING',
  'PROVISIONING',
  'RUNNING',
  'STOPPING',
] as const;
export type RunState = (typeof LIVE_STATES)[number] | FinalState;

/**
 * From each state to those that may follow it directly; anything else is a programming error. A record
 * is first written as PLACING, as WAITING where no quota has room or no turn is left, or with its end.
 * RUNNING is noted of PROVISIONING alone; a cancel of a live attempt goes through STOPPING; only placement
 * finds no capacity.
 */
export const TRANSITIONS: Readonly<Record<RunState, readonly RunState[]>> = {
  ACCEPTED: ['PLACING', 'FAILED', 'CANCELLED'],
  PLACING: [
    'WAITING',
    'PROVISIONING',
    'STOPPING',
    'SUCCEEDED',
    'FAILED',
    'TIMED_OUT',
    'LOST',
    'NO_CAPACITY',
  ],
  WAITING: ['PLACING', 'PROVISIONING', 'STOPPING', ...FINAL_STATES],
  PROVISIONING: ['PLACING', 'WAITING', 'RUNNING', 'STOPPING', ...FINAL_STATES],
  RUNNING: [
    'WAITING',
    'STOPPING',
    'SUCCEEDED',
    'FAILED',
    'TIMED_OUT',
    'PREEMPTED',
    'CANCELLED',
    'LOST',
  ],
  STOPPING: ['WAITING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'PREEMPTED', 'CANCELLED', 'LOST'],
  SUCCEEDED: [],
  FAILED: [],
  TIMED_OUT: [],
  PREEMPTED: [],
  CANCELLED: [],
  LOST: [],
  NO_CAPACITY: [],
};

export function isFinal(state: RunState): state is FinalState {
  return (FINAL_STATES as readonly RunState[]).includes(state);
}

/** True when `next` may replace `previous`: a listed step, and not back in (attempt, intent, state). */
export function isForward(previous: RunRecord, next: RunRecord): boolean {
  if (isFinal(previous.state)) return false;
  if (next.state !== previous.state && !TRANSITIONS[previous.state].includes(next.state)) {
    return false;
  }
  if (next.attempts.length !== previous.attempts.length) {
    return next.attempts.length === previous.attempts.length + 1;
  }
  const before = previous.attempts.at(-1);
  const after = next.attempts.at(-1);
  if (before === undefined || after === undefined) return true;
  if (before.end !== null && after.end === null) return false;
  if (before.claim !== null && after.claim === null) return false;
  return after.intentCount >= before.intentCount;
}
