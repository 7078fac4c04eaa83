// The candidates of an attempt: those of the plan; after a machine ran out of memory the larger ones
// alone, where there are any; and under a budget those that what was spent leaves room for. A function of
// record and plan, so that every delivery walks the same list.
import { attemptCost } from '#shared/lifecycle/attempt-cost.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import { workingIntent } from '#shared/lifecycle/record.ts';
import { machineUsd } from '#shared/plan/cost.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { Candidate, RunPlan } from '#shared/plan/model.ts';

/** Where the record's last attempt may be placed, best first; empty: it must not begin. */
export function attemptCandidates(record: RunRecord, plan: RunPlan): readonly Candidate[] {
  const { candidates } = plan;
  const fitting = record.runtime === 'gce' ? largerOnes : ofClass;
  return affordable(record, fitting(record, candidates));
}

/** What the attempts before the last one have cost at most; null when a price is not known. */
export function spentUsd(record: RunRecord): number | null {
  let total = 0;
  for (const attempt of record.attempts.slice(0, -1)) {
    const usd = attemptCost(attempt, record) ?? worstUsd(attempt);
    if (usd === null) return null;
    total += usd;
  }
  return total;
}

/** Of an attempt whose machines are not all known: each of them for all of its time. */
function worstUsd({ intents }: Attempt): number | null {
  let total = 0;
  for (const { candidate, createdSeconds, deadlineSeconds } of intents) {
    const usd = machineUsd(candidate.usdPerHour, deadlineSeconds - createdSeconds);
    if (usd === null) return null;
    total += usd;
  }
  return intents.length === 0 ? null : total;
}

/** Of Jobs: the class that was asked for, after it ran out of memory the next larger one. */
function ofClass(record: RunRecord, candidates: readonly Candidate[]): readonly Candidate[] {
  const floor = outOfMemoryGiB(record);
  const sizes = candidates.map(({ memoryGiB = 0 }) => memoryGiB);
  const size = floor === 0 ? sizes[0] : Math.min(...sizes.filter((memory) => memory > floor));
  return candidates.filter(({ memoryGiB = 0 }) => memoryGiB === size);
}

const memoryOf = ({ memoryGiB, machineType }: Candidate) =>
  memoryGiB ?? machineFacts(machineType)?.memoryGiB ?? 0;

/** The most memory that an earlier attempt did not get along with; 0: none ran out of it. */
function outOfMemoryGiB({ attempts }: RunRecord): number {
  const tooSmall = attempts.slice(0, -1).flatMap((attempt) => {
    const candidate = workingIntent(attempt)?.candidate;
    return attempt.end?.cause === 'out-of-memory' && candidate ? [memoryOf(candidate)] : [];
  });
  return Math.max(0, ...tooSmall);
}

function largerOnes(record: RunRecord, candidates: readonly Candidate[]): readonly Candidate[] {
  const floor = outOfMemoryGiB(record);
  if (floor === 0) return candidates;
  const larger = candidates.filter((candidate) => memoryOf(candidate) > floor);
  const equal = candidates.filter((candidate) => memoryOf(candidate) === floor);
  return [larger, equal, candidates].find((some) => some.length > 0) ?? [];
}

function affordable(record: RunRecord, candidates: readonly Candidate[]): readonly Candidate[] {
  const { budgetUsd, ttlSeconds } = record.terms;
  const spent = spentUsd(record);
  if (budgetUsd === null || record.attempts.length < 2) return candidates;
  return candidates.filter(({ usdPerHour }) => {
    const worst = machineUsd(usdPerHour, ttlSeconds);
    return spent !== null && worst !== null && spent + worst <= budgetUsd;
  });
}
