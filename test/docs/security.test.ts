// docs/security.md against Terraform: whatever is granted stands there, and what it names is there.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { securityPage } from '#scripts/docs/security.ts';
import { SUBSCRIPTIONS } from '#scripts/local-cloud/deployment/inventory.ts';
import { SETTINGS } from '#shared/cloud/settings-table.ts';

const page = readFileSync('docs/security.md', 'utf8');
const terraform = readdirSync('terraform')
  .filter((name) => name.endsWith('.tf'))
  .map((name) => readFileSync(join('terraform', name), 'utf8'))
  .join('\n');
const all = (text: string, pattern: RegExp) => [
  ...new Set([...text.matchAll(pattern)].map(([, found = '']) => found)),
];

test('every role of Google that Terraform binds stands on the page, and no other', () => {
  const bound = all(terraform, /^ *role *= "roles\/([\w.]+)"$/gm);
  const table = page.split('roles of Google')[1]?.split('\n\nThere are no')[0] ?? '';
  const told = all(table, /`([a-zA-Z]+\.[a-zA-Z.]+)`/g);
  expect(bound.length).toBeGreaterThan(5);
  expect(told.toSorted()).toEqual(bound.toSorted());
});

test('every account that Terraform makes stands on the page', () => {
  const named = /accounts = toset\(concat\(tolist\(local\.functions\), \[(.*)\]\)\)/.exec(
    terraform,
  );
  const functions = new Set([
    'sweep',
    ...SUBSCRIPTIONS.map((subscription) => subscription.function),
  ]);
  const accounts = [...functions, ...all(named?.[1] ?? '', /"([a-z-]+)"/g)];
  expect(accounts.length).toBe(11);
  for (const account of accounts) expect(page, account).toContain(`\`D-${account}\``);
});

test('settings and variables that the page names are there', () => {
  const settings = Object.values(SETTINGS).map(({ name }) => name);
  for (const name of all(page, /(MAYFLY_[A-Z_]+)/g)) expect(settings).toContain(name);
  const variables = all(terraform, /^variable "(\w+)"/gm);
  const named = all(page, /`([a-z]+(?:_[a-z]+)+)`/g);
  expect(named.length).toBeGreaterThan(4);
  for (const name of named) expect(variables).toContain(name);
});

test('a page without a place for the rights is refused', () => {
  expect(() => securityPage('# Security\n')).toThrow('no place for rights');
});
