// The reads that `decide` asks for, each turned into a fact. A thing that cannot be read is unknown.
import type { MachineReply, Operation } from '#shared/cloud/compute.ts';
import { type BootReport, readBootReport } from '#shared/lifecycle/boot-report.ts';
import type { MachineEnding } from '#shared/lifecycle/failures.ts';
import { readMarker, speaksFor } from '#shared/lifecycle/marker.ts';
import type { MachineFact, MarkerFact, OperationFact } from '#shared/lifecycle/observation.ts';
import type { Attempt } from '#shared/lifecycle/record.ts';
import { instanceName, isOwnDelete } from '#shared/plan/names.ts';
import { markerObject } from '#shared/plan/objects.ts';
import type { Quotas } from '#shared/plan/quota.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

/** The live marker of an attempt; one that cannot be read or is not its word counts as none. */
export async function readMarkerFact(deps: RunDeps, attempt: Attempt): Promise<MarkerFact> {
  const reply = await deps.store.read(markerObject(attempt.instance));
  if (reply.kind === 'absent') return { marker: null, generation: '0' };
  const { generation } = reply;
  const reading = readMarker(reply.bytes);
  if (reading.kind === 'unreadable' || !speaksFor(reading.marker, attempt)) {
    const reason = reading.kind === 'unreadable' ? reading.reason : 'another attempt or nonce';
    deps.log('WARNING', 'marker-ignored', `${attempt.instance}: ${reason}`, { generation });
    return { marker: null, generation };
  }
  return { marker: reading.marker, generation };
}

/**
 * The run that the marker of a machine's name tells; `other`: it cannot be read, or its own run and
 * attempt have another name. Throws a CloudError when the bucket cannot be asked.
 */
export async function runOfMachine(
  deps: RunDeps,
  instance: string,
): Promise<
  { readonly kind: 'run'; readonly runId: string } | { readonly kind: 'absent' | 'other' }
> {
  const reply = await deps.store.read(markerObject(instance));
  if (reply.kind === 'absent') return reply;
  const reading = readMarker(reply.bytes);
  if (reading.kind === 'unreadable') return { kind: 'other' };
  const { runId, attempt } = reading.marker;
  const named = instanceName(deps.settings.plan.deployment, runId, attempt) === instance;
  return named ? { kind: 'run', runId } : { kind: 'other' };
}

export async function readMachineFact(
  deps: RunDeps,
  attempt: Attempt,
  zone: string,
): Promise<MachineFact> {
  return machineFact(await deps.compute.getInstance(zone, attempt.instance), attempt, deps);
}

export function machineFact(reply: MachineReply, attempt: Attempt, deps: RunDeps): MachineFact {
  if (reply.kind !== 'there') return { kind: reply.kind };
  const { machine } = reply;
  const ours =
    machine.labels.deployment === deps.settings.plan.deployment &&
    machine.labels.attempt === String(attempt.number) &&
    machine.metadata['mayfly-nonce'] === attempt.nonce;
  const { id, status, lastStartMs } = machine;
  return { kind: 'there', id, status, ours, startedMs: lastStartMs };
}

export async function readOperationFact(
  deps: RunDeps,
  zone: string,
  name: string,
): Promise<OperationFact> {
  const reply = await deps.compute.getOperation(zone, name);
  return reply.kind === 'there' ? operationFact(reply.operation) : { kind: 'unknown' };
}

function operationFact(operation: Operation): OperationFact {
  if (operation.status !== 'DONE') return { kind: 'pending' };
  const [error] = operation.errors;
  if (error === undefined) return { kind: 'succeeded', instanceId: operation.targetId };
  return { kind: 'failed', error };
}

/** What a machine says of its boot; null also when that cannot be read, which stops nothing. */
export async function readBootReportOf(
  deps: RunDeps,
  instance: string,
  zone: string,
): Promise<BootReport | null> {
  return readBootReport(await deps.compute.getGuestAttributes(zone, instance));
}

/** What the zone's operations say about how a machine went; unknown when they cannot be listed. */
export async function readEnding(
  deps: RunDeps,
  zone: string,
  instanceId: string,
): Promise<MachineEnding | 'unknown'> {
  const reply = await deps.compute.listOperations(zone, instanceId);
  if (reply.kind === 'unknown') return 'unknown';
  const types = new Set(reply.operations.map((operation) => operation.operationType));
  if (types.has('compute.instances.preempted')) return 'preempted';
  if (types.has('compute.instances.hostError')) return 'host-error';
  if (types.has('compute.instances.terminateOnHostMaintenance')) return 'host-error';
  const deleted = reply.operations.some(
    (operation) => operation.operationType === 'delete' && isOutside(operation, deps),
  );
  return deleted ? 'deleted' : 'none';
}

/** Deletes by the platform itself, by a worker account or by ours are not somebody's decision. */
function isOutside({ user, requestId }: Operation, { settings }: RunDeps): boolean {
  const { deployment, workerServiceAccounts } = settings.plan;
  if (isOwnDelete(deployment, requestId)) return false;
  if (user === null || user === 'system' || user === 'system@google.com') return false;
  return !workerServiceAccounts.includes(user);
}

/** The quotas of each scope; one that cannot be read is left out, and stops nothing. */
export async function readQuotas(
  deps: RunDeps,
  runId: string,
  scopes: readonly string[],
): Promise<Quotas> {
  const read = await Promise.all(
    scopes.map(async (scope) => [scope, await deps.compute.getQuotas(scope)] as const),
  );
  const known = read.flatMap(([scope, quotas]) =>
    quotas === null ? [] : [[scope, quotas] as const],
  );
  const unknown = read.flatMap(([scope, quotas]) => (quotas === null ? [scope] : []));
  deps.log('INFO', 'quotas-read', `${runId}: ${known.length} of ${scopes.length}`, {
    runId,
    unknown,
  });
  return Object.fromEntries(known);
}
