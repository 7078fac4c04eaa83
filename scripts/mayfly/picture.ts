// A run's phases as bars and its attempts as rows, in plain characters. Pure; unknown figures are left out.
import { elapsed } from '#scripts/mayfly/progress.ts';
import type { StoredResult } from '#scripts/mayfly/stored-result.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';

const WIDTH = 40;
const PHASES = ['queue', 'provision', 'pull', 'execute'] as const;

interface Bar {
  readonly name: string;
  readonly seconds: number;
}

/** Of an ended run; `rest` is what no phase of the last attempt holds, as earlier attempts. */
export function pictureOfResult(result: StoredResult): readonly string[] {
  const { seconds } = result;
  const total = seconds.total ?? null;
  const known: Bar[] = PHASES.flatMap((name) => {
    const value = seconds[name] ?? null;
    return value === null ? [] : [{ name, seconds: value }];
  });
  if (total === null || known.length === 0) return rowsOf(result);
  const rest = total - known.reduce((sum, bar) => sum + bar.seconds, 0);
  const all = rest >= 0.1 ? [...known, { name: 'rest', seconds: rest }] : known;
  return [...bars(all), ...rowsOf(result)];
}

/** Of a run under way: how long it has been in each state, the last one up to now. */
export function pictureOfRecord(record: RunRecord, nowMs: number): readonly string[] {
  const { history } = record;
  const merged = new Map<string, number>();
  for (const [index, { state, atMs }] of history.entries()) {
    const endMs = history[index + 1]?.atMs ?? nowMs;
    const seconds = Math.max(0, endMs - atMs) / 1000;
    const name = state.toLowerCase();
    merged.set(name, (merged.get(name) ?? 0) + seconds);
  }
  return bars([...merged].map(([name, seconds]) => ({ name, seconds })));
}

function bars(all: readonly Bar[]): readonly string[] {
  const total = all.reduce((sum, bar) => sum + bar.seconds, 0);
  if (total === 0) return [];
  let before = 0;
  return all.map(({ name, seconds }) => {
    const from = Math.round((before / total) * WIDTH);
    before += seconds;
    const to = Math.round((before / total) * WIDTH);
    // What took time at all is seen.
    const length = Math.max(to - from, seconds > 0 ? 1 : 0);
    const left = Math.min(from, WIDTH - length);
    const bar = `${' '.repeat(left)}${'#'.repeat(length)}`.padEnd(WIDTH);
    return `  ${name.padEnd(12)} |${bar}| ${elapsed(seconds * 1000)}`;
  });
}

function rowsOf({ attempts }: StoredResult): readonly string[] {
  return attempts.map((attempt) => {
    const { startedAt, endedAt, costUsd } = attempt;
    const timed = startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : null;
    const cells = [
      `  attempt ${attempt.attempt}`.padEnd(13),
      `${attempt.status} (${attempt.cause})`.padEnd(24),
      [attempt.machineType, attempt.zone ?? attempt.region].filter(Boolean).join(' in '),
      ...(timed === null ? [] : [elapsed(timed)]),
      ...(costUsd === null || costUsd === undefined ? [] : [`${costUsd.toFixed(4)} USD`]),
    ];
    return cells.join('  ').trimEnd();
  });
}
