// The laws of a record, checked at each of its writes against what is really so: never backwards, no end
// but by R3, orders with a true reason, no further attempt after a cancel.
import { ABANDONED_MAX, BOOT_ALLOWANCE_MS, SLACK_MS } from '#shared/lifecycle/limits.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import type { History } from '#test/simulation/swarm/history.ts';
import { hasFailedTask } from '#test/simulation/swarm/jobs.ts';
import type { Truth } from '#test/simulation/swarm/truth.ts';

/** Between a look at a machine and the end that follows from it, its calls repeated and all. */
const LOOK_MS = 5 * 60_000;

export type Break = (law: string, what: string) => void;

export interface Facts {
  readonly truth: Truth;
  readonly history: History;
  readonly skewMs: number;
}

export function judgeRecord(
  before: RunRecord | null,
  after: RunRecord,
  facts: Facts,
  broken: Break,
): void {
  const { runId } = after;
  if (before?.end) {
    broken('4 one end', `${runId}: its record changed after its end (${before.end.status})`);
  }
  if (before !== null && order(after) < order(before)) {
    broken('4 one end', `${runId}: its record went back`);
  }
  const grown = after.attempts.length - (before?.attempts.length ?? 0);
  if (grown > 1) broken('6 bounded', `${runId}: ${grown} attempts at once`);
  judgeCounters(after, broken);
  const last = before?.attempts.at(-1);
  if (grown === 1 && last !== undefined) judgeRetry(after, last, facts, broken);
  for (const attempt of after.attempts) {
    const earlier = before?.attempts.find((one) => one.number === attempt.number);
    if (attempt.order !== null && !earlier?.order) judgeOrder(after, attempt, facts, broken);
    if (attempt.end !== null && !earlier?.end) judgeEnd(after, attempt, facts, broken);
  }
}

const order = (record: RunRecord) =>
  record.attempts.length * 1e6 + (record.attempts.at(-1)?.intentCount ?? 0);

function judgeCounters({ runId, used, terms }: RunRecord, broken: Break): void {
  for (const name of ['preempted', 'infrastructure', 'outOfMemory', 'failed'] as const) {
    if (used[name] > terms.retry[name])
      broken('6 bounded', `${runId}: ${used[name]} retries ${name}`);
  }
  if (used.abandoned > ABANDONED_MAX)
    broken('6 bounded', `${runId}: abandoned ${used.abandoned} times`);
}

const NEVER_AGAIN: readonly string[] = ['SUCCEEDED', 'TIMED_OUT', 'CANCELLED', 'NO_CAPACITY'];

function judgeRetry(after: RunRecord, last: Attempt, { history }: Facts, broken: Break): void {
  const what = `${after.runId}: attempt ${after.attempts.length}`;
  if (last.end === null)
    broken('3 one worker', `${what} begins before attempt ${last.number} ended`);
  if (after.cancel !== null) broken('4 one end', `${what} begins after a cancel was ordered`);
  if (NEVER_AGAIN.includes(last.end?.status ?? '') || history.succeeded.has(last.instance)) {
    broken('4 one end', `${what} begins after attempt ${last.number} was ${last.end?.status}`);
  }
}

function judgeOrder(after: RunRecord, attempt: Attempt, facts: Facts, broken: Break): void {
  const { history, truth, skewMs } = facts;
  const what = `${after.runId}: attempt ${attempt.number} is ordered to stop (${attempt.order?.reason})`;
  switch (attempt.order?.reason) {
    case 'cancelled':
      if (!history.cancelled.has(after.runId))
        broken('2 no early death', `${what}, nobody cancelled`);
      return;
    case 'deadline':
      if (truth.nowMs < deadlineMs(attempt) - skewMs) {
        broken('2 no early death', `${what} ${deadlineMs(attempt) - truth.nowMs} ms early`);
      }
      return;
    case 'stopped': {
      const stopped = [...history.stopped, ...history.preempted].some(
        (id) => history.machines.get(id) === attempt.instance,
      );
      if (!stopped) broken('2 no early death', `${what}, and never was`);
      return;
    }
    case 'ending': {
      const causes = history.causes.get(attempt.instance);
      if (!causes?.has('interrupted') && !causes?.has('preempted')) {
        broken('2 no early death', `${what}, and never said so`);
      }
      return;
    }
    default:
      if (truth.claim(after.runId, attempt.number)?.by === 'machine') {
        broken('2 no early death', `${what}, and a machine holds its claim`);
      }
  }
}

/** R3, and the true word. */
function judgeEnd(after: RunRecord, attempt: Attempt, facts: Facts, broken: Break): void {
  const { truth, skewMs } = facts;
  const what = `${after.runId}: attempt ${attempt.number} ends as ${attempt.end?.status} (${attempt.end?.cause})`;
  const claim = truth.claim(after.runId, attempt.number);
  const marker = truth.word(attempt.instance, after.terms.tasks ?? 1);
  if (claim === null) {
    broken('3 one worker', `${what} while its claim is free`);
    return;
  }
  const spoken = marker !== null && (marker.status === 'SUCCEEDED' || marker.status === 'FAILED');
  if (!spoken) broken('4 one end', `${what} while its marker is open (${marker?.status})`);
  // A forged marker is nobody's word.
  const own = spoken && marker.sealed !== true && marker.nonce === attempt.nonce;
  const succeeded = own && marker.status === 'SUCCEEDED';
  if (succeeded !== (attempt.end?.status === 'SUCCEEDED')) {
    broken('4 one end', `${what}, its marker says ${marker?.status}`);
  }
  const ending = own && (marker.cause === 'interrupted' || marker.cause === 'preempted');
  if (
    own &&
    !ending &&
    !succeeded &&
    after.cancel === null &&
    marker.cause !== attempt.end?.cause
  ) {
    broken('5 nothing lost', `${what}, its marker says ${marker.cause}`);
  }
  if (claim.by === 'machine' && (!own || ending)) {
    const gone = truth.machine(claim.instanceId) === null;
    const late = truth.nowMs >= deadlineMs(attempt) + SLACK_MS - skewMs;
    if (!gone && !late) broken('3 one worker', `${what} while the claim's holder is there`);
  }
  if (claim.by === 'control' && own)
    broken('3 one worker', `${what}, a machine spoke without claim`);
  judgeCause(after, attempt, { claim, facts, what }, broken);
}

function judgeCause(
  after: RunRecord,
  attempt: Attempt,
  known: { claim: ReturnType<Truth['claim']>; facts: Facts; what: string },
  broken: Break,
): void {
  const { history, truth, skewMs } = known.facts;
  const ids = [...history.machines]
    .filter(([, name]) => name === attempt.instance)
    .map(([id]) => id);
  const any = (set: ReadonlySet<string>) => ids.some((id) => set.has(id));
  const lie = (why: string) => broken('5 nothing lost', `${known.what}, ${why}`);
  switch (attempt.end?.cause) {
    case 'cancelled':
      if (!history.cancelled.has(after.runId)) lie('nobody cancelled');
      return;
    case 'cancelled-outside':
      if (!any(history.deletedOutside)) lie('nobody outside deleted its machine, or cancelled it');
      return;
    case 'preempted':
      if (!any(history.preempted)) lie('its machine was not preempted');
      return;
    case 'ttl': {
      const spoken = history.causes.get(attempt.instance)?.has('ttl') === true;
      const ttlMs = after.terms.ttlSeconds * 1000;
      const starts = ids.flatMap((id) => history.started.get(id) ?? []);
      const endsMs = Math.min(deadlineMs(attempt), ...starts.map((startMs) => startMs + ttlMs));
      if (!spoken && truth.nowMs < endsMs - 2 * skewMs) lie('its time was not up');
      return;
    }
    case 'stock-out':
    case 'quota':
      // An execution that does not start is as good as refused.
      if (
        !history.refused.has(after.runId) &&
        ids.every((id) => truth.execution(id)?.startedMs !== null)
      ) {
        lie('no place refused it');
      }
      return;
    case 'exit':
    case 'out-of-memory':
    case 'step-failed':
    case 'gpu-idle':
    case 'timeout':
      if (!saidSo(after, attempt, known.facts)) lie('nobody said so');
      return;
    case 'machine-lost':
    case 'interrupted':
      judgeLoss(attempt, known, lie);
      return;
    default:
      return;
  }
}

/** A task's own marker, or what the platform says of a task that left none. */
function saidSo({ terms }: RunRecord, attempt: Attempt, { history, truth }: Facts): boolean {
  const tasks = Array.from(
    { length: terms.tasks ?? 1 },
    (_, task) => `${attempt.instance}.${task}`,
  );
  const cause = attempt.end?.cause ?? '';
  if ([attempt.instance, ...tasks].some((name) => history.causes.get(name)?.has(cause)))
    return true;
  return attempt.intents.some(({ instanceId }) => {
    const execution = instanceId === null ? null : truth.execution(instanceId);
    return execution !== null && hasFailedTask(execution);
  });
}

/** Lost is what is gone, or never came to work within its time; and lost by what it was lost by. */
function judgeLoss(
  attempt: Attempt,
  { claim, facts }: { claim: ReturnType<Truth['claim']>; facts: Facts },
  lie: (why: string) => void,
): void {
  const { history, truth, skewMs } = facts;
  if (claim?.by === 'machine' && history.preempted.has(claim.instanceId)) lie('it was preempted');
  const accepted = attempt.intents.at(-1)?.status === 'accepted';
  if (claim?.by !== 'control' || attempt.order !== null || !accepted) return;
  // A late call made another machine of the name: it may be there, and the one that was lost is not.
  const ofTheName = [...history.machines.values()].filter((name) => name === attempt.instance);
  if (ofTheName.length > 1) return;
  const healthy = truth.machines().find((machine) => {
    if (machine.name !== attempt.instance || machine.doom !== null) return false;
    const sinceMs = truth.nowMs - (machine.lastStartMs ?? truth.nowMs);
    const coming = ['PROVISIONING', 'STAGING', 'RUNNING'].includes(machine.status);
    return coming && sinceMs < BOOT_ALLOWANCE_MS - skewMs - LOOK_MS;
  });
  if (healthy !== undefined) lie(`its machine is ${healthy.status}`);
}

export function deadlineMs(attempt: Attempt): number {
  const deadlines = attempt.intents.map((intent) => intent.deadlineSeconds * 1000);
  return deadlines.length === 0 ? Number.NEGATIVE_INFINITY : Math.max(...deadlines);
}
