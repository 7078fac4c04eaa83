// Everything on the platform that carries this deployment's label, page by page, and every active run.
// What could not be listed is named; absence from a list is never evidence. Of each machine only what
// the pass judges by is kept, so that a hundred thousand of them fit.
import type { Compute, Disk, ListPage, Machine } from '#shared/cloud/compute.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { ACTIVE_PREFIX } from '#shared/plan/objects.ts';

/** More than anybody runs: half a million machines or disks. */
const PAGES_MAX = 1_000;

const LABELS_KEPT = ['managed-by', 'deployment', 'run-hash', 'attempt', 'deadline', 'created'];

export type ListedMachine = Omit<Machine, 'metadata'>;

export interface Machines {
  readonly all: readonly ListedMachine[];
  /** By the `run-hash` label; machines without one are under ''. */
  readonly byRun: ReadonlyMap<string, readonly ListedMachine[]>;
  readonly byKey: ReadonlyMap<string, ListedMachine>;
  /** Zone names; `*` when the whole list is in doubt. */
  readonly unknownZones: ReadonlySet<string>;
}

export const labelFilter = (deployment: string) =>
  `labels.managed-by=mayfly AND labels.deployment=${deployment}`;

export const placeOf = (zone: string, name: string) => `${zone}/${name}`;

export async function listMachines(compute: Compute, deployment: string): Promise<Machines> {
  const filter = labelFilter(deployment);
  const all: ListedMachine[] = [];
  const byRun = new Map<string, ListedMachine[]>();
  const byKey = new Map<string, ListedMachine>();
  const unknownZones = new Set<string>();
  const once = new Once();
  for await (const page of pages((token) => compute.listInstances(filter, token))) {
    for (const zone of page.unknownZones) unknownZones.add(zone);
    for (const machine of page.items.map((item) => compact(item, once))) {
      // An entry that moved from one page to the next is one machine all the same.
      const key = placeOf(machine.zone, machine.name);
      if (byKey.has(key)) continue;
      byKey.set(key, machine);
      all.push(machine);
      const hash = machine.labels['run-hash'] ?? '';
      const siblings = byRun.get(hash);
      if (siblings === undefined) byRun.set(hash, [machine]);
      else siblings.push(machine);
    }
  }
  return { all, byRun, byKey, unknownZones };
}

export function listDisks(compute: Compute, deployment: string): AsyncIterable<ListPage<Disk>> {
  const filter = labelFilter(deployment);
  return pages((pageToken) => compute.listDisks(filter, pageToken));
}

/** The pages one by one; a list that never ends leaves everything in doubt. */
async function* pages<Item>(
  load: (pageToken: string | null) => Promise<ListPage<Item>>,
): AsyncGenerator<ListPage<Item>> {
  let pageToken: string | null = null;
  for (let count = 0; count < PAGES_MAX; count++) {
    const page: ListPage<Item> = await load(pageToken);
    yield page;
    pageToken = page.nextPageToken;
    if (pageToken === null) return;
  }
  yield { items: [], unknownZones: ['*'], nextPageToken: null };
}

/** Equal texts are kept once: zones, types and states repeat a hundred thousand times. */
class Once {
  readonly #texts = new Map<string, string>();

  of(text: string): string {
    const kept = this.#texts.get(text);
    if (kept !== undefined) return kept;
    this.#texts.set(text, text);
    return text;
  }
}

function compact(machine: Machine, once: Once): ListedMachine {
  const labels: Record<string, string> = {};
  for (const key of LABELS_KEPT) {
    const value = machine.labels[key];
    if (value !== undefined) labels[key] = key === 'run-hash' ? value : once.of(value);
  }
  return {
    name: machine.name,
    id: machine.id,
    zone: once.of(machine.zone),
    status: once.of(machine.status),
    machineType: once.of(machine.machineType),
    labels,
    createdMs: machine.createdMs,
    lastStartMs: machine.lastStartMs,
    provisioningModel: once.of(machine.provisioningModel),
  };
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
