// The places of a walk: which of the candidates is next after what the platform has said of others. All
// of it follows from the record, so that any delivery continues where another one stopped.
import { FAILED_LATELY_MS, PLACE_WAITS_MAX } from '#shared/lifecycle/limits.ts';
import type { PlatformError } from '#shared/lifecycle/observation.ts';
import { placementError, quotaMetric, zonesWithStock } from '#shared/lifecycle/placement-errors.ts';
import {
  type Attempt,
  PLACES_MAX,
  type Place,
  type RunRecord,
  workingIntent,
} from '#shared/lifecycle/record.ts';
import type { Candidate } from '#shared/plan/model.ts';
import { ALL_REGIONS, type ShortQuota } from '#shared/plan/quota.ts';
import { regionOf } from '#shared/plan/zones.ts';

const MESSAGE_CHARACTERS_MAX = 300;

type Somewhere = Pick<Place, 'zone' | 'machineType' | 'provisioningModel'>;

const samePlace = (a: Somewhere, b: Somewhere) => a.zone === b.zone && sameKind(a, b);
const sameKind = (a: Somewhere, b: Somewhere) =>
  a.machineType === b.machineType && a.provisioningModel === b.provisioningModel;

/** What this walk has tried so far, in order. */
export function placesOfWalk(record: RunRecord, attempt: Attempt): readonly Place[] {
  const count = record.placesCount - attempt.walkFrom;
  return count <= 0 ? [] : record.places.slice(-count);
}

/** The next place to try; null: the walk is over. */
export function nextCandidate(
  record: RunRecord,
  attempt: Attempt,
  candidates: readonly Candidate[],
  nowMs: number,
): Candidate | null {
  const tried = placesOfWalk(record, attempt);
  const left = candidates.filter((candidate) => !isSpent(candidate, tried));
  const last = tried.at(-1);
  const again = left.find((one) => last?.verdict === 'wait' && samePlace(one, last));
  return again ?? inOrder(left, record, tried, nowMs)[0] ?? null;
}

/** Whether one of the places tried rules this candidate out for the rest of the walk. */
function isSpent(candidate: Candidate, tried: readonly Place[]): boolean {
  return tried.some((place) => {
    switch (place.verdict) {
      case 'wait':
        return samePlace(place, candidate) && place.tries > PLACE_WAITS_MAX;
      case 'next-region':
        // An execution's place is the region itself.
        return (
          [place.zone, regionOf(place.zone)].includes(candidate.region) &&
          sameKind(place, candidate)
        );
      case 'next-machine-type':
        return place.machineType === candidate.machineType;
      default:
        return samePlace(place, candidate);
    }
  });
}

/**
 * One provisioning model after the other, as the plan has them; within it first the zones that the
 * platform says have stock, last those that failed or were preempted lately.
 */
function inOrder(
  candidates: readonly Candidate[],
  record: RunRecord,
  tried: readonly Place[],
  nowMs: number,
): readonly Candidate[] {
  const models = [...new Set(candidates.map(({ provisioningModel }) => provisioningModel))];
  const rank = (candidate: Candidate) =>
    [
      models.indexOf(candidate.provisioningModel),
      tried.some((place) => hasHint(place, candidate)) ? 0 : 1,
      failedLatelyMs(candidate, record, nowMs),
    ] as const;
  const ranked = candidates.map((candidate) => ({ candidate, rank: rank(candidate) }));
  ranked.sort((a, b) => {
    const [model, hint, failed] = a.rank;
    return model - b.rank[0] || hint - b.rank[1] || failed - b.rank[2];
  });
  return ranked.map(({ candidate }) => candidate);
}

const hasHint = (place: Place, candidate: Candidate) =>
  sameKind(place, candidate) && place.zonesWithStock?.includes(candidate.zone) === true;

/** When this place last failed, lost a machine to a preemption, or was given up on; 0: not lately. */
function failedLatelyMs(candidate: Candidate, record: RunRecord, nowMs: number): number {
  const refused = record.places.filter((place) => samePlace(place, candidate));
  const lost = record.attempts.filter((attempt) => {
    const place = lostPlace(attempt);
    return place !== undefined && samePlace(place, candidate);
  });
  const instants = [...refused.map(({ atMs }) => atMs), ...lost.map(({ end }) => end?.atMs ?? 0)];
  const lastMs = Math.max(0, ...instants);
  return lastMs > nowMs - FAILED_LATELY_MS ? lastMs : 0;
}

function lostPlace(attempt: Attempt): Candidate | undefined {
  if (attempt.end?.cause === 'preempted') return workingIntent(attempt)?.candidate;
  return attempt.intents.find(({ status }) => status === 'abandoned')?.candidate;
}

/** Whether an earlier call of this attempt went to this zone: its machine may have landed late. */
export function calledBefore(record: RunRecord, { number }: Attempt, zone: string): boolean {
  return record.places.some(
    (place) => place.attempt === number && place.zone === zone && place.called,
  );
}

/** A candidate that gave nothing, by a call or by what was known before. */
interface Refused {
  readonly candidate: Candidate;
  readonly error: PlatformError;
  readonly called: boolean;
  readonly mayPass: boolean;
}

/** The record with one more place that gave nothing; one that was waited for keeps its entry. */
export function withPlace(
  record: RunRecord,
  attempt: Attempt,
  { candidate, error, called, mayPass }: Refused,
  nowMs: number,
): RunRecord {
  const { verdict, cause } = placementError(error);
  const hints = zonesWithStock(error);
  const place: Place = {
    attempt: attempt.number,
    zone: candidate.zone,
    machineType: candidate.machineType,
    provisioningModel: candidate.provisioningModel,
    code: error.code,
    message: placeMessage(error).slice(0, MESSAGE_CHARACTERS_MAX),
    verdict,
    cause,
    mayPass: mayPass && cause !== 'refused' && error.details.limit !== '0',
    called,
    tries: 1,
    ...(hints.length === 0 ? {} : { zonesWithStock: hints }),
    atMs: nowMs,
  };
  const last = placesOfWalk(record, attempt).at(-1);
  if (last?.verdict === 'wait' && samePlace(last, candidate)) {
    const again = { ...place, tries: last.tries + 1 };
    return { ...record, places: [...record.places.slice(0, -1), again] };
  }
  const places = [...record.places, place].slice(-PLACES_MAX);
  return { ...record, places, placesCount: record.placesCount + 1 };
}

/** The platform's message, with the metric and its limit where the message leaves them out. */
function placeMessage(error: PlatformError): string {
  const metric = quotaMetric(error);
  const { limit } = error.details;
  if (metric === null || error.message.includes(metric)) return error.message;
  const limited = limit === undefined ? '' : ` (limit ${limit})`;
  return `Quota '${metric}'${limited}: ${error.message}`;
}

/** The record with each place noted that a quota is known to rule out, one of a region and kind. */
export function withShortPlaces(
  record: RunRecord,
  attempt: Attempt,
  candidates: readonly Candidate[],
  nowMs: number,
  shortOf: (candidate: Candidate) => ShortQuota | null,
): RunRecord {
  let open = record;
  for (const candidate of candidates) {
    const tried = placesOfWalk(open, attempt);
    const short = isSpent(candidate, tried) ? null : shortOf(candidate);
    if (short === null) continue;
    const mayPass = short.needed <= short.limit;
    const refused = { candidate, error: shortQuotaError(short), called: false, mayPass };
    open = withPlace(open, attempt, refused, nowMs);
  }
  return open;
}

/** A quota that is known to be short, as the platform would say it. */
function shortQuotaError(short: ShortQuota): PlatformError {
  const { metric, scope, limit, usage, needed } = short;
  const where = scope === ALL_REGIONS ? 'in all regions together' : `in region ${scope}`;
  return {
    code: 'QUOTA_EXCEEDED',
    message: `Quota '${metric}' is short: limit ${limit} ${where}, ${usage} in use, ${needed} needed`,
    details: { metricName: metric, limit: String(limit) },
  };
}

/** What was tried in this walk, by code, and the last of it in full. */
export function describeWalk(record: RunRecord, attempt: Attempt): string {
  const tried = placesOfWalk(record, attempt);
  const last = tried.at(-1);
  if (last === undefined) return 'no place was tried';
  const codes = new Map<string, number>();
  for (const { code } of tried) codes.set(code, (codes.get(code) ?? 0) + 1);
  const counted = [...codes].map(([code, count]) => `${count} × ${code}`).join(', ');
  const { machineType, provisioningModel, zone, message, code } = last;
  const advice = placementError({ code, message, details: {} }).advice;
  return [
    `places tried: ${record.placesCount}, in the last walk ${counted}`,
    `last ${machineType} (${provisioningModel}) in ${zone}: ${message}`,
    ...(advice === undefined ? [] : [advice]),
  ].join('; ');
}
