// The published JSON Schemas (draft 2020-12): of a request from the table that validates it, of what
// comes back from the shapes beside this file. What JSON Schema cannot say is on the reference page.
import * as z from 'zod';
import { EVENT_ATTRIBUTES, MARKER, REJECTION, RESULT } from '#scripts/docs/shapes.ts';
import { CAUSES } from '#shared/lifecycle/failures.ts';
import type { FieldTable } from '#shared/plan/field.ts';
import type { Runtime } from '#shared/plan/model.ts';
import { requestFields } from '#shared/plan/request-fields.ts';
import { RUN_ID } from '#shared/plan/run-id.ts';
import { formOf } from '#shared/plan/text-form.ts';

export type Schema = { readonly [keyword: string]: unknown };

const RUNTIMES: readonly Runtime[] = ['gce', 'cloudrun-jobs'];
/** Rules that hang on the runtime, where the request names it, or on a group that is given. */
const NEEDED_ON: Readonly<Record<Runtime, readonly string[]>> = {
  gce: ['image'],
  'cloudrun-jobs': ['command'],
};
const NEEDED_IN: Readonly<Record<string, readonly string[]>> = {
  package: ['uri'],
  'resources.gpu': ['type'],
};

function head(name: string, title: string): Schema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:mayfly:${name}:1`,
    title,
  };
}

/** A message of `run-requests`: a request, or a cancel. */
export function requestSchema(): Schema {
  const request = {
    ...tableSchema(requestFields, ''),
    allOf: RUNTIMES.map((runtime) => ({
      if: { properties: { runtime: { const: runtime } }, required: ['runtime'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: NEEDED_ON[runtime], properties: onRuntime(runtime) },
    })),
  };
  const cancel = {
    description: 'Ends the run of that id, whatever it does now.',
    type: 'object',
    properties: {
      cancel: { description: 'The run id.', type: 'string', ...formOf(RUN_ID) },
      reason: { description: 'Told in the result.', type: 'string' },
    },
    required: ['cancel'],
    additionalProperties: false,
  };
  return {
    ...head('request', 'A message of run-requests: a request, or a cancel'),
    anyOf: [{ $ref: '#/$defs/request' }, { $ref: '#/$defs/cancel' }],
    $defs: { request, cancel },
  };
}

function tableSchema(table: FieldTable, path: string): Schema {
  const properties = Object.entries(table).map(([name, entry]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    if (entry.kind === 'group') return [name, tableSchema(entry.fields, inner)] as const;
    const description = `${entry.rule}; default: ${entry.fallback}`;
    return [name, { description, ...plain(entry.schema, 'output') }] as const;
  });
  const needed = NEEDED_IN[path];
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(needed === undefined ? {} : { required: needed }),
    additionalProperties: false,
  };
}

/** Fields that the runtime refuses, as properties that nothing satisfies. */
function onRuntime(runtime: Runtime): Schema {
  const refused = refusedOn(requestFields, runtime);
  return runtime === 'gce' ? { ...refused, tasks: { const: 1 } } : refused;
}

function refusedOn(table: FieldTable, runtime: Runtime): Schema {
  const entries = Object.entries(table).flatMap(([name, entry]): [string, unknown][] => {
    if (entry.kind === 'field') return runtime in entry.refusedOn ? [[name, false]] : [];
    const properties = refusedOn(entry.fields, runtime);
    return Object.keys(properties).length === 0 ? [] : [[name, { properties }]];
  });
  return Object.fromEntries(entries);
}

/** What a machine or a task writes about itself. */
export function markerSchema(): Schema {
  return {
    ...head('marker', 'The marker: what a machine or task says of itself'),
    ...plain(MARKER),
  };
}

/** The result object, or that of a rejection. */
export function resultSchema(): Schema {
  return {
    ...head('result', 'The result of a run, or the rejection of a request'),
    anyOf: [{ $ref: '#/$defs/result' }, { $ref: '#/$defs/rejection' }],
    $defs: resultParts(),
  };
}

/** A message of `run-events`, its data decoded. */
export function eventSchema(): Schema {
  return {
    ...head('event', 'A message of run-events: attributes, and data as JSON'),
    type: 'object',
    properties: {
      attributes: {
        ...plain(EVENT_ATTRIBUTES),
        patternProperties: { '^label-': { description: 'A label of the run.', type: 'string' } },
        additionalProperties: { type: 'string' },
      },
      data: { anyOf: [{ $ref: '#/$defs/result' }, { $ref: '#/$defs/rejection' }] },
    },
    required: ['attributes', 'data'],
    $defs: resultParts(),
  };
}

/** Status and cause belong together: the closed table of endings. */
const resultParts = () => ({
  result: { ...plain(RESULT), anyOf: endings().map(([status, cause]) => pair(status, cause)) },
  rejection: plain(REJECTION),
});

/** Every status with every cause that gives it. */
export const endings = (): readonly (readonly [string, string])[] => [
  ['SUCCEEDED', 'exit'],
  ...Object.entries(CAUSES).map(([cause, status]) => [status, cause] as const),
];

const pair = (status: string, cause: string) => ({
  properties: { status: { const: status }, cause: { const: cause } },
});

/** Readers take fields that they do not know: later versions may add some. */
function plain(shape: z.ZodType, io: 'input' | 'output' = 'input'): Schema {
  // What zod cannot say of a field's own checks stands in the form beside them.
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' });
  return schema;
}

export const SCHEMAS = {
  request: requestSchema,
  marker: markerSchema,
  result: resultSchema,
  event: eventSchema,
} as const;

/** The files that `npm run docs` writes. */
export const SCHEMA_PAGES = Object.entries(SCHEMAS).map(([name, make]) => ({
  path: `docs/schemas/${name}.schema.json`,
  make: async () => `${JSON.stringify(make(), null, 2)}\n`,
}));
