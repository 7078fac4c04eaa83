// Everything on the platform that carries this deployment's label, page by page, and every active run.
// What could not be listed is named; absence from a list is never evidence. Of each machine only what
// the pass judges by is kept, so that a hundred thousand of them fit.
import type { Compute, Disk, ListPage, Machine } from '#shared/cloud/compute.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { readLabels } from '#shared/lifecycle/sweep.ts';
import { runHash } from '#shared/plan/names.ts';
import { ACTIVE_PREFIX } from '#shared/plan/objects.ts';

/** More than anybody runs: half a million machines or disks. */
const PAGES_MAX = 1_000;

/** What is kept of one machine: 100,000 of them are some 30 MB. */
export interface ListedMachine {
  readonly name: string;
  readonly id: string;
  readonly zone: string;
  readonly status: string;
  readonly machineType: string;
  readonly provisioningModel: string;
  readonly createdMs: number | null;
  readonly lastStartMs: number | null;
  /** The label's; null when there is none that can be read. */
  readonly deadlineMs: number | null;
  /** A list may show more than it was asked for: what has not our labels is never touched. */
  readonly ours: boolean;
  readonly runHash: string;
  /** Another one with the same `run-hash`. */
  readonly sibling: ListedMachine | null;
  /** Where this pass is with it; `left`: its run is looked at by a later pass. */
  turn: 'open' | 'left' | 'done';
}

export interface Machines {
  readonly all: readonly ListedMachine[];
  /** By the `run-hash` label, the last one of each. */
  readonly byRun: ReadonlyMap<string, ListedMachine>;
  /** Zone names; `*` when the whole list is in doubt. */
  readonly unknownZones: ReadonlySet<string>;
}

export const labelFilter = (deployment: string) =>
  `labels.managed-by=mayfly AND labels.deployment=${deployment}`;

export async function listMachines(compute: Compute, deployment: string): Promise<Machines> {
  const filter = labelFilter(deployment);
  const all: ListedMachine[] = [];
  const byRun = new Map<string, ListedMachine>();
  const unknownZones = new Set<string>();
  const once = new Once();
  for await (const page of pages((token) => compute.listInstances(filter, token))) {
    for (const zone of page.unknownZones) unknownZones.add(zone);
    for (const item of page.items) {
      const runHash = item.labels['run-hash'] ?? '';
      const sibling = byRun.get(runHash) ?? null;
      const machine = compact(item, { deployment, runHash, sibling, once });
      all.push(machine);
      byRun.set(runHash, machine);
    }
  }
  return { all, byRun, unknownZones };
}

/** All listed machines of a run. */
export function* machinesOf(machines: Machines, runId: string): Generator<ListedMachine> {
  let next = machines.byRun.get(runHash(runId)) ?? null;
  for (; next !== null; next = next.sibling) yield next;
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

function compact(
  machine: Machine,
  facts: { deployment: string; runHash: string; sibling: ListedMachine | null; once: Once },
): ListedMachine {
  const { deployment, runHash, sibling, once } = facts;
  const { ours, deadlineMs, createdMs } = readLabels(machine.labels, deployment);
  return {
    name: machine.name,
    id: machine.id,
    zone: once.of(machine.zone),
    status: once.of(machine.status),
    machineType: once.of(machine.machineType),
    provisioningModel: once.of(machine.provisioningModel),
    createdMs: machine.createdMs ?? createdMs,
    lastStartMs: machine.lastStartMs,
    deadlineMs,
    ours,
    runHash,
    sibling,
    turn: 'open',
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
