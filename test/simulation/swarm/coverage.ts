// What a simulation has come across: faults that hit and what comes of them, steps of
// records, rows of the failure table.
import { TRANSITIONS } from '#shared/lifecycle/transitions.ts';
import { CONSEQUENCES, FAULTS } from '#test/simulation/swarm/faults.ts';
import { PLACE_ROWS } from '#test/simulation/swarm/place-errors.ts';
import { ROWS } from '#test/simulation/swarm/rows.ts';

export type Counts = Record<string, number>;

export function count(counts: Counts, key: string, by = 1): void {
  counts[key] = (counts[key] ?? 0) + by;
}

export function addCounts(into: Counts, from: Counts): void {
  for (const [key, value] of Object.entries(from)) count(into, key, value);
}

/** Everything that there is to come across. */
export function allKeys(): { title: string; keys: string[] }[] {
  const steps = Object.entries(TRANSITIONS).flatMap(([from, next]) =>
    next.map((to) => `${from} → ${to}`),
  );
  return [
    { title: 'faults', keys: FAULTS.map((name) => `fault ${name}`) },
    { title: 'what comes of them', keys: CONSEQUENCES.map((name) => `seen ${name}`) },
    { title: 'steps of the record', keys: steps.map((step) => `step ${step}`) },
    { title: 'rows of the failure table', keys: [...ROWS] },
    { title: 'rows of the placement error table', keys: [...PLACE_ROWS] },
  ];
}

/** A table by title; what never occurred is marked. */
export function formatCoverage(counts: Counts): string {
  const lines: string[] = [];
  for (const { title, keys } of allKeys()) {
    lines.push(`\n${title}`);
    for (const key of keys) {
      const value = counts[key] ?? 0;
      const name = key.slice(key.indexOf(' ') + 1);
      lines.push(
        `  ${name.padEnd(56)} ${String(value).padStart(9)}${value === 0 ? '  never' : ''}`,
      );
    }
  }
  return lines.join('\n');
}
