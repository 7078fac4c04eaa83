// The last lines of a run: whose words are shown as the container's.
import { expect, test } from 'vitest';
import { readStoredResult } from '#scripts/mayfly/stored-result.ts';
import { describeResult } from '#scripts/mayfly/summary.ts';

const said = (changes: object) => {
  const result = { runId: 'r', status: 'FAILED', cause: 'exit', exitCode: 3, ...changes };
  const bytes = new TextEncoder().encode(JSON.stringify(result));
  return describeResult(readStoredResult('runs/results/r.json', bytes)).join('\n');
};

test('A51: a container that failed without a word is said to have printed nothing', () => {
  expect(said({ detail: '', log: { tail: '' } })).toContain('it printed nothing');
  expect(said({ detail: '', log: { tail: '\n' } })).toContain('it printed nothing');
  expect(said({ detail: 'oh', log: { tail: 'oh' } })).toMatch(/last lines of its output:\n +oh/);
});

test('A51: nothing is said of output where none is known, or where none was needed', () => {
  const done = { status: 'SUCCEEDED', exitCode: 0, log: { tail: '' } };
  expect(said(done)).not.toContain('printed');
  for (const log of [null, { tail: null }]) {
    const text = said({ cause: 'step-failed', exitCode: null, detail: 'no such image', log });
    expect(text).toContain('no such image');
    expect(text).not.toContain('output');
    expect(text).not.toContain('printed');
  }
});
