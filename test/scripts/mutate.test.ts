import { expect, test } from 'vitest';
import { formatScore, listSurvivors, scoreAll, scoreFiles } from '#scripts/mutate/score.ts';

const mutant = (status: string, line = 1, replacement = 'true') => ({
  status,
  mutatorName: 'ConditionalExpression',
  replacement,
  location: { start: { line } },
});

const REPORT = {
  files: {
    'a.ts': { mutants: ['Killed', 'Killed', 'Timeout', 'Survived'].map((one) => mutant(one)) },
    'b.ts': {
      mutants: [
        mutant('NoCoverage', 9),
        mutant('Survived', 2, '{\n  }'),
        mutant('Killed'),
        mutant('CompileError'),
        mutant('Ignored'),
      ],
    },
    'c.ts': { mutants: [] },
  },
};

test('the score is detected by valid mutants, the worst file first', () => {
  // By hand: a 3 of 4, b 1 of 3 (what does not compile or is ignored does not count), all 4 of 7.
  expect(scoreFiles(REPORT).map(({ file, percent }) => [file, percent?.toFixed(2)])).toEqual([
    ['b.ts', '33.33'],
    ['a.ts', '75.00'],
    ['c.ts', undefined],
  ]);
  expect(scoreAll(REPORT)).toMatchObject({ detected: 4, survived: 2, uncovered: 1 });
  expect(formatScore(scoreAll(REPORT))).toMatch(/^ {2}57\.1 % {2}all/);
});

test('what nobody noticed is listed by its line', () => {
  expect(listSurvivors(REPORT)).toEqual([
    'a.ts:1 ConditionalExpression: true',
    'b.ts:2 ConditionalExpression: { }',
    'b.ts:9 ConditionalExpression: true',
  ]);
});
