// The runs that ended last, newest first, from the index of ended runs. Names there sort by time, and a
// list goes upwards alone: so it is asked for in spans of time, from now backwards, each as long as what
// the last one held suggests. What is asked follows what is shown, not what the bucket holds.
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { ENDED_PREFIX, type EndedName, readEndedObject } from '#shared/plan/objects.ts';

const FIRST_SPAN_MS = 3_600_000;
/** Below it a span is read to its end, page by page. */
const SPAN_MS_MIN = 1000;
/** Fewer names than this, and the next span is four times as long. */
const FEW = 200;
const CALLS_MAX = 500;

export interface NewestEnded {
  readonly runs: readonly EndedName[];
  /** Older ones of the same time exist, or may. */
  readonly more: boolean;
}

/** At most `limit` runs that ended from `sinceMs` to `untilMs`, both included. */
export async function newestEnded(
  store: Pick<ObjectStore, 'list'>,
  { sinceMs, untilMs, limit }: { sinceMs: number; untilMs: number; limit: number },
): Promise<NewestEnded> {
  const runs: EndedName[] = [];
  let endMs = untilMs + 1;
  let spanMs = FIRST_SPAN_MS;
  let calls = 0;
  while (endMs > sinceMs && runs.length <= limit && calls < CALLS_MAX) {
    const startMs = Math.max(sinceMs, endMs - spanMs);
    const range = { start: nameAt(startMs), end: nameAt(endMs) };
    const found: EndedName[] = [];
    let pageToken: string | null = null;
    do {
      const page = await store.list(ENDED_PREFIX, pageToken, range);
      calls += 1;
      pageToken = page.nextPageToken;
      found.push(...page.objects.map(({ name }) => readEndedObject(name)));
    } while (pageToken !== null && endMs - startMs <= SPAN_MS_MIN && calls < CALLS_MAX);
    if (pageToken !== null && endMs - startMs > SPAN_MS_MIN) {
      // The page is the span's oldest part: ask for a shorter one.
      spanMs = Math.max(SPAN_MS_MIN, Math.floor((endMs - startMs) / 4));
      continue;
    }
    runs.push(...found.reverse());
    endMs = startMs;
    if (found.length < FEW) spanMs *= 4;
  }
  return { runs: runs.slice(0, limit), more: runs.length > limit || endMs > sinceMs };
}

const nameAt = (ms: number) => {
  const time = new Date(ms).toISOString();
  return `${ENDED_PREFIX}${time.slice(0, 10)}/${time}`;
};
