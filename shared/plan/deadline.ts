// When an attempt's machine must be gone (contract §2). The hypervisor's own run-time limit begins
// at RUNNING; the label's deadline begins at the insert and so allows for all that comes before.
import {
  PLATFORM_WAIT_SECONDS,
  RUNNING_ALLOWANCE_SECONDS,
  TTL_ACCURACY_SECONDS,
} from '#shared/plan/limits.ts';

/** Epoch seconds of the deadline of a machine ordered at `createdSeconds`. */
export function deadlineSeconds(createdSeconds: number, ttlSeconds: number): number {
  const beforeRunning = PLATFORM_WAIT_SECONDS + RUNNING_ALLOWANCE_SECONDS;
  return createdSeconds + beforeRunning + ttlSeconds + TTL_ACCURACY_SECONDS;
}
