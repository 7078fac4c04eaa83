// How a fault of a request is told: field, value, rule, and what would be accepted. Texts are
// bounded, whatever the request holds.
import { FAULT_VALUE_CHARACTERS_MAX } from '#shared/plan/limits.ts';
import type { Fault } from '#shared/plan/model.ts';

/** What a check of one value answers when the value breaks a rule. */
export interface Broken {
  readonly rule: string;
  readonly accepted: string;
}

export function fault(field: string, value: unknown, broken: Broken): Fault {
  return { field, value: valueText(value), rule: broken.rule, accepted: broken.accepted };
}

/** A value as JSON text, cut to a bounded length; nothing at all is `absent`. */
export function valueText(value: unknown): string {
  const text = typeof value === 'string' ? stringText(value) : JSON.stringify(value);
  if (text === undefined) return 'absent';
  if (text.length <= FAULT_VALUE_CHARACTERS_MAX) return text;
  return `${text.slice(0, FAULT_VALUE_CHARACTERS_MAX)}… (${text.length} characters)`;
}

/** A long string is cut before it is turned into JSON, and its own length told. */
function stringText(value: string): string {
  if (value.length <= FAULT_VALUE_CHARACTERS_MAX) return JSON.stringify(value);
  const head = JSON.stringify(value.slice(0, FAULT_VALUE_CHARACTERS_MAX)).slice(0, -1);
  return `${head.slice(0, FAULT_VALUE_CHARACTERS_MAX - 30)}…" (${value.length} characters)`;
}

/** `base` and a path below it, for example `args[0]`, `resources.gpu`, `outputs["/out"]`. */
export function fieldPath(base: string, path: readonly PropertyKey[]): string {
  let field = base;
  for (const key of path) {
    if (typeof key === 'number') field += `[${key}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(String(key)))
      field += field === '' ? key.toString() : `.${key.toString()}`;
    else field += `[${valueText(String(key))}]`;
  }
  return field;
}

/** The name nearest to `name` by edit distance, or null when none is near. */
export function nearestName(name: string, names: readonly string[]): string | null {
  if (name.length > 64) return null;
  const folded = name.toLowerCase().replaceAll(/[_-]/g, '');
  const ranked = names
    .map((known) => ({ known, distance: editDistance(folded, known.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  const near = best !== undefined && best.distance <= Math.max(2, Math.floor(name.length / 3));
  return near ? best.known : null;
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
