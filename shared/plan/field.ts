// The building blocks of a request's schema: a field is a zod schema with its rule and what it
// accepts as sentences; a group is fields under one name. Every fault of a value is found at once.
import * as z from 'zod';
import { type Broken, fault, fieldPath } from '#shared/plan/fault.ts';
import type { Fault, Runtime } from '#shared/plan/model.ts';
import type { TextForm } from '#shared/plan/text-form.ts';
import { unknownField } from '#shared/plan/unknown-field.ts';

export interface Field<T> extends Broken {
  readonly kind: 'field';
  readonly schema: z.ZodType<T>;
  /** What stands when the field is left out, in words. */
  readonly fallback: string;
  /** Why a runtime cannot honour the field, for those that cannot. */
  readonly refusedOn: Readonly<Partial<Record<Runtime, string>>>;
}

export interface Group<Fields extends FieldTable = FieldTable> {
  readonly kind: 'group';
  readonly fields: Fields;
}

export interface FieldTable {
  readonly [name: string]: Field<unknown> | Group;
}

/** The values of a field table as far as they were given and are right. */
export type Parsed<Table extends FieldTable> = {
  readonly [Name in keyof Table]?:
    | (Table[Name] extends Field<infer T>
        ? T
        : Table[Name] extends Group<infer Inner>
          ? Parsed<Inner>
          : never)
    | undefined;
};

/** Collects what parsing finds: faults, and the paths of fields that were given. */
export interface Findings {
  /** All fields that there are: a name that is not known here may belong elsewhere. */
  readonly whole: FieldTable;
  readonly faults: Fault[];
  readonly given: {
    readonly path: string;
    readonly value: unknown;
    readonly field: Field<unknown>;
  }[];
  readonly faulty: Set<string>;
}

/** Reads `value` by `table`; whatever is wrong goes to `findings`, whatever is right comes back. */
export function parseFields<Table extends FieldTable>(
  table: Table,
  value: unknown,
  path: string,
  findings: Findings,
): Parsed<Table> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const names = Object.keys(table).join(', ');
    const broken = { rule: 'this is a JSON object', accepted: `an object with ${names}` };
    findings.faults.push(fault(path, value, broken));
    findings.faulty.add(path);
    return {};
  }
  const parsed: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const known = Object.hasOwn(table, name) ? table[name] : undefined;
    const innerPath = fieldPath(path, [name]);
    if (known === undefined)
      findings.faults.push(fault(innerPath, inner, unknownField(name, table, findings.whole)));
    else if (known.kind === 'group')
      parsed.push([name, parseFields(known.fields, inner, innerPath, findings)]);
    else parsed.push([name, parseField(known, inner, innerPath, findings)]);
  }
  return Object.fromEntries(parsed) as Parsed<Table>;
}

function parseField(field: Field<unknown>, value: unknown, path: string, findings: Findings) {
  findings.given.push({ path, value, field });
  const result = field.schema.safeParse(value);
  if (result.success) return result.data;
  findings.faulty.add(path);
  const told = new Set<string>();
  for (const issue of result.error.issues) {
    const broken = issueBroken(issue, field);
    const where = fieldPath(path, issue.path);
    if (told.has(where + broken.rule)) continue;
    told.add(where + broken.rule);
    findings.faults.push(fault(where, valueAt(value, issue.path), broken));
  }
  return undefined;
}

function issueBroken(issue: z.core.$ZodIssue, field: Broken): Broken {
  const accepted = issue.code === 'custom' ? issue.params?.accepted : undefined;
  return typeof accepted === 'string' ? { rule: issue.message, accepted } : field;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path)
    at = typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined;
  return at;
}

/** A field without further ado; `refusedOn` where a runtime cannot honour it. */
export function field<T>(
  schema: z.ZodType<T>,
  told: Broken & Partial<Pick<Field<T>, 'fallback' | 'refusedOn'>>,
): Field<T> {
  return { kind: 'field', schema, fallback: 'none', refusedOn: {}, ...told };
}

export function group<Fields extends FieldTable>(fields: Fields): Group<Fields> {
  return { kind: 'group', fields };
}

export type TextCheck = (text: string) => Broken | null;

/** A text that `check` finds nothing wrong with; `form` tells the published schema the same. */
export function textBy(check: TextCheck, form: TextForm): z.ZodType<string> {
  return z
    .string()
    .check((context) => {
      const broken = check(context.value);
      if (broken !== null) context.issues.push(customIssue(context.value, broken, []));
    })
    .meta({ ...form });
}

/** An object whose keys and values are texts that the checks find nothing wrong with. */
export function mapBy(
  keyCheck: TextCheck,
  valueCheck: TextCheck,
  forms: { readonly key: TextForm; readonly value: TextForm },
): z.ZodType<Record<string, string>> {
  const checked = z.custom<Record<string, string>>(isObject).check((context) => {
    if (!isObject(context.value)) return;
    for (const [key, inner] of Object.entries(context.value)) {
      const broken = keyCheck(key) ?? (typeof inner === 'string' ? valueCheck(inner) : NO_TEXT);
      if (broken !== null) context.issues.push(customIssue(inner, broken, [key]));
    }
  });
  const value = { type: 'string', ...forms.value };
  return checked.meta({
    type: 'object',
    propertyNames: { ...forms.key },
    additionalProperties: value,
  });
}

const NO_TEXT: Broken = { rule: 'each value is a text', accepted: 'a text in double quotes' };

const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function customIssue(input: unknown, broken: Broken, path: PropertyKey[]): z.core.$ZodRawIssue {
  return {
    code: 'custom',
    input,
    path,
    message: broken.rule,
    params: { accepted: broken.accepted },
  };
}
