// The runs that ended between two instants, from the index of ended runs: all of them in no order, or newest
// first. Names there sort by time, and a list goes upwards alone: for the newest it is asked for in spans of
// time, from the end backwards, each as long as what the last one held suggests. What is asked follows what
// is wanted, not what the bucket holds.
import type { NameRange, ObjectPage, ObjectStore } from '#shared/cloud/storage.ts';
import { ENDED_PREFIX, type EndedName, readEndedObject } from '#shared/plan/objects.ts';
import { mapBounded } from '#shared/runs/jobs/map-bounded.ts';

const FIRST_SPAN_MS = 3_600_000;
/** Below it a span is read to its end, page by page. */
const SPAN_MS_MIN = 1000;
/** Fewer names than this, and the next span is four times as long. */
const FEW = 200;
const CALLS_MAX = 1000;
/** Parts of a time that are listed side by side, and how long one is at least. */
const PARTS_MAX = 8;
const PART_MS_MIN = 86_400_000;

type Lister = Pick<ObjectStore, 'list'>;

export interface Range {
  /** Epoch milliseconds, both included. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface EndedSpan {
  readonly runs: readonly EndedName[];
  /** The bound on calls was reached: there may be more, and nothing follows. */
  readonly cut: boolean;
}

/** A span at a time. Throws a CloudError when the bucket cannot be asked. */
export async function* walkEnded(
  store: Lister,
  { sinceMs, untilMs }: Range,
): AsyncGenerator<EndedSpan> {
  let endMs = untilMs + 1;
  let spanMs = FIRST_SPAN_MS;
  let calls = 0;
  while (endMs > sinceMs) {
    const startMs = Math.max(sinceMs, endMs - spanMs);
    const short = endMs - startMs <= SPAN_MS_MIN;
    const range = { start: nameAt(startMs), end: nameAt(endMs) };
    const found: EndedName[] = [];
    let pageToken: string | null = null;
    do {
      const page = await store.list(ENDED_PREFIX, pageToken, range);
      calls += 1;
      pageToken = page.nextPageToken;
      found.push(...page.objects.map(({ name }) => readEndedObject(name)));
    } while (pageToken !== null && short && calls < CALLS_MAX);
    const whole = pageToken === null;
    const cut = calls >= CALLS_MAX && (!whole || startMs > sinceMs);
    if (whole || cut) yield { runs: found.reverse(), cut };
    if (cut) return;
    if (whole) {
      endMs = startMs;
      if (found.length < FEW) spanMs *= 4;
    } else {
      // The page is the span's oldest part: ask for a shorter one.
      spanMs = Math.max(SPAN_MS_MIN, Math.floor((endMs - startMs) / 4));
    }
  }
}

export interface EndedRun extends EndedName {
  /** Of its entry in the index. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Hands over every run of that time, a page at a time and several at once. Gives `cut`: the bound on calls
 * was reached, and there may be more. Throws a CloudError when the bucket cannot be asked.
 */
export async function takeEnded(
  store: Lister,
  range: Range,
  take: (runs: readonly EndedRun[]) => Promise<void>,
): Promise<{ readonly cut: boolean }> {
  let calls = 0;
  let cut = false;
  await mapBounded(partsOf(range), async (part) => {
    let pageToken: string | null = null;
    do {
      if (calls >= CALLS_MAX) {
        cut = true;
        return;
      }
      calls += 1;
      const page: ObjectPage = await store.list(ENDED_PREFIX, pageToken, part);
      pageToken = page.nextPageToken;
      await take(
        page.objects.map(({ name, metadata }) => ({ ...readEndedObject(name), metadata })),
      );
    } while (pageToken !== null);
  });
  return { cut };
}

function partsOf({ sinceMs, untilMs }: Range): readonly NameRange[] {
  const lengthMs = untilMs + 1 - sinceMs;
  const count = Math.min(PARTS_MAX, Math.max(1, Math.ceil(lengthMs / PART_MS_MIN)));
  const edge = (index: number) => nameAt(sinceMs + Math.floor((lengthMs * index) / count));
  return Array.from({ length: count }, (_, index) => ({
    start: edge(index),
    end: edge(index + 1),
  }));
}

/** At most `limit` of them; `more`: older ones of that time exist, or may. */
export async function newestEnded(
  store: Lister,
  { limit, ...range }: Range & { readonly limit: number },
): Promise<{ readonly runs: readonly EndedName[]; readonly more: boolean }> {
  const runs: EndedName[] = [];
  for await (const span of walkEnded(store, range)) {
    runs.push(...span.runs);
    if (span.cut || runs.length > limit) return { runs: runs.slice(0, limit), more: true };
  }
  return { runs, more: false };
}

const nameAt = (ms: number) => {
  const time = new Date(ms).toISOString();
  return `${ENDED_PREFIX}${time.slice(0, 10)}/${time}`;
};
