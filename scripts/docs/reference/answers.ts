// The part about what comes back: result, rejection, event and marker from their published shapes, the
// table of endings from the code's, and one example of each from a run in the local cloud.
import type { ReferenceRun } from '#scripts/docs/reference/example-run.ts';
import { block, code, compactJson, plain, table } from '#scripts/docs/reference/markdown.ts';
import { taken } from '#scripts/docs/reference/taken.ts';
import {
  endings,
  eventSchema,
  markerSchema,
  resultSchema,
  type Schema,
} from '#scripts/docs/schemas.ts';
import { REJECTION } from '#scripts/docs/shapes.ts';
import { exitCodeOfRun } from '#scripts/mayfly/exit-codes.ts';
import { CAUSES, endingOf, isMachineCause, retryCounter } from '#shared/lifecycle/failures.ts';
import { requestFields } from '#shared/plan/request-fields.ts';

/** The rows of an object's fields; those of objects and lists in it are named by their path. */
export function fieldRows(schema: Schema, path = ''): string[][] {
  const needed = (schema.required ?? []) as readonly string[];
  return Object.entries(objectOf(schema.properties)).flatMap(([name, field]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    const type = typeOf(field) + (needed.includes(name) ? '' : ', or absent');
    const row = [code(inner), type, plain(String(field.description ?? ''))];
    if (field.properties !== undefined) return [row, ...fieldRows(field, inner)];
    const items = objectOf(field.items) as Schema;
    return items.properties === undefined ? [row] : [row, ...fieldRows(items, `${inner}[]`)];
  });
}

const objectOf = (value: unknown) => (value ?? {}) as Readonly<Record<string, Schema>>;

function typeOf(schema: Schema): string {
  const { anyOf, const: fixed, enum: words, type, format } = schema;
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' or ');
  if (fixed !== undefined) return code(JSON.stringify(fixed));
  if (Array.isArray(words)) return listed(words);
  return [format ?? type ?? 'anything'].flat().join(' or ');
}

/** Statuses and causes stand in a table of their own. */
function listed(words: readonly string[]): string {
  if (words.includes('machine-lost')) return 'a [cause](#status-and-cause)';
  if (words.includes('SUCCEEDED') && words.includes('LOST')) return 'a [status](#status-and-cause)';
  return words.map(code).join(' ');
}

const partOf = (schema: Schema, name: string) => objectOf(schema.$defs)[name] as Schema;
const FIELDS = ['field', 'type', 'meaning'];

export function answersPart(run: ReferenceRun): string {
  const result = resultSchema();
  const attributes = objectOf(eventSchema().properties).attributes as Schema;
  return `### Result

The object ${code('runs/results/<runId>.json')}, written once, and the data of the event. What is not known
is null, never 0.

${table(FIELDS, fieldRows(partOf(result, 'result')))}
${block('json', compactJson(taken('result', run.result)))}
### Rejection

The object ${code('runs/rejected/<runId or _>/<messageId>.json')}, and the data of its event. The id stays free.

${table(FIELDS, fieldRows(partOf(result, 'rejection')))}
${block('json', compactJson(taken('result', run.rejection)))}
### Event

A message of ${code('run-events')}: a CloudEvent in Pub/Sub's binding, whose data is the result or the
rejection. Subscriptions filter by attributes, for example ${code('attributes.status != "SUCCEEDED"')} or
${code('attributes.label-team = "forecasting"')}.

${table(FIELDS, fieldRows(attributes))}
A label of the run is the attribute ${code('label-<key>')}.

${block('json', compactJson(taken('event', { attributes: run.attributes, data: run.result }).attributes))}
### Marker

The object ${code('runs/gce-status/<instance>.json')}: what a machine or task says of itself. For looking at,
not to build upon: the result is what counts.

${table(FIELDS, fieldRows(markerSchema()))}
${block('json', compactJson(taken('marker', run.marker)))}`;
}

/** Status and cause of every ending; `meanings` are of the page that says what to do. */
export function endingsPart(meanings: (cause: string) => string): string {
  const rejected = REJECTION.shape.cause.options.map((cause) => ['REJECTED', cause] as const);
  const rows = [...endings(), ...rejected].map(([status, cause]) => [
    code(status),
    `[${code(cause)}](operations.md#${cause})`,
    meanings(cause),
    isMachineCause(cause) ? 'yes' : '',
    retriedBy(status, cause),
  ]);
  const head = ['status', 'cause', 'what is seen', 'a machine may say so', 'tried again by'];
  return table(head, rows);
}

/** The counter of the request that a further attempt after this ending uses, with its default. */
function retriedBy(status: string, cause: string): string {
  if (status === 'SUCCEEDED' || !Object.hasOwn(CAUSES, cause)) return '';
  const ending = endingOf(cause as keyof typeof CAUSES);
  const counters = [true, false].map((transient) => retryCounter({ ...ending, transient }));
  const { fields } = requestFields.retry;
  const named = [...new Set(counters)].filter((counter) => counter !== null && counter in fields);
  return named
    .map((name) => `${code(`retry.${name}`)} (${fields[name as keyof typeof fields].fallback})`)
    .join(' where it may pass, else ');
}

/** Exit codes of `submit --wait` and `watch`. */
export function runExitCodes(): string {
  const statuses = [...new Set(endings().map(([status]) => status)), 'REJECTED'];
  const codes = statuses.map(
    (status) => [exitCodeOfRun({ status, exitCode: null }), status] as const,
  );
  const rows = codes
    .toSorted(([first], [second]) => first - second)
    .map(([number, status]) => [code(String(number)), code(status)]);
  return table(['code', 'how the run ended'], rows);
}
