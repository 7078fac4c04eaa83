// What is told of a field that there is not: the name that was nearly hit, or the place where a field of that
// name belongs. Places come from the table of fields; a few words of other tools stand for ours.
import { type Broken, nearestName } from '#shared/plan/fault.ts';
import type { FieldTable } from '#shared/plan/field.ts';

/** Folded words that no edit distance leads to a field, and the field's path. */
export const OTHER_WORDS: Readonly<Record<string, string>> = {
  accelerator: 'resources.gpu',
  accelerators: 'resources.gpu',
  budget: 'budgetUsd',
  cmd: 'command',
  disk: 'resources.bootDiskGiB',
  disksize: 'resources.bootDiskGiB',
  entrypoint: 'command',
  environment: 'env',
  gpus: 'resources.gpu',
  machine: 'resources.machineType',
  machines: 'resources.machineTypes',
  memory: 'resources.memoryGiB',
  name: 'runId',
  preemptible: 'provisioning',
  provisioningmodel: 'provisioning',
  retries: 'retry',
  spot: 'provisioning',
  timeout: 'timeoutSeconds',
  ttl: 'ttlSeconds',
};

/** `table` is where the name was looked for, `whole` that of the whole request. */
export function unknownField(name: string, table: FieldTable, whole: FieldTable): Broken {
  const places = pathsOf(whole, '');
  const folded = fold(name);
  const elsewhere = places.find((path) => fold(lastOf(path)) === folded) ?? otherWord(folded);
  const near = nearestName(name, Object.keys(table));
  if (elsewhere !== undefined && (near === null || fold(near) !== folded))
    return belongs(elsewhere);
  if (near !== null)
    return { rule: `there is no such field; did you mean ${near}`, accepted: near };
  const leaf = nearestName(name, places.map(lastOf));
  const place = places.find((path) => lastOf(path) === leaf);
  if (place !== undefined) return belongs(place);
  return { rule: 'there is no such field', accepted: Object.keys(table).join(', ') };
}

const belongs = (path: string): Broken => ({
  rule: `there is no such field here; did you mean ${path}`,
  accepted: path.split('.').reduceRight((inner, name) => `{"${name}": ${inner}}`, '…'),
});

const otherWord = (folded: string) =>
  Object.hasOwn(OTHER_WORDS, folded) ? OTHER_WORDS[folded] : undefined;

/** Every field and group of the table, outer ones first. */
function pathsOf(table: FieldTable, base: string): readonly string[] {
  const own = Object.entries(table).map(([name, entry]) => ({ path: base + name, entry }));
  const inner = own.flatMap(({ path, entry }) =>
    entry.kind === 'group' ? pathsOf(entry.fields, `${path}.`) : [],
  );
  return [...own.map(({ path }) => path), ...inner];
}

const lastOf = (path: string) => path.slice(path.lastIndexOf('.') + 1);
const fold = (name: string) => name.slice(0, 64).toLowerCase().replaceAll(/[_-]/g, '');
