import { describe, expect, test } from 'vitest';
import {
  bootLines,
  describeBoot,
  failedStep,
  readBootReport,
} from '#shared/lifecycle/boot-report.ts';

const report = (status: string, detail = '', bootId = '') => ({ status, detail, bootId });
const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}`).join('\n');

describe('what a machine says of its boot', () => {
  test('B48: status, detail and boot id are read; what it has not said is empty', () => {
    expect(readBootReport({ status: 'booting', boot_id: 'b1', other: 'x' })).toEqual({
      status: 'booting',
      detail: '',
      bootId: 'b1',
    });
    expect(readBootReport(null)).toBeNull();
  });

  test.each([
    ['failed:pull', 'pull'],
    ['failed:tools', 'tools'],
    ['failed:credentials', 'credentials'],
    ['failed:something', 'boot'],
    ['booting', null],
    ['ready', null],
    ['', null],
    ['failed:', null],
    ['not failed:pull', null],
  ] as const)('B56: status %j has failed at step %j', (status, step) => {
    expect(failedStep(report(status))).toBe(step);
  });

  test('B57: of a log of 40 lines the last 25 are shown', () => {
    const shown = bootLines(report('failed:pull', `${lines(40)}\n`), 10_000).split('\n');
    expect(shown).toHaveLength(25);
    expect(shown[0]).toBe('line 16');
    expect(shown.at(-1)).toBe('line 40');
  });

  test('B57: whole lines are left out where they do not fit, and one long line keeps its end', () => {
    // "line 39\nline 40" has 15 characters, a third line would make 23.
    expect(bootLines(report('', lines(40)), 22)).toBe('line 39\nline 40');
    expect(bootLines(report('', 'abcdef'), 3)).toBe('def');
  });

  test('B56: the sentence names step and boot, and the log follows', () => {
    expect(describeBoot(report('failed:tools', 'E: no candidate\n', 'b1'), 2000)).toBe(
      'step tools failed on its machine (boot b1):\nE: no candidate',
    );
    expect(describeBoot(report('booting'), 2000)).toBe(
      'its machine never began to work; the last it said of itself is "booting"',
    );
    expect(describeBoot(report('failed:pull', lines(2000)), 2000).length).toBeLessThanOrEqual(2000);
  });
});
