import { expect, test } from 'vitest';
import { countTests, formatCounts } from '#scripts/check/counts.ts';

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((outcome) => ({ status: outcome })),
});
const report = (...files: ReturnType<typeof file>[]) => JSON.stringify({ testResults: files });

test.each([
  {
    name: 'all passed',
    text: report(file('passed', 'passed', 'passed')),
    exitedWell: true,
    line: '2 passed, 0 failed',
  },
  {
    name: 'one skipped',
    text: report(file('passed', 'passed', 'pending')),
    exitedWell: true,
    line: '1 passed, 0 failed, 1 skipped',
  },
  {
    name: 'one failed',
    text: report(file('failed', 'failed', 'passed')),
    exitedWell: false,
    line: '1 passed, 1 failed',
  },
  {
    name: 'a file that could not be loaded',
    text: report(file('failed'), file('passed', 'passed')),
    exitedWell: false,
    line: '1 passed, 1 failed',
  },
  {
    name: 'an error outside of any test',
    text: report(file('passed', 'passed')),
    exitedWell: false,
    line: '1 passed, 1 failed',
  },
  {
    name: 'a report cut in half',
    text: '{"testResults": [',
    exitedWell: false,
    line: '0 passed, 1 failed',
  },
  { name: 'no report', text: null, exitedWell: false, line: '0 passed, 1 failed' },
])('a test run is counted: $name', ({ text, exitedWell, line }) => {
  expect(formatCounts(countTests(text, exitedWell))).toBe(line);
});
