// What an entry in the index of ended runs tells beside its name, as the object's custom metadata: of the
// result all that a report counts, so that one over very many runs lists the index and reads no results.
import type { AttemptResult, RunResult } from '#shared/lifecycle/result.ts';

const KEY = 'counted';
/** Cloud Storage takes 8 KiB of custom metadata an object, keys included. */
const TEXT_BYTES_MAX = 8 * 1024 - KEY.length;

/** Of a result what is counted; its fields are the result's own. */
export type CountedPart = Pick<RunResult, 'status' | 'cause' | 'labels' | 'costUsd'> & {
  readonly attempts: readonly Pick<AttemptResult, 'costUsd' | 'billedSeconds' | 'executeSeconds'>[];
};

/** Empty where it would not fit: then the result tells it. */
export function endedMetadata(result: CountedPart): Readonly<Record<string, string>> {
  const { status, cause, labels, costUsd } = result;
  const attempts = result.attempts.map((attempt) => ({
    costUsd: attempt.costUsd,
    billedSeconds: attempt.billedSeconds,
    executeSeconds: attempt.executeSeconds,
  }));
  const text = inAscii(JSON.stringify({ status, cause, labels, costUsd, attempts }));
  return text.length > TEXT_BYTES_MAX ? {} : { [KEY]: text };
}

/** The JSON text of a `CountedPart`; null: this entry tells nothing. */
export const countedText = (metadata: Readonly<Record<string, string>>): string | null =>
  metadata[KEY] ?? null;

/** Custom metadata may travel as headers, which have no other characters. */
const inAscii = (json: string) =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
