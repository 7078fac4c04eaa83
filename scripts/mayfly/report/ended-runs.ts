// The runs that ended since an instant, newest day first, from the index by day: pages of names, no scan of
// the results.
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { ENDED_PREFIX, type EndedName, readEndedObject } from '#shared/plan/objects.ts';

const DAY_MS = 86_400_000;
/** Of 1,000 names each. */
const PAGES_MAX = 500;

export interface EndedDay {
  readonly runs: readonly EndedName[];
  /** There may be more: the bound on pages was reached. */
  readonly cut: boolean;
}

/** A page of the index at a time; `sinceMs` and `untilMs` are epoch milliseconds, both included. */
export async function* listEnded(
  store: Pick<ObjectStore, 'list'>,
  sinceMs: number,
  untilMs: number,
): AsyncGenerator<EndedDay> {
  let pages = 0;
  const since = new Date(sinceMs).toISOString();
  const until = new Date(untilMs).toISOString();
  const firstDay = Math.floor(sinceMs / DAY_MS);
  for (let day = Math.floor(untilMs / DAY_MS); day >= firstDay; day--) {
    const prefix = `${ENDED_PREFIX}${new Date(day * DAY_MS).toISOString().slice(0, 10)}/`;
    let pageToken: string | null = null;
    do {
      const page = await store.list(prefix, pageToken);
      pageToken = page.nextPageToken;
      pages += 1;
      const named = page.objects.map(({ name }) => readEndedObject(name));
      const runs = named.filter(({ endedAt }) => endedAt >= since && endedAt <= until);
      const more = pageToken !== null || day > firstDay;
      yield { runs, cut: pages >= PAGES_MAX && more };
    } while (pageToken !== null && pages < PAGES_MAX);
    if (pages >= PAGES_MAX) return;
  }
}
