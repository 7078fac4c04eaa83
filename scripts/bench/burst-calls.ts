// Who made how many calls a run, by service, from what the local cloud counted.
import { localAccount } from '#scripts/local-cloud/deployment/environment.ts';
import { FUNCTION_NAMES } from '#scripts/local-cloud/deployment/inventory.ts';
import type { LocalCloud } from '#scripts/local-cloud/server/server.ts';

const WRITE = /\.(insert|delete|publish|write|patch|update|setLabels|setMetadata)$/;
/** Written once a minute for as long as a container runs, whatever it does. */
const HEARTBEAT = /\/log\.txt$/;

export interface CallCounts {
  readonly by: string;
  /** `storage writes` and so on → calls of all runs. */
  readonly counts: ReadonlyMap<string, number>;
  /** The methods behind them. */
  readonly methods: ReadonlyMap<string, number>;
}

export function countCalls(
  cloud: LocalCloud,
  isReal: (name: string) => boolean,
): readonly CallCounts[] {
  const rows = new Map<string, { counts: Map<string, number>; methods: Map<string, number> }>();
  for (const { principal, method, name, count } of cloud.world.calls.totals()) {
    const by = callerOf(principal, isReal(name));
    if (by === null || HEARTBEAT.test(name)) continue;
    const row = rows.get(by) ?? { counts: new Map(), methods: new Map() };
    rows.set(by, row);
    const service = method.split('.')[0] ?? '';
    add(row.counts, `${service} ${WRITE.test(method) ? 'writes' : 'reads'}`, count);
    add(row.methods, method, count);
  }
  return [...rows].map(([by, row]) => ({ by, ...row })).sort((a, b) => (a.by < b.by ? -1 : 1));
}

function callerOf(principal: string, real: boolean): string | null {
  if (principal === localAccount('worker')) return real ? 'guest (real)' : 'guest';
  return FUNCTION_NAMES.find((name) => principal === localAccount(name)) ?? null;
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
