// The table of event names against the source: every name is used, with no graver severity than it says.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LOG_EVENTS, type LogEvent } from '#shared/cloud/log-events.ts';

const ROOT = join(import.meta.dirname, '../..');
const ORDER = ['DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL'];

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('log-events.ts'))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));
}

const text = [...sources('functions'), ...sources('shared')].join('\n');
/** `log(` with its severity as text or expression, then the event. */
const CALL = /\blog\(\s*([^,;]+?),\s*'([a-z-]+)'/g;
const calls = [...text.matchAll(CALL)].map(([, severity = '', event = '']) => ({
  severity,
  event,
}));

test.each(Object.keys(LOG_EVENTS))('event %s is written somewhere', (event) => {
  expect(calls.map((call) => call.event)).toContain(event);
});

test('no line is graver than the table says, and each says one of the severities', () => {
  expect(calls.length).toBeGreaterThan(30);
  for (const { severity, event } of calls) {
    const named = [...severity.matchAll(/'([A-Z]+)'/g)].map(([, name = '']) => name);
    // A severity that was chosen before stands elsewhere; the types hold that it is one.
    const gravest = ORDER.indexOf(LOG_EVENTS[event as LogEvent].severity);
    const written = Math.max(-1, ...named.map((name) => ORDER.indexOf(name)));
    expect(written, event).toBeLessThanOrEqual(gravest);
    if (/^'[A-Z]+'$/.test(severity) && calls.filter((call) => call.event === event).length === 1) {
      expect(written, event).toBe(gravest);
    }
  }
});
