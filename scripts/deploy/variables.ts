// The variables of a deploy: what an earlier one was given, changed by what this one is given. Values are
// texts as Terraform takes them after `-var=NAME=`.
import type { Declared } from '#scripts/deploy/root.ts';
import type { Call } from '#scripts/mayfly/call.ts';
import { usageError } from '#scripts/mayfly/exit-codes.ts';

export type Variables = Readonly<Record<string, string>>;

/** Name → value; null takes a kept one away, so that the root's default holds again. */
export type Given = Readonly<Record<string, string | null>>;

/** Of `--region`, `--regions`, `--bucket` and `--var`, in that order; the later counts. */
export function readGiven(call: Call, declared: ReadonlyMap<string, Declared>): Given {
  const given: Record<string, string | null> = {};
  const set = (name: string, value: string, flag: string) => {
    const known = declared.get(name);
    if (known === undefined) {
      const names = [...declared.keys()].sort().join(', ');
      throw usageError(`${flag}: the Terraform root has no variable ${name}; it has ${names}`);
    }
    given[name] = value === '' ? null : valueFor(known, value);
  };
  for (const name of ['region', 'regions', 'bucket']) {
    const value = call.text(name);
    if (value !== null) set(name, value, `--${name}`);
  }
  for (const word of call.list('var')) {
    const [, name, value = ''] = /^([a-z][a-z0-9_]*)=(.*)$/s.exec(word) ?? [];
    if (name === undefined) throw usageError(`--var ${JSON.stringify(word)} is not NAME=VALUE`);
    if (name === 'project' || name === 'deployment') {
      throw usageError(`--var ${name}=…: give it as --${name}, which the other verbs know too`);
    }
    set(name, value, `--var ${name}`);
  }
  return given;
}

/** A list may be given by its words, with commas between. */
function valueFor({ type }: Declared, value: string): string {
  if (!/^(list|set)\(string\)/.test(type) || /^\s*\[/.test(value)) return value;
  return JSON.stringify(value.split(',').map((word) => word.trim()));
}

/** `own` is what deploy itself knows; of that, what the root does not declare is left out. */
export function mergeVariables(
  declared: ReadonlyMap<string, Declared>,
  parts: { readonly kept: Variables; readonly given: Given; readonly own: Variables },
): Variables {
  const merged = Object.fromEntries(
    Object.entries({ ...parts.kept, ...parts.given, ...parts.own }).filter(
      (entry): entry is [string, string] => entry[1] !== null && declared.has(entry[0]),
    ),
  );
  const both = declared.has('region') && declared.has('regions') ? defaultRegions(merged) : {};
  const all = { ...merged, ...both };
  const missing = [...declared.values()].filter(
    ({ name, required }) => required && all[name] === undefined,
  );
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name);
    const asked = names.filter((name) => name !== 'regions' || !names.includes('region'));
    const flags = asked.map((name) => FLAGS[name] ?? `--var ${name}=…`);
    throw usageError(`deploy needs ${flags.join(' and ')}`);
  }
  return all;
}

const FLAGS: Variables = {
  region: '--region REGION, for example europe-west1',
  regions: '--regions R1,R2',
};

/** Each of the two stands for the other where that is not given. */
function defaultRegions({ region, regions }: Variables): Variables {
  if (regions === undefined) return region === undefined ? {} : { regions: `["${region}"]` };
  const first = /"([^"]+)"/.exec(regions)?.[1];
  return region !== undefined || first === undefined ? {} : { region: first };
}
