// The part of Go's templates that people write after `docker inspect --format`: text with `{{.A.B}}`,
// `{{json .A}}`, `{{index .A 0}}`, and `{{range .A}}…{{end}}` over a list with `{{.}}` in it.
import { DockerError } from '#scripts/local-cloud/sandbox/docker-error.ts';

const RANGE = /\{\{-?\s*range\s+([^\s{}]+)\s*-?\}\}(.*?)\{\{-?\s*end\s*-?\}\}/s;
const ACTION = /\{\{-?\s*(.*?)\s*-?\}\}/s;
// In one pass, so that braces in the data stay what they are.
const PART = new RegExp(`${RANGE.source}|${ACTION.source}`, 'gs');

/** Fills a template from plain data. Throws a DockerError for a template outside of that part. */
export function formatTemplate(template: string, data: unknown): string {
  return template.replace(PART, (_, list?: string, body?: string, action?: string) => {
    if (list === undefined || body === undefined) return evaluate(action ?? '', data);
    return listAt(data, list)
      .map((item) => formatTemplate(body, item))
      .join('');
  });
}

function evaluate(action: string, data: unknown): string {
  const json = /^json\s+(\S+)$/.exec(action);
  if (json !== null) return JSON.stringify(valueAt(data, json[1] ?? ''));
  const index = /^index\s+(\S+)\s+(?:(\d+)|"([^"]*)")$/.exec(action);
  if (index !== null) {
    const [, path = '', position, key] = index;
    if (position === undefined) return print(valueAt(valueAt(data, path), `.${key}`));
    const list = listAt(data, path);
    if (Number(position) < list.length) return print(list[Number(position)]);
    throw templateError(action, `index out of range: ${position}`);
  }
  if (/^\.\S*$/.test(action)) return print(valueAt(data, action));
  throw templateError(action, 'not understood by the process sandbox');
}

function valueAt(data: unknown, path: string): unknown {
  let value = data;
  for (const name of path.split('.').filter((part) => part !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) {
      throw templateError(path, `map has no entry for key "${name}"`);
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function listAt(data: unknown, path: string): unknown[] {
  const value = valueAt(data, path);
  if (Array.isArray(value)) return value;
  throw templateError(path, 'not a list');
}

function print(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(print).join(' ')}]`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function templateError(action: string, reason: string): DockerError {
  return new DockerError(`template parsing error: {{${action}}}: ${reason}`, 64);
}
