// The candidates of an attempt: those of the plan; after a machine ran out of memory the larger ones
// alone, where there are any; and under a budget those that what was spent leaves room for. A function of
// record and plan, so that every delivery walks the same list.
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { workingIntent } from '#shared/lifecycle/record.ts';
import { attemptCost } from '#shared/lifecycle/result.ts';
import { machineUsd } from '#shared/plan/cost.ts';
import { machineFacts } from '#shared/plan/machines/catalogue.ts';
import type { Candidate, RunPlan } from '#shared/plan/model.ts';

/** Where the record's last attempt may be placed, best first; empty: it must not begin. */
export function attemptCandidates(record: RunRecord, plan: RunPlan): readonly Candidate[] {
  return affordable(record, largerOnes(record, plan.candidates));
}

/** What the attempts before the last one have cost; null when a price is not known. */
export function spentUsd({ attempts }: RunRecord): number | null {
  let total = 0;
  for (const attempt of attempts.slice(0, -1)) {
    const usd = attemptCost(attempt);
    if (usd === null) return null;
    total += usd;
  }
  return total;
}

const memoryOf = (machineType: string) => machineFacts(machineType)?.memoryGiB ?? 0;

function largerOnes(
  { attempts }: RunRecord,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const tooSmall = attempts
    .slice(0, -1)
    .filter(({ end }) => end?.cause === 'out-of-memory')
    .map((attempt) => memoryOf(workingIntent(attempt)?.candidate.machineType ?? ''));
  const floor = Math.max(0, ...tooSmall);
  if (floor === 0) return candidates;
  const larger = candidates.filter(({ machineType }) => memoryOf(machineType) > floor);
  const equal = candidates.filter(({ machineType }) => memoryOf(machineType) === floor);
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
