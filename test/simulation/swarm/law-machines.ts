// The laws of machines, checked at each call that makes or deletes one: written before it is done, ours
// alone, and never the machine of a live attempt within its time.
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import { activeObject } from '#shared/plan/objects.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import type { LiveMachine } from '#test/simulation/swarm/jobs.ts';
import type { Break, Facts } from '#test/simulation/swarm/law-records.ts';
import { ours } from '#test/simulation/swarm/truth.ts';

/** As long as a call may be on its way. */
const FROZEN_MS = 25 * 60_000;

/** A function is about to delete this machine. */
export function judgeDelete(machine: LiveMachine, facts: Facts, broken: Break): void {
  const { truth, skewMs } = facts;
  const what = `${machine.name} in ${machine.zone}`;
  if (!ours(machine.labels)) {
    broken('2 no early death', `${what} is not ours, and is deleted`);
    return;
  }
  const labelMs = Number(machine.labels.deadline) * 1000;
  const place = `${machine.name}@${machine.zone}`;
  if (truth.nowMs > labelMs + SLACK_MS - skewMs) {
    facts.history.lateDeleted.set(place, truth.nowMs);
    return;
  }
  // A delete goes by name: one that was on its way to a machine past its deadline meets what landed since.
  const lateMs = facts.history.lateDeleted.get(place);
  if (lateMs !== undefined && truth.nowMs - lateMs <= FROZEN_MS) return;
  const runId = runOf(machine);
  const record = runId === null ? null : truth.record(runId);
  if (record === null) {
    const oldMs = 2 * SETTINGS.sweepPeriodSeconds * 1000 - skewMs;
    if (truth.nowMs - machine.createdMs <= oldMs) {
      broken('2 no early death', `${what} has no record yet, is young, and is deleted`);
    }
    return;
  }
  const attempt = record.attempts.find((one) => one.instance === machine.name);
  if (attempt === undefined) {
    broken('2 no early death', `${what} is nobody's, and is deleted`);
    return;
  }
  if (attempt.end !== null || attempt.order !== null) return;
  const claim = truth.claim(record.runId, attempt.number);
  if (claim?.by === 'control') return;
  if (claim?.by === 'machine' && claim.instanceId !== machine.id) return;
  broken('2 no early death', `${what} is deleted, its attempt lives and nothing orders it`);
}

/** An insert of a function is about to be sent. */
export function judgeInsert(requestId: string, name: string, facts: Facts, broken: Break): void {
  if (facts.history.requestIds.has(requestId)) return;
  broken('R1 write, then act', `${name} is ordered, and no record says so`);
}

/** An execution has come to be: a nonce of the record, and of an intent that is open. */
export function judgeStart(machine: LiveMachine, nonce: string, facts: Facts, broken: Break): void {
  const { truth } = facts;
  const record = truth.record(runOf(machine) ?? '');
  const attempt = record?.attempts.find((one) => one.nonce === nonce);
  if (attempt === undefined)
    broken('R1 write, then act', `${machine.id} starts, and no record says so`);
  else if (attempt.intentCount === 0)
    broken('R1 write, then act', `${machine.id} starts without an intent`);
  judgeBirth(machine, machine.id, facts, broken);
}

/** A machine has come to be. */
export function judgeBirth(
  machine: LiveMachine,
  requestId: string,
  facts: Facts,
  broken: Break,
): void {
  const { history, truth, skewMs } = facts;
  const again = history.landed.has(requestId);
  history.landed.add(requestId);
  history.machines.set(machine.id, machine.name);
  const runId = runOf(machine);
  if (runId === null || again || machine.doom !== null) return;
  const labelMs = Number(machine.labels.deadline) * 1000;
  if (truth.nowMs >= labelMs + SLACK_MS - skewMs) return;
  if (truth.generation(activeObject(runId)) === 0) {
    broken('R4 active entry last', `${machine.name} comes to be, its run's entry is gone`);
  }
}

/** An active entry has gone. */
export function judgeForget(runId: string, facts: Facts, broken: Break): void {
  const { truth, history, skewMs } = facts;
  if (truth.result(runId) === null) broken('R4 active entry last', `${runId}: no result yet`);
  for (const machine of truth.machines()) {
    // One that could not be made is the platform's own to take away.
    if (runOf(machine) !== runId || machine.doom !== null) continue;
    const labelMs = Number(machine.labels.deadline) * 1000;
    // What a frozen call makes of an intent that was settled is the label's, as is what is late.
    const repeated = [...history.machines].filter(([, name]) => name === machine.name).length > 1;
    if (repeated || truth.nowMs >= labelMs + SLACK_MS - skewMs) continue;
    broken('R4 active entry last', `${runId}: ${machine.name} is still there`);
  }
}

/** Run ids here are their own labels. */
export function runOf(machine: LiveMachine): string | null {
  return machine.labels.run_id ?? null;
}
