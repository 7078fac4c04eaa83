// finalize: a marker has arrived. Its word counts when it is this attempt's (name, number, nonce); then
// the run is decided, the record written, the machine deleted, the result written. What cannot be read
// is acknowledged and counted: the sweep is this function's net.
import { isTerminal, type Marker, readMarker, speaksFor } from '#shared/lifecycle/marker.ts';
import { currentAttempt } from '#shared/lifecycle/record.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { instanceName } from '#shared/plan/names.ts';
import { MARKER_PREFIX, markerObject } from '#shared/plan/objects.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import type { Outcome } from '#shared/push/outcome.ts';
import { advance } from '#shared/runs/advance.ts';
import { type RunDeps, traced } from '#shared/runs/deps.ts';
import { readNotification } from '#shared/runs/notification.ts';
import { type LoadedRecord, loadRecord } from '#shared/runs/record-store.ts';

const DONE: Outcome = { kind: 'done' };

/** One delivery of `run-status`. Throws a CloudError when a service cannot be asked. */
export async function handleFinalize(message: PushMessage, deps: RunDeps): Promise<Outcome> {
  const notification = readNotification(message);
  const { bucket } = deps.settings.plan;
  if (notification.kind === 'foreign') return ignore(deps, message, notification.reason);
  if (notification.bucket !== bucket) {
    return ignore(deps, message, `bucket ${notification.bucket} is not ours`);
  }
  const { object, generation } = notification;
  if (notification.eventType !== 'OBJECT_FINALIZE') return DONE;
  if (!object.startsWith(MARKER_PREFIX)) return ignore(deps, message, `${object} is no marker`);
  const reply = await deps.store.read(object, generation || undefined);
  // Replaced since: the newer generation has an event of its own.
  if (reply.kind === 'absent') return DONE;
  const reading = readMarker(reply.bytes);
  if (reading.kind === 'unreadable') return ignore(deps, message, `${object}: ${reading.reason}`);
  if (reading.marker.sealed || reading.marker.status === 'PROVISIONING') return DONE;
  return await applyMarker(deps, message, { object, generation, marker: reading.marker });
}

async function applyMarker(
  deps: RunDeps,
  message: PushMessage,
  read: { readonly object: string; readonly generation: string; readonly marker: Marker },
): Promise<Outcome> {
  const { marker, object, generation } = read;
  const { deployment } = deps.settings.plan;
  const instance = instanceName(deployment, marker.runId, marker.attempt);
  const name = markerObject(instance);
  // One of several tasks: they are judged together, when their execution has ended.
  if (isTaskMarker(object, instance)) return DONE;
  if (name !== object) return ignore(deps, message, `${object} speaks for ${name}`);
  const loaded = await loadRecord(deps.store, marker.runId);
  if (loaded === null) return ignore(deps, message, `${object}: no run ${marker.runId} is known`);
  const refused = whyNot(loaded, marker);
  const { log } = traced(deps, loaded.record.terms.traceparent);
  if (refused !== null) return ignore({ log }, message, `${object}: ${refused}`, marker.runId);
  if (isFinal(loaded.record.state) && !isTerminal(marker)) return DONE;
  log('INFO', 'marker-read', `${marker.instance}: ${marker.status}`, {
    runId: marker.runId,
    attempt: marker.attempt,
    status: marker.status,
    step: marker.step,
    cause: marker.cause,
    generation,
  });
  await advance(deps, loaded, { depth: 'marker', seen: { marker: { marker, generation } } });
  return DONE;
}

const isTaskMarker = (object: string, instance: string) =>
  object.startsWith(`${MARKER_PREFIX}${instance}.`) && /\.\d+\.json$/.test(object);

/** Why this marker does not speak for the run's current attempt; null when it does. */
function whyNot(loaded: LoadedRecord, marker: Marker): string | null {
  const attempt = currentAttempt(loaded.record);
  if (attempt === null) return 'the run has no attempt';
  if (marker.attempt < attempt.number) return `attempt ${marker.attempt} is over`;
  return speaksFor(marker, attempt) ? null : 'its nonce is not the attempt’s';
}

function ignore(
  deps: Pick<RunDeps, 'log'>,
  message: PushMessage,
  reason: string,
  runId?: string,
): Outcome {
  const { messageId } = message;
  deps.log('WARNING', 'status-ignored', `message ${messageId}: ${reason}`, { messageId, runId });
  return DONE;
}
