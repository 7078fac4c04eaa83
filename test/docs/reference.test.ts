// docs/reference.md: what is shown there as refused is refused, every rule over several fields is shown, and
// the links of all pages lead somewhere. That the page is what its sources say is checked for all of them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { planSettings } from '#scripts/docs/reference/refusals.ts';
import { REFUSED, requestOf, rulesPart } from '#scripts/docs/reference/rules.ts';
import { taken } from '#scripts/docs/reference/taken.ts';
import { SETTINGS } from '#shared/cloud/settings-table.ts';
import { PLACEMENT_ERRORS } from '#shared/lifecycle/placement-errors.ts';
import { allowanceRules } from '#shared/plan/allowance-rules.ts';
import { contentRules } from '#shared/plan/content-rules.ts';
import type { Runtime } from '#shared/plan/model.ts';
import { resourceRules } from '#shared/plan/resource-rules.ts';
import type { RuleInput } from '#shared/plan/rule.ts';

const inputs: readonly RuleInput[] = Object.values(REFUSED)
  .flat()
  .map((given) => {
    const settings = planSettings(given.environment);
    const request = requestOf(given) as RuleInput['request'] & { runtime?: Runtime };
    return { request, settings, runtime: request.runtime ?? settings.defaultRuntime };
  });

describe('rules that JSON Schema cannot say', () => {
  const rules = { contentRules, resourceRules, allowanceRules };
  test.each(
    Object.entries(rules).flatMap(([list, all]) =>
      all.map((rule, index) => ({ name: `${list}[${index}] of ${rule.reads.join(', ')}`, rule })),
    ),
  )('$name: a request that breaks it is shown', ({ rule }) => {
    expect(inputs.some((input) => rule.check(input).length > 0)).toBe(true);
  });

  const image = 'alpine:3.20';
  test.each([
    ['is right', { request: { image } }, 'is not refused'],
    ['the schema refuses too', { request: { image, imagee: 'x' } }, 'says this by itself'],
  ])('a request that %s is no example', (_, given, told) => {
    expect(() => rulesPart({ Title: [given] })).toThrow(told);
  });

  test('an example that its schema refuses is no example', () => {
    expect(() => taken('request', { image, imagee: 'x' })).toThrow('the schema request refuses');
    expect(() => taken('result', { schema: 1, runId: 'x' })).toThrow('the schema result refuses');
  });
});

const PAGES = ['README.md', ...readdirSync('docs').filter((name) => name.endsWith('.md'))].map(
  (name) => (name === 'README.md' ? name : join('docs', name)),
);

/** As GitHub makes them of headings; of the second of two that are alike it would make another. */
function anchors(page: string): string[] {
  const text = readFileSync(page, 'utf8').replaceAll(/```[\s\S]*?```/g, '');
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('every prefix whose objects Terraform lets expire stands in the table of objects', () => {
  const [, rules = ''] = readFileSync('terraform/storage.tf', 'utf8').split('lifetimes = [');
  const prefixes = [...(rules.split(/^ {2}\]$/m)[0] ?? '').matchAll(/"(runs\/[a-z-]+\/)"/g)];
  const objects = readFileSync('docs/reference.md', 'utf8').split('### Objects in the bucket')[1];
  expect(prefixes.length).toBeGreaterThan(8);
  for (const [, prefix] of prefixes) expect(objects).toContain(`| \`${prefix}`);
});

test('no two headings of the reference are alike: a link leads to the one that is meant', () => {
  const made = anchors('docs/reference.md');
  expect(made.length).toBeGreaterThan(30);
  expect(made.filter((anchor, index) => made.indexOf(anchor) !== index)).toEqual([]);
});

test.each(PAGES)('every link of %s leads to a file, and to a heading of it', (page) => {
  const text = readFileSync(page, 'utf8').replaceAll(/```[\s\S]*?```/g, '');
  for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(target)) continue;
    const [file = '', anchor] = target.split('#');
    const path = file === '' ? page : normalize(join(dirname(page), file));
    expect(existsSync(path), `${target} of ${page}`).toBe(true);
    if (anchor !== undefined) expect(anchors(path), `${target} of ${page}`).toContain(anchor);
  }
});

test('whatever tells of a setting names the variable that is set', () => {
  const names = Object.values(SETTINGS)
    .map(({ name }) => name.replace(/^MAYFLY_/, ''))
    .filter((name) => name.includes('_') && !/^ENDPOINT_|_HOST$/.test(name));
  expect(names).toContain('TTL_SECONDS_MAX');
  const bare = new RegExp(
    `(?<![A-Z_])(?:${[...names, 'REGIONS', 'SUBNETWORKS'].join('|')})(?![A-Z_])`,
  );
  const page = readFileSync('docs/reference.md', 'utf8').replaceAll('\\', '');
  const advice = PLACEMENT_ERRORS.map((error) => error.advice ?? '');
  for (const line of [...page.split('\n'), ...advice]) expect(line).not.toMatch(bare);
});
