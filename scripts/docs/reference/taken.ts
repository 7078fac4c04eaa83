// What stands on a page as an example has been taken by its published schema.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { SCHEMAS } from '#scripts/docs/schemas.ts';

const ajv = new Ajv2020({ allErrors: true, strict: false, formats: { 'date-time': true } });

/** Compiled when it is first asked for. */
export function takes(name: keyof typeof SCHEMAS, value: unknown): boolean {
  const schema = SCHEMAS[name]();
  return (ajv.getSchema(String(schema.$id)) ?? ajv.compile(schema))(value) === true;
}

/** The value itself; throws when the schema refuses it. */
export function taken<Value>(name: keyof typeof SCHEMAS, value: Value): Value {
  if (takes(name, value)) return value;
  throw new Error(`the schema ${name} refuses ${JSON.stringify(value)}`);
}
