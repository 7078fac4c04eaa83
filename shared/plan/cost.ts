// What machines cost, in US dollars: a machine is billed for one minute at least and by the second
// after that (compute pricing page), its boot disk for as long as it exists.
import { ATTEMPTS_MAX, BILLED_SECONDS_MIN, DISK_USD_PER_GIB_HOUR } from '#shared/plan/limits.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { Candidate, Estimate, RetryPolicy } from '#shared/plan/model.ts';

const SECONDS_PER_HOUR = 3600;
const MICRO_DOLLARS = 1_000_000;

/** What `seconds` of a machine with this price an hour cost; null when the price is unknown. */
export function machineUsd(usdPerHour: number | null, seconds: number): number | null {
  if (usdPerHour === null) return null;
  const billed = Math.max(BILLED_SECONDS_MIN, Math.ceil(seconds));
  return roundUsd((usdPerHour * billed) / SECONDS_PER_HOUR);
}

/** An hour of a machine in us-central1 without its disks; null when the price is unknown. */
export function machineUsdPerHour(machineType: string, spot: boolean): number | null {
  return machineFacts(machineType)?.usdPerHour[spot ? 'SPOT' : 'STANDARD'] ?? null;
}

/** An hour of a boot disk; the dearest type's price when the type is not known. */
export function diskUsdPerHour(diskType: string, gib: number): number {
  const known = Object.hasOwn(DISK_USD_PER_GIB_HOUR, diskType);
  const dearest = Math.max(...Object.values(DISK_USD_PER_GIB_HOUR));
  return gib * (known ? (DISK_USD_PER_GIB_HOUR[diskType] ?? dearest) : dearest);
}

/** The estimate of a run: the dearest candidate at full TTL, and as many attempts as allowed. */
export function estimateRun(
  candidates: readonly Candidate[],
  ttlSeconds: number,
  retry: RetryPolicy,
): Estimate {
  let dearest: number | null = 0;
  for (const { usdPerHour } of candidates) {
    if (usdPerHour === null) dearest = null;
    else if (dearest !== null) dearest = Math.max(dearest, usdPerHour);
  }
  const attemptUsd = machineUsd(dearest, ttlSeconds);
  const totalUsd = attemptUsd === null ? null : roundUsd(attemptUsd * attemptsAllowed(retry));
  return { attemptUsd, totalUsd };
}

/** The first try and all counters of the retry policy, at most the fixed bound. */
export function attemptsAllowed(retry: RetryPolicy): number {
  const retries = retry.preempted + retry.infrastructure + retry.outOfMemory + retry.failed;
  return Math.min(ATTEMPTS_MAX, 1 + retries);
}

/** To a millionth of a dollar, so that sums read well and equal inputs print equally. */
export function roundUsd(usd: number): number {
  return Math.round(usd * MICRO_DOLLARS) / MICRO_DOLLARS;
}
