// signals: something has happened to one of our machines or executions, or a task tells of itself. A
// signal is only a hint to look: machine and record are read afresh and decided as the sweep would. Signals
// that are lost, late, forged or repeated change nothing but speed, and what cannot be read is acknowledged
// and counted. The last entry of a delete never makes a further delete: our own would go round and round.
import {
  type JobEntry,
  readCompletionEntry,
  readEventEntry,
} from '#functions/signals/job-entry.ts';
import { readEntry, readSignal } from '#functions/signals/signal.ts';
import { ProgressWriter, readGenuineEvent } from '#functions/signals/task-events.ts';
import type { CloudError } from '#shared/cloud/errors.ts';
import { machineKey } from '#shared/lifecycle/observation.ts';
import { currentAttempt } from '#shared/lifecycle/record.ts';
import type { SignedEvent, TaskEvent } from '#shared/lifecycle/task-event.ts';
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { activeObject } from '#shared/plan/objects.ts';
import { isRunId } from '#shared/plan/run-id.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import type { Outcome } from '#shared/push/outcome.ts';
import { advance } from '#shared/runs/advance.ts';
import { type RunDeps, traced } from '#shared/runs/deps.ts';
import { machineFact, runOfMachine } from '#shared/runs/observe.ts';
import { type LoadedRecord, loadRecord } from '#shared/runs/record-store.ts';

const DONE: Outcome = { kind: 'done' };

/** One delivery of `run-signals`. Throws a CloudError when the bucket cannot be asked. */
export async function handleSignals(message: PushMessage, deps: RunDeps): Promise<Outcome> {
  const entry = readEntry(message);
  const event = readEventEntry(entry);
  if (event !== null) return await takeEvent(deps, message, event);
  const completion = readCompletionEntry(entry, deps.settings.plan);
  if (completion !== null) return await takeCompletion(deps, message, completion);
  return await takeMachineSignal(deps, message);
}

/** One a process, as its dependencies are. */
const writers = new WeakMap<RunDeps['store'], ProgressWriter>();

function writerOf({ store }: RunDeps): ProgressWriter {
  const writer = writers.get(store) ?? new ProgressWriter();
  writers.set(store, writer);
  return writer;
}

/** Of these a look is due; the others are for people to read. */
const WORTH_A_LOOK: readonly TaskEvent['kind'][] = ['claimed', 'running', 'ended'];

async function takeEvent(
  deps: RunDeps,
  message: PushMessage,
  entry: JobEntry & { readonly signed: SignedEvent },
): Promise<Outcome> {
  const reading = await readGenuineEvent(deps, entry);
  if (reading.kind === 'refused') {
    const { reason, runId } = reading;
    const text = `message ${message.messageId}: ${reason}`;
    deps.log('WARNING', 'task-event-refused', text, { runId, execution: entry.execution });
    return DONE;
  }
  const { event, loaded } = reading;
  if (!(await writerOf(deps).store(deps, event)))
    return { kind: 'retry', reason: `progress of ${event.runId}: overtaken` };
  // A repeated one too: the look after its first delivery may have been lost.
  const due = WORTH_A_LOOK.includes(event.kind) && !(await isForgotten(deps, loaded));
  if (due) await advance(deps, loaded, { depth: 'full' });
  return DONE;
}

/** The execution is asked for afresh, and says itself whose it is. */
async function takeCompletion(
  deps: RunDeps,
  message: PushMessage,
  name: JobEntry,
): Promise<Outcome> {
  const reply = await deps.jobs.getExecution(name);
  if (reply.kind === 'unknown') return retry(name.execution, reply.error);
  const runId = reply.kind === 'there' ? reply.execution.env.MAYFLY_RUN_ID : undefined;
  const loaded = isRunId(runId) ? await loadRecord(deps.store, runId) : null;
  if (loaded === null) return ignore(deps, message, `${name.execution}: nothing says whose it is`);
  if (isBeingNoted(loaded, name.region)) return noting(name.execution);
  if (!(await isForgotten(deps, loaded))) await advance(deps, loaded, { depth: 'full' });
  return DONE;
}

async function takeMachineSignal(deps: RunDeps, message: PushMessage): Promise<Outcome> {
  const signal = readSignal(message, deps.settings.plan);
  if (signal.kind === 'foreign') return ignore(deps, message, signal.reason);
  const { instance, zone } = signal;
  const owner = await runOfMachine(deps, instance);
  if (owner.kind !== 'run') return ignore(deps, message, `${instance}: no marker says whose it is`);
  const { runId } = owner;
  const loaded = await loadRecord(deps.store, runId);
  const attempt = loaded?.record.attempts.find((one) => one.instance === instance);
  if (loaded === null || attempt === undefined) {
    return ignore(deps, message, `${instance}: its run ${runId} has no such attempt`);
  }
  if (isBeingNoted(loaded, zone)) return noting(instance);
  if (await isForgotten(deps, loaded)) return DONE;
  const reply = await deps.compute.getInstance(zone, instance);
  if (reply.kind === 'unknown') return retry(instance, reply.error);
  if (reply.kind === 'there' && signal.what === 'deleted') return DONE;
  const { log } = traced(deps, loaded.record.terms.traceparent);
  log('INFO', 'signal-read', `${instance} in ${zone}: ${signal.methodName}`, {
    runId,
    attempt: attempt.number,
    zone,
    method: signal.methodName,
    machine: reply.kind,
  });
  const machines = { [machineKey(instance, zone)]: machineFact(reply, attempt, deps) };
  await advance(deps, loaded, { depth: 'full', seen: { machines } });
  return DONE;
}

/**
 * Submit has asked for it there and has not yet written what it was told: to decide now would find nothing
 * placed, and the signal would be spent. The zone of an execution is its region.
 */
function isBeingNoted({ record }: LoadedRecord, zone: string): boolean {
  const attempt = currentAttempt(record);
  if (attempt === null || attempt.end !== null || attempt.claim !== null) return false;
  return attempt.intents.some(
    ({ status, candidate }) => status === 'ordered' && candidate.zone === zone,
  );
}

const noting = (name: string): Outcome => ({
  kind: 'retry',
  reason: `${name}: its creation is not yet in the record`,
});

/** Ended, and its active entry gone: nothing of it is left, for the sweep neither. */
async function isForgotten(deps: RunDeps, { record }: LoadedRecord): Promise<boolean> {
  if (!isFinal(record.state)) return false;
  return (await deps.store.read(activeObject(record.runId))).kind === 'absent';
}

const retry = (instance: string, { code }: CloudError): Outcome => ({
  kind: 'retry',
  reason: `${instance} cannot be asked after now: ${code}`,
});

function ignore(deps: RunDeps, message: PushMessage, reason: string): Outcome {
  const { messageId } = message;
  deps.log('WARNING', 'signal-ignored', `message ${messageId}: ${reason}`, { messageId });
  return DONE;
}
