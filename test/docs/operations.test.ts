// docs/operations.md against the sources: a heading for every alert and for every cause, and no word of an
// event that does not exist; docs/log-events.md is what the table says.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { logEventsPage } from '#scripts/docs/log-events.ts';
import { LOG_EVENTS } from '#shared/cloud/log-events.ts';
import { CAUSES } from '#shared/lifecycle/failures.ts';

const page = readFileSync('docs/operations.md', 'utf8');
const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, title = '']) => title);
const sections = page.split(/^### /m).slice(1);

/** Of contract §3: the causes of a rejection are no causes of an attempt. */
const REJECTED = ['invalid', 'conflict', 'budget', 'not-allowed'];

/** The alert policies' names as people see them, without the deployment's. */
function alertNames(): string[] {
  const files = readdirSync('terraform').filter((name) => name.endsWith('.tf'));
  return files.flatMap((name) => {
    const text = readFileSync(join('terraform', name), 'utf8');
    return text
      .split(/^resource "google_monitoring_alert_policy"/m)
      .slice(1)
      .flatMap((block) => {
        const body = block.split(/^}/m)[0] ?? '';
        const title = /^ {2}display_name\s*=\s*"([^"]*)"/m.exec(body)?.[1] ?? '';
        return [plain(title)];
      });
  });
}

const plain = (title: string) =>
  title
    .replaceAll(/\$\{[^}]*\}/g, '')
    .replace(/^[\s:·-]+/, '')
    .toLowerCase();

test.each([...Object.keys(CAUSES), ...REJECTED])('cause %s has a heading of its own', (cause) => {
  expect(headings).toContain(`\`${cause}\``);
});

test.each([
  ...['Dead letters', 'Old requests', 'Sweep silent', 'Leak found', 'Throttled'],
  ...['Task event refused', 'Authentication failures', 'Spend'],
])('alert %s has a heading', (title) => {
  expect(headings).toContain(title);
});

test('every alert that Terraform makes has a heading', () => {
  const known = headings.map((title) => title.toLowerCase());
  for (const name of alertNames()) expect(known).toContain(name);
});

test('every section says symptom, check and fix', () => {
  for (const section of sections) {
    for (const word of ['**Symptom.**', '**Check.**', '**Fix.**']) expect(section).toContain(word);
  }
});

describe('log events', () => {
  test('the page is what the table says', () => {
    const stored = readFileSync('docs/log-events.md', 'utf8');
    expect(stored, 'run: npm run docs').toBe(logEventsPage());
  });

  test('what an event tells to read is there', () => {
    for (const { action } of Object.values(LOG_EVENTS)) {
      const title = /see "([^"]+)"/.exec(action)?.[1];
      if (title !== undefined) expect(headings).toContain(title);
    }
  });
});
