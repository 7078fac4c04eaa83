// Adds up what runs have cost, and how much of that was billed while no container ran. Pure; what is not
// known is counted, never taken for 0.
import * as z from 'zod';

const amount = z.number().nullable().default(null);

/** Of a stored result what counts here; an older version says less. */
const resultShape = z.looseObject({
  status: z.string(),
  cause: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  costUsd: amount,
  attempts: z
    .array(z.looseObject({ costUsd: amount, billedSeconds: amount, executeSeconds: amount }))
    .default([]),
});
export type CountedResult = z.infer<typeof resultShape>;

/** Null: the text is no result. */
export function readCounted(text: string): CountedResult | null {
  try {
    return resultShape.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

export interface Row {
  runs: number;
  /** Of the runs whose cost is known. */
  costUsd: number;
  costUnknown: number;
  /** Billed without a running container, of the runs of which it is known. */
  wasteSeconds: number;
  wasteUsd: number;
  wasteUnknown: number;
}

export interface Tally {
  readonly total: Row;
  /** `STATUS cause` → row. */
  readonly causes: Map<string, Row>;
  /** `key=value` → row; a run with several labels stands in several. */
  readonly labels: Map<string, Row>;
}

export const UNLABELLED = '(no label)';

const emptyRow = (): Row => ({
  ...{ runs: 0, costUsd: 0, costUnknown: 0 },
  ...{ wasteSeconds: 0, wasteUsd: 0, wasteUnknown: 0 },
});

export const emptyTally = (): Tally => ({
  total: emptyRow(),
  causes: new Map(),
  labels: new Map(),
});

/** Counts one run in. */
export function count(tally: Tally, result: CountedResult): void {
  const pairs = Object.entries(result.labels).map(([key, value]) => `${key}=${value}`);
  const waste = wasteOf(result);
  const rows = [
    tally.total,
    rowOf(tally.causes, `${result.status} ${result.cause}`),
    ...(pairs.length === 0 ? [UNLABELLED] : pairs).map((pair) => rowOf(tally.labels, pair)),
  ];
  for (const row of rows) {
    row.runs += 1;
    if (result.costUsd === null) row.costUnknown += 1;
    else row.costUsd += result.costUsd;
    if (waste === null) row.wasteUnknown += 1;
    row.wasteSeconds += waste?.seconds ?? 0;
    row.wasteUsd += waste?.usd ?? 0;
  }
}

function rowOf(rows: Map<string, Row>, key: string): Row {
  const row = rows.get(key) ?? emptyRow();
  rows.set(key, row);
  return row;
}

/** An attempt's price is spread evenly over its billed seconds. */
function wasteOf({ attempts }: CountedResult): { seconds: number; usd: number } | null {
  let seconds = 0;
  let usd = 0;
  for (const { costUsd, billedSeconds, executeSeconds } of attempts) {
    if (billedSeconds === 0) continue;
    if (costUsd === null || billedSeconds === null || executeSeconds === null) return null;
    const wasted = Math.max(0, billedSeconds - executeSeconds);
    seconds += wasted;
    usd += (costUsd * wasted) / billedSeconds;
  }
  return { seconds, usd };
}
