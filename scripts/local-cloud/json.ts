// Plain values without schemas: what a caller sent is looked at field by field, as the real services
// do, and everything that crosses the world's border is copied.

export type JsonObject = { [key: string]: unknown };

/** The value as an object, or an empty one when it is anything else. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asString(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Entries whose value is text; the others are left out. */
export function asStringMap(value: unknown): { [key: string]: string } {
  const map: { [key: string]: string } = {};
  for (const [key, entry] of Object.entries(asObject(value))) {
    if (typeof entry === 'string') {
      map[key] = entry;
    }
  }
  return map;
}

/** int64 fields arrive as JSON strings or as numbers. */
export function asNumber(value: unknown): number | undefined {
  const parsed = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof parsed === 'number' && Number.isFinite(parsed) ? parsed : undefined;
}

/** A deep copy of plain data; bytes are copied too, `undefined` fields are dropped. */
export function copyJson<Value>(value: Value): Value;
export function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (value instanceof Uint8Array) {
    return value.slice();
  }
  if (Array.isArray(value)) {
    return value.map((entry) => copyJson(entry));
  }
  const copy: JsonObject = {};
  for (const [key, entry] of Object.entries(value)) {
    if (entry !== undefined) {
      copy[key] = copyJson(entry);
    }
  }
  return copy;
}

/** RFC 3339 in UTC with milliseconds, as all services print instants. */
export function timestamp(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** `10s`, `1.5s` and the like, the JSON form of a Duration; undefined when it is not one. */
export function durationMs(value: unknown): number | undefined {
  const match = typeof value === 'string' ? /^(\d+(?:\.\d{1,9})?)s$/.exec(value) : null;
  return match === null ? undefined : Math.round(Number(match[1]) * 1000);
}

/** What stands after the last slash of a resource's URL, path or name. */
export const lastPart = (path: string) => path.slice(path.lastIndexOf('/') + 1);
