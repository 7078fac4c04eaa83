// The failure table as its rows occur: by whose word an attempt ends, with which cause, and what comes
// of it. A row that is none of these is a violation.
import type { AttemptEnd, RunRecord } from '#shared/lifecycle/record.ts';

const RETRIED: Readonly<Record<string, string>> = {
  'marker: exit': 'failed',
  'marker: out-of-memory': 'outOfMemory',
  'marker: step-failed': 'failed',
  'marker: step-failed, may pass': 'infrastructure',
  'marker: gpu-idle': 'failed',
  'gone: preempted': 'preempted',
  'gone: host-error': 'infrastructure',
  'gone: machine-lost': 'infrastructure',
  'gone: interrupted': 'infrastructure',
  'gone: exit': 'failed',
  'gone: out-of-memory': 'outOfMemory',
  'gone: step-failed': 'failed',
  'gone: step-failed, may pass': 'infrastructure',
  'gone: gpu-idle': 'failed',
  'not placed: machine-lost': 'abandoned',
};

const FINAL = [
  'marker: success',
  'marker: timeout',
  'marker: ttl',
  'marker: cancelled',
  'gone: timeout',
  'gone: ttl',
  'gone: cancelled',
  'gone: cancelled-outside',
  'not placed: refused',
  'not placed: stock-out',
  'not placed: quota',
  'no attempt: cancelled',
  'no attempt: refused',
  'no attempt: over the budget',
  'no attempt: no larger class',
];

export const ROWS: readonly string[] = [
  ...Object.entries(RETRIED).flatMap(([row, counter]) => [
    `row ${row} → again (${counter})`,
    `row ${row} → the end`,
  ]),
  ...FINAL.map((row) => `row ${row} → the end`),
];

/** The row of an attempt that has just ended; `spoken`: by its machine's own last word. */
export function rowOfAttempt(
  before: RunRecord | null,
  after: RunRecord,
  end: AttemptEnd,
  spoken: boolean,
): string {
  const counters = Object.keys(after.used) as (keyof RunRecord['used'])[];
  const counter = counters.find((name) => after.used[name] > (before?.used[name] ?? 0));
  const whose = spoken ? 'marker' : wasPlaced(before, end, counter) ? 'gone' : 'not placed';
  const next = after.end === null ? `again (${counter ?? 'no counter'})` : 'the end';
  return `row ${whose}: ${nameOf(end)} → ${next}`;
}

/** The row of a run that ends between two attempts, or before the first. */
export function rowOfRun({ attempts, end }: RunRecord): string {
  const last = attempts.at(-1)?.end;
  const why = last?.cause === end?.cause ? /budget|class/.exec(end?.detail ?? '')?.[0] : undefined;
  const names: Readonly<Record<string, string>> = {
    budget: 'over the budget',
    class: 'no larger class',
  };
  return `row no attempt: ${names[why ?? ''] ?? end?.cause} → the end`;
}

function wasPlaced(
  before: RunRecord | null,
  { cause }: AttemptEnd,
  counter: string | undefined,
): boolean {
  if (cause === 'refused' || cause === 'stock-out' || cause === 'quota') return false;
  const unknown = counter === 'abandoned' || before?.state === 'PLACING';
  return !unknown || cause !== 'machine-lost';
}

function nameOf(end: AttemptEnd): string {
  if (end.status === 'SUCCEEDED') return 'success';
  return end.transient === true ? `${end.cause}, may pass` : end.cause;
}
