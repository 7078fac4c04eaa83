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

const terraform = readdirSync('terraform')
  .filter((name) => name.endsWith('.tf'))
  .map((name) => readFileSync(join('terraform', name), 'utf8'))
  .join('\n');

const EACH = /\$\{each\.key\}/;

/** The titles of the alert policies, without the deployment's name; `each.key` stands for several. */
function alertTitles(): string[] {
  const policies = terraform.split(/^resource "google_monitoring_alert_policy"/m).slice(1);
  return policies.flatMap((policy) => {
    const body = policy.split(/^}/m)[0] ?? '';
    const title = /^ {2}display_name\s*=\s*"\$\{var\.deployment\}: (.*)"$/m.exec(body)?.[1] ?? '';
    const map = /^ {2}for_each\s*=\s*local\.(\w+)$/m.exec(body)?.[1];
    return map === undefined ? [title] : keysOf(map).map((key) => title.replace(EACH, key));
  });
}

/** Keys of a map of maps in `locals`. */
function keysOf(name: string): string[] {
  const block =
    terraform.split(new RegExp(`^ {2}${name} = \\{$`, 'm'))[1]?.split(/^ {2}\}$/m)[0] ?? '';
  return [...block.matchAll(/^ {4}"([^"]+)" = \{$/gm)].map(([, key = '']) => key);
}

test.each([...Object.keys(CAUSES), ...REJECTED])('cause %s has a heading of its own', (cause) => {
  expect(headings).toContain(`\`${cause}\``);
});

test.each([
  ...['Dead letters', 'Old requests', 'Sweep silent', 'Leak found', 'Throttled'],
  ...['Task event refused', 'Authentication failures', 'Spend', 'Functions not starting'],
  ...['Requests failing', 'Runs unknown'],
])('alert %s has a heading', (title) => {
  expect(headings).toContain(title);
});

test('every alert that Terraform makes has a heading', () => {
  const titles = alertTitles();
  expect(titles.length).toBeGreaterThanOrEqual(8);
  for (const title of titles) expect(headings).toContain(title);
});

test('metrics count events that there are', () => {
  const events = [
    ...terraform.matchAll(/jsonPayload\.event=\(?((?:\\"[a-z-]+\\"(?: OR )?)+)/g),
  ].flatMap(([, names = '']) => [...names.matchAll(/[a-z-]{3,}/g)].map(([name]) => name));
  expect(events.length).toBeGreaterThan(5);
  for (const event of events) expect(Object.keys(LOG_EVENTS)).toContain(event);
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
