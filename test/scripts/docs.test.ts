import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { behavioursPage, namesIn } from '#scripts/docs/behaviours.ts';

const run = promisify(execFile);

test('each page that is made from sources is what they say', { timeout: 120_000 }, async () => {
  const check = run(process.execPath, ['scripts/docs.ts', '--check']);
  await expect(check, 'run: npm run docs').resolves.toMatchObject({ stderr: '' });
});

test('behaviours stand once each, by list and number, whatever the order of the tests', () => {
  const file = 'test/a.test.ts';
  const tests = [
    { name: 'P117: a | b', file },
    { name: 'P02: two', file },
    { name: 'A10: ten', file },
    { name: 'A9: nine', file },
    { name: 'A9: nine: $name', file },
    { name: 'no id at all', file },
  ];
  const page = behavioursPage(tests);
  expect(page.split('\n').filter((line) => /^\| [A-Z]\d/.test(line))).toEqual([
    '| A9 | nine | `test/a.test.ts` |',
    '| A10 | ten | `test/a.test.ts` |',
    '| P02 | two | `test/a.test.ts` |',
    '| P117 | a \\| b | `test/a.test.ts` |',
  ]);
  expect(behavioursPage(tests.toReversed())).toBe(page);
});

test('a title counts where it is the first argument of a call, whatever the call and the quotes', () => {
  const claim = (id: string) => `${id}: it's "so"`;
  const source = [
    `test('${claim('A1').replaceAll("'", "\\'")}', () => {});`,
    `test(\n  \`${claim('A2')}\`, () => {});`,
    `test.each([1])("${claim('A3').replaceAll('"', '\\"')}", () => {});`,
    `// test(\`${claim('A4')}\`)`,
    `const data = { name: \`${claim('A5')}\` };`,
    `test(\`no id at all\`, () => {});`,
  ];
  expect(namesIn(source.join('\n'))).toEqual(['A1', 'A2', 'A3'].map(claim));
});
