// The runs that ended between two instants, newest first, from the index of ended runs. Names there sort
// by time, and a list goes upwards alone: so it is asked for in spans of time, from the end backwards,
// each as long as what the last one held suggests. What is asked follows what is wanted, not what the
// bucket holds.
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { ENDED_PREFIX, type EndedName, readEndedObject } from '#shared/plan/objects.ts';

const FIRST_SPAN_MS = 3_600_000;
/** Below it a span is read to its end, page by page. */
const SPAN_MS_MIN = 1000;
/** Fewer names than this, and the next span is four times as long. */
const FEW = 200;
const CALLS_MAX = 1000;

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
