import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { behavioursPage, listTests } from '#scripts/docs/behaviours.ts';

test('docs/behaviours.md is what the names of the tests say', async () => {
  const stored = await readFile('docs/behaviours.md', 'utf8');
  expect(stored, 'run: npm run docs').toBe(behavioursPage(await listTests()));
});

test('behaviours stand once each, by list and number, whatever the order of the tests', () => {
  const file = 'test/a.test.ts';
  const tests = [
    { name: 'P117: a | b', file },
    { name: 'suite > A10: ten', file },
    { name: 'A9: nine', file },
    { name: 'A9: nine', file },
    { name: 'no id at all', file },
  ];
  const page = behavioursPage(tests);
  expect(page.split('\n').filter((line) => /^\| [A-Z]\d/.test(line))).toEqual([
    '| A9 | nine | `test/a.test.ts` |',
    '| A10 | ten | `test/a.test.ts` |',
    '| P117 | a \\| b | `test/a.test.ts` |',
  ]);
  expect(behavioursPage(tests.toReversed())).toBe(page);
});
