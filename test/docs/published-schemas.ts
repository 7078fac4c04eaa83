// The published schemas as files, for whatever the real parts write; judged by a validator that is not ours.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ allErrors: true, strict: false, formats: { 'date-time': isDateTime } });

/** RFC 3339, as JSON Schema wants it. */
function isDateTime(text: string): boolean {
  const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
  return shape.test(text) && !Number.isNaN(Date.parse(text));
}

/** Every object with named fields closed, so that one that the schema does not know is told. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, child]) => [key, closed(child)] as const);
  const open = 'type' in value && 'properties' in value;
  return { ...Object.fromEntries(inner), ...(open ? { additionalProperties: false } : {}) };
}

type Published = 'marker' | 'result' | 'event';

const validators = Object.fromEntries(
  (['marker', 'result', 'event'] as const).map((name) => {
    const path = new URL(`../../docs/schemas/${name}.schema.json`, import.meta.url);
    return [name, ajv.compile(closed(JSON.parse(readFileSync(path, 'utf8'))) as object)];
  }),
);

/** What the schema has against a value, unknown fields too; empty: nothing. */
export function faultsOf(name: Published, value: unknown): readonly string[] {
  const validate = validators[name];
  if (validate === undefined) throw new Error(`no schema ${name}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}
