// What was asked of the world: every call counted by (principal, method, name), the last ones in order.
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import { asObject, asString } from '#scripts/local-cloud/json.ts';

export interface LoggedCall {
  readonly atMs: number;
  readonly method: string;
  readonly principal: string | null;
  /** The object's, machine's, topic's … own name; empty when the call names none. */
  readonly name: string;
  readonly status: number;
  /** Who pays, where a caller said so. */
  readonly userProject: string | null;
}

const NAME_PARAMS = [
  'object',
  'name',
  'instance',
  'operation',
  'disk',
  'machineType',
  'topic',
  'subscription',
  'execution',
  'job',
  'secret',
  'account',
  'filter',
  'prefix',
  'zone',
  'region',
] as const;

/** What a call is about, for the log and for faults that match by name. */
export function nameOf(call: Call): string {
  for (const key of NAME_PARAMS) {
    const value = call.params[key];
    if (value !== undefined && !(key === 'zone' && call.method.endsWith('.insert'))) {
      return value;
    }
  }
  const body = asObject(call.body);
  return asString(body.name) ?? asString(asObject(body.metadata).name) ?? '';
}

export class CallLog {
  readonly #counts = new Map<string, number>();
  readonly #entries: LoggedCall[] = [];
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  add(atMs: number, call: Call, reply: Reply): void {
    const name = nameOf(call);
    const principal = reply.speaker ?? call.principal;
    const key = `${principal ?? ''} ${call.method} ${name}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    if (this.#entriesMax === 0) {
      return;
    }
    this.#entries.push({
      atMs,
      method: call.method,
      principal,
      name,
      status: reply.status,
      userProject: call.params.userProject ?? null,
    });
    if (this.#entries.length > 2 * this.#entriesMax) {
      this.#entries.splice(0, this.#entries.length - this.#entriesMax);
    }
  }

  /** Everything that was asked, with how often. */
  *totals(): Generator<{ principal: string; method: string; name: string; count: number }> {
    for (const [key, count] of this.#counts) {
      const [principal = '', method = '', ...name] = key.split(' ');
      yield { principal, method, name: name.join(' '), count };
    }
  }

  /** How often that was asked; a part that is left out matches all. */
  count(query: { method?: string; principal?: string | null; name?: string }): number {
    let total = 0;
    for (const { principal, method, name, count } of this.totals()) {
      const matches =
        (query.method === undefined || query.method === method) &&
        (query.principal === undefined || (query.principal ?? '') === principal) &&
        (query.name === undefined || query.name === name);
      total += matches ? count : 0;
    }
    return total;
  }

  /** The last calls, oldest first. */
  entries(): readonly LoggedCall[] {
    return this.#entries.slice(-this.#entriesMax);
  }
}
