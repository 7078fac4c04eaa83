// Labels: the user's, made legal with a warning for each change, and ours (contract §2).
// Compute Engine: keys of 1 to 63 characters that begin with a letter, values of 0 to 63; lower-case
// letters, digits, `_` and `-`.
import { type Broken, fault, fieldPath, valueText } from '#shared/plan/fault.ts';
import { LABEL_CHARACTERS_MAX, LABELS_MAX } from '#shared/plan/limits.ts';
import type { Fault } from '#shared/plan/model.ts';
import { runHash } from '#shared/plan/names.ts';

const OURS = [
  'managed-by',
  'deployment',
  'run_id',
  'run-hash',
  'attempt',
  'intent',
  'deadline',
  'created',
  'runtime',
] as const;

export interface LegalLabels {
  readonly labels: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly faults: readonly Fault[];
}

/** The user's labels as Compute Engine takes them; colliding and reserved keys are faults. */
export function legalLabels(asked: Readonly<Record<string, string>>): LegalLabels {
  const origin = new Map<string, string>();
  const labels: [string, string][] = [];
  const warnings: string[] = [];
  const faults: Fault[] = [];
  for (const [key, value] of Object.entries(asked)) {
    const legalKey = legalLabelKey(key);
    const broken = brokenKey(legalKey, origin.get(legalKey));
    if (broken !== null) {
      faults.push(fault(fieldPath('labels', [key]), value, broken));
      continue;
    }
    origin.set(legalKey, key);
    const legalValue = legalLabelValue(value);
    labels.push([legalKey, legalValue]);
    if (legalKey !== key) warnings.push(`label key ${valueText(key)} is written as "${legalKey}"`);
    if (legalValue !== value) {
      warnings.push(`label "${legalKey}": ${valueText(value)} is written as "${legalValue}"`);
    }
  }
  if (labels.length > LABELS_MAX) faults.push(fault('labels', labels.length, TOO_MANY));
  return { labels: Object.fromEntries(labels), warnings, faults };
}

const TOO_MANY: Broken = {
  rule: `a run has at most ${LABELS_MAX} labels of its own`,
  accepted: `${LABELS_MAX} labels; annotations take the rest`,
};

function brokenKey(legalKey: string, taken: string | undefined): Broken | null {
  if (legalKey === '') {
    return { rule: 'a label key has a letter or digit', accepted: 'for example team' };
  }
  if ((OURS as readonly string[]).includes(legalKey)) {
    return { rule: `the label ${legalKey} is Mayfly's own`, accepted: 'another key' };
  }
  if (taken === undefined) return null;
  return {
    rule: `this key and ${valueText(taken)} are both written as "${legalKey}"`,
    accepted: 'keys that differ in lower case',
  };
}

function legalLabelKey(key: string): string {
  const legal = legalLabelValue(key);
  const named = /^[^a-z]/.test(legal) && /[a-z0-9]/.test(legal) ? `l-${legal}` : legal;
  return /[a-z0-9]/.test(named) ? named.slice(0, LABEL_CHARACTERS_MAX) : '';
}

/** Lower case, `-` for what a label cannot hold, cut to its length. */
function legalLabelValue(value: string): string {
  return value
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '-')
    .slice(0, LABEL_CHARACTERS_MAX);
}

/** The `run_id` label: the id itself when it is legal, else a slug that ends in the id's hash. */
export function runIdLabel(runId: string, hash: string = runHash(runId)): string {
  const legal = legalLabelValue(runId);
  if (legal === runId) return runId;
  return `${legal.slice(0, LABEL_CHARACTERS_MAX - hash.length - 1)}-${hash}`;
}

export interface LabelFacts {
  readonly deployment: string;
  readonly runId: string;
  readonly attempt: number;
  readonly intent: number;
  readonly deadlineSeconds: number;
  readonly createdSeconds: number;
}

/** Every label of a machine and its disks: the user's first, then ours, which always stand. */
export function machineLabels(
  legal: Readonly<Record<string, string>>,
  facts: LabelFacts,
): Record<string, string> {
  const hash = runHash(facts.runId);
  return {
    ...legal,
    'managed-by': 'mayfly',
    deployment: facts.deployment,
    run_id: runIdLabel(facts.runId, hash),
    'run-hash': hash,
    attempt: String(facts.attempt),
    intent: String(facts.intent),
    deadline: String(facts.deadlineSeconds),
    created: String(facts.createdSeconds),
    runtime: 'gce',
  };
}
