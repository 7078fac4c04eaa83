// What to do with one machine that carries our label: the pure half of the sweep. A delete needs an
// order in the record, or one of two exceptions: past its own deadline label, or without any record.
import { isFinishing } from '#shared/lifecycle/end-attempt.ts';
import { isKept } from '#shared/lifecycle/kept.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';

export interface SweptMachine {
  readonly name: string;
  readonly id: string;
  readonly zone: string;
  readonly status: string;
  /** It carries our label and our deployment's. */
  readonly ours: boolean;
  /** The label's; null when it is missing or no number. */
  readonly deadlineMs: number | null;
  /** The platform's, else the label's. */
  readonly createdMs: number | null;
}

export type Owner =
  | { readonly kind: 'record'; readonly record: RunRecord }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' };

export type Verdict =
  | { readonly kind: 'kept'; readonly why: 'live' | 'young' | 'failed' | 'finishing' }
  /** `sinceMs`: when it should have gone; null when that is not known. */
  | {
      readonly kind: 'doomed';
      readonly why: 'past-deadline' | 'attempt-ended' | 'stop-ordered' | 'not-the-holder';
      readonly sinceMs: number | null;
    }
  /** Older than two periods and no record: at most a named number of these a pass. */
  | { readonly kind: 'stray'; readonly sinceMs: number }
  | { readonly kind: 'unknown'; readonly why: string }
  /** Another deployment's, or nobody's: never touched. */
  | { readonly kind: 'foreign' };

/** What a machine's labels say of it. */
export function readLabels(
  labels: Readonly<Record<string, string>>,
  deployment: string,
): Pick<SweptMachine, 'ours' | 'deadlineMs' | 'createdMs'> {
  return {
    ours: labels['managed-by'] === 'mayfly' && labels.deployment === deployment,
    deadlineMs: epochMs(labels.deadline),
    createdMs: epochMs(labels.created),
  };
}

/** A label in epoch seconds; null when it is missing or not a number. */
function epochMs(text = ''): number | null {
  return /^\d{1,12}$/.test(text) ? Number(text) * 1000 : null;
}

export function judgeMachine(
  machine: SweptMachine,
  owner: Owner,
  strayAfterMs: number,
  nowMs: number,
): Verdict {
  const { ours, deadlineMs, createdMs: bornMs } = machine;
  if (!ours) return { kind: 'foreign' };
  if (deadlineMs !== null && nowMs > deadlineMs + SLACK_MS) {
    return { kind: 'doomed', why: 'past-deadline', sinceMs: deadlineMs + SLACK_MS };
  }
  if (owner.kind === 'unknown')
    return { kind: 'unknown', why: 'its record was not read in this pass' };
  if (owner.kind === 'record') return judgeByRecord(machine, owner.record, nowMs);
  if (bornMs === null) return { kind: 'unknown', why: 'no record, and its age is not known' };
  return nowMs - bornMs > strayAfterMs
    ? { kind: 'stray', sinceMs: bornMs + strayAfterMs }
    : { kind: 'kept', why: 'young' };
}

function judgeByRecord(machine: SweptMachine, record: RunRecord, nowMs: number): Verdict {
  const attempt = record.attempts.find((one) => one.instance === machine.name);
  if (attempt === undefined) {
    return { kind: 'unknown', why: `run ${record.runId} has no attempt of that name` };
  }
  if (isFinishing(record, attempt, nowMs)) return { kind: 'kept', why: 'finishing' };
  if (attempt.end !== null) {
    if (isKept(attempt, machine, nowMs)) return { kind: 'kept', why: 'failed' };
    const sinceMs = Math.max(attempt.end.atMs, attempt.kept?.untilMs ?? 0);
    return { kind: 'doomed', why: 'attempt-ended', sinceMs };
  }
  if (attempt.order !== null) {
    return { kind: 'doomed', why: 'stop-ordered', sinceMs: attempt.order.atMs };
  }
  const { claim } = attempt;
  if (claim?.by === 'control') return { kind: 'doomed', why: 'not-the-holder', sinceMs: null };
  if (claim?.by === 'machine' && claim.instanceId !== machine.id) {
    return { kind: 'doomed', why: 'not-the-holder', sinceMs: null };
  }
  return { kind: 'kept', why: 'live' };
}
