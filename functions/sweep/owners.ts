// The run that a machine belongs to when no active entry names it: the one that the marker of its name
// tells. A missing marker alone says nothing: it is written after the record, and may be lost.
import type { ListedMachine } from '#functions/sweep/listing.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { readMarker } from '#shared/lifecycle/marker.ts';
import type { Owner } from '#shared/lifecycle/sweep.ts';
import { instanceName } from '#shared/plan/names.ts';
import { markerObject } from '#shared/plan/objects.ts';
import type { RunDeps } from '#shared/runs/deps.ts';
import { loadRecord } from '#shared/runs/record-store.ts';

export async function ownerByMarker(deps: RunDeps, machine: ListedMachine): Promise<Owner> {
  try {
    const reply = await deps.store.read(markerObject(machine.name));
    if (reply.kind === 'absent') return { kind: 'none' };
    const reading = readMarker(reply.bytes);
    if (reading.kind === 'unreadable') return { kind: 'unknown' };
    const { runId, attempt } = reading.marker;
    const { deployment } = deps.settings.plan;
    if (instanceName(deployment, runId, attempt) !== machine.name) return { kind: 'unknown' };
    const loaded = await loadRecord(deps.store, runId);
    return loaded === null ? { kind: 'none' } : { kind: 'record', record: loaded.record };
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown' };
    throw error;
  }
}
