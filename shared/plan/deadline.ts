// When an attempt's machine must be gone (contract §2). The hypervisor's own run-time limit begins
// at RUNNING; the label's deadline begins at the insert and so allows for all that comes before.
import {
  JOB_TTL_SECONDS_MAX,
  PLATFORM_WAIT_SECONDS,
  RUNNING_ALLOWANCE_SECONDS,
  TTL_ACCURACY_SECONDS,
} from '#shared/plan/limits.ts';

/** Epoch seconds of the deadline of a machine ordered at `createdSeconds`. */
export function deadlineSeconds(createdSeconds: number, ttlSeconds: number): number {
  const beforeRunning = PLATFORM_WAIT_SECONDS + RUNNING_ALLOWANCE_SECONDS;
  return createdSeconds + beforeRunning + ttlSeconds + TTL_ACCURACY_SECONDS;
}

/**
 * How long an execution may wait for its start: as long as the run waits for capacity, within the time that
 * its signed addresses hold.
 */
export function startSeconds(ttlSeconds: number, waitForCapacitySeconds: number): number {
  const room = JOB_TTL_SECONDS_MAX + RUNNING_ALLOWANCE_SECONDS - ttlSeconds;
  return Math.max(RUNNING_ALLOWANCE_SECONDS, Math.min(waitForCapacitySeconds, room));
}

/** Epoch seconds of the deadline of an execution ordered at `createdSeconds`; its wait is not its work. */
export function executionDeadlineSeconds(
  createdSeconds: number,
  { ttlSeconds, waitForCapacitySeconds }: { ttlSeconds: number; waitForCapacitySeconds: number },
): number {
  const waits = startSeconds(ttlSeconds, waitForCapacitySeconds);
  return createdSeconds + waits + ttlSeconds + TTL_ACCURACY_SECONDS;
}
