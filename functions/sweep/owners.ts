// The run that a machine belongs to when no active entry names it: the one that the marker of its name
// tells. A missing marker alone says nothing: it is written after the record, and may be lost.
import type { ListedMachine } from '#functions/sweep/listing.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import type { Owner } from '#shared/lifecycle/sweep.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { runOfMachine } from '#shared/runs/observe.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

export async function ownerByMarker(deps: RunDeps, machine: ListedMachine): Promise<Owner> {
  try {
    const owner = await runOfMachine(deps, machine.name);
    if (owner.kind !== 'run') return { kind: owner.kind === 'absent' ? 'none' : 'unknown' };
    const loaded = await loadRecord(deps.store, owner.runId);
    return loaded === null ? { kind: 'none' } : { kind: 'record', record: loaded.record };
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown' };
    throw error;
  }
}
