// Partial responses: the system parameter `fields` of Google's REST APIs. `a,b(c,d/e),f/*/g` keeps these
// alone; `*` stands for every name, and an array is gone through item by item.
import { readFilter, TokenReader } from '#scripts/local-cloud/filter-tokens.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';

/** What is kept below each name; null keeps all of it. */
type Mask = Map<string, Mask | null>;

const TOKEN = /\s*(?:([(),/])|([A-Za-z_][\w.-]*|\*))/y;

/** The reply with the selected fields alone; the fault's text when the selection cannot be read. */
export function selectFields(body: JsonObject, fields: string): JsonObject | string {
  const mask = readFilter(() => {
    const tokens = new TokenReader(fields, TOKEN);
    const read = readMask(tokens);
    tokens.expectEnd();
    return read;
  });
  return typeof mask === 'string' ? mask : (cut(body, mask) as JsonObject);
}

function readMask(tokens: TokenReader): Mask {
  const mask: Mask = new Map();
  do {
    readPath(tokens, mask);
  } while (tokens.takeIf(','));
  return mask;
}

function readPath(tokens: TokenReader, into: Mask): void {
  const name = tokens.take();
  if (!/^[\w*]/.test(name)) {
    throw new SyntaxError(`no field at ${name}`);
  }
  const known = into.get(name);
  const below: Mask = known ?? new Map();
  if (tokens.takeIf('/')) {
    readPath(tokens, below);
  } else if (tokens.takeIf('(')) {
    for (const [inner, mask] of readMask(tokens)) {
      below.set(inner, mask);
    }
    tokens.expect(')');
  } else {
    into.set(name, null);
    return;
  }
  if (known !== null) {
    into.set(name, below);
  }
}

function cut(value: unknown, mask: Mask | null): unknown {
  if (mask === null || typeof value !== 'object' || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => cut(item, mask));
  }
  const kept: JsonObject = {};
  for (const [name, inner] of Object.entries(value)) {
    const below = mask.get(name);
    const any = mask.get('*');
    if (below === undefined && any === undefined) {
      continue;
    }
    kept[name] = cut(inner, below === undefined ? (any ?? null) : below);
  }
  return kept;
}
