// Everything on the platform that carries this deployment's label, page by page, and every active run.
// What could not be listed is named; absence from a list is never evidence.
import type { Compute, Disk, ListPage, Machine } from '#shared/cloud/compute.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { ACTIVE_PREFIX } from '#shared/plan/objects.ts';

const PAGES_MAX = 1_000;

export interface Listing<Item> {
  readonly items: readonly Item[];
  /** Zone names; `*` when the whole list is in doubt. */
  readonly unknownZones: ReadonlySet<string>;
}

export const labelFilter = (deployment: string) =>
  `labels.managed-by=mayfly AND labels.deployment=${deployment}`;

export function listMachines(compute: Compute, deployment: string): Promise<Listing<Machine>> {
  const filter = labelFilter(deployment);
  return listAll((pageToken) => compute.listInstances(filter, pageToken));
}

export function listDisks(compute: Compute, deployment: string): Promise<Listing<Disk>> {
  const filter = labelFilter(deployment);
  return listAll((pageToken) => compute.listDisks(filter, pageToken));
}

async function listAll<Item>(
  page: (pageToken: string | null) => Promise<ListPage<Item>>,
): Promise<Listing<Item>> {
  const items: Item[] = [];
  const unknownZones = new Set<string>();
  let pageToken: string | null = null;
  for (let count = 0; count < PAGES_MAX; count++) {
    const reply: ListPage<Item> = await page(pageToken);
    items.push(...reply.items);
    for (const zone of reply.unknownZones) unknownZones.add(zone);
    pageToken = reply.nextPageToken;
    if (pageToken === null) return { items, unknownZones };
  }
  return { items, unknownZones: unknownZones.add('*') };
}

/** The ids of all active runs. */
export async function listActive(store: ObjectStore): Promise<string[]> {
  const runIds: string[] = [];
  let pageToken: string | null = null;
  do {
    const page = await store.list(ACTIVE_PREFIX, pageToken);
    for (const { name } of page.objects) runIds.push(name.slice(ACTIVE_PREFIX.length));
    pageToken = page.nextPageToken;
  } while (pageToken !== null);
  return runIds;
}
