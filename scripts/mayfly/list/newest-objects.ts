// The newest objects below a prefix whose names do not sort by time: a bounded number of pages of names.
import type { ObjectPage, ObjectStore } from '#shared/cloud/storage.ts';

/** Of 1,000 names each. */
const PAGES_MAX = 20;

/** Newest first; `cut`: not all names were looked at. */
export async function newestObjects(
  store: Pick<ObjectStore, 'list'>,
  prefix: string,
  sinceMs: number | null,
): Promise<{ readonly objects: ObjectPage['objects']; readonly cut: boolean }> {
  const objects: ObjectPage['objects'][number][] = [];
  let pageToken: string | null = null;
  let pages = 0;
  do {
    const page: ObjectPage = await store.list(prefix, pageToken);
    objects.push(...page.objects);
    pageToken = page.nextPageToken;
    pages += 1;
  } while (pageToken !== null && pages < PAGES_MAX);
  const kept = objects.filter(({ updatedMs }) => sinceMs === null || updatedMs >= sinceMs);
  return { objects: kept.sort((a, b) => b.updatedMs - a.updatedMs), cut: pageToken !== null };
}
