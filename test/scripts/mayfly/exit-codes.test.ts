import { expect, test } from 'vitest';
import { exitCodeOfRun } from '#scripts/mayfly/exit-codes.ts';

test.each([
  { name: 'a good run', status: 'SUCCEEDED', exitCode: 0, code: 0 },
  { name: 'the container’s own code', status: 'FAILED', exitCode: 37, code: 37 },
  { name: 'a failed run without a code', status: 'FAILED', exitCode: null, code: 70 },
  { name: 'outputs lost after exit 0', status: 'FAILED', exitCode: 0, code: 70 },
  {
    name: 'a timeout that the container survived to end by TERM',
    status: 'TIMED_OUT',
    exitCode: 143,
    code: 143,
  },
  { name: 'a timeout', status: 'TIMED_OUT', exitCode: null, code: 71 },
  { name: 'preempted', status: 'PREEMPTED', exitCode: null, code: 72 },
  { name: 'cancelled', status: 'CANCELLED', exitCode: null, code: 73 },
  { name: 'lost', status: 'LOST', exitCode: null, code: 74 },
  { name: 'no capacity', status: 'NO_CAPACITY', exitCode: null, code: 75 },
  { name: 'rejected', status: 'REJECTED', exitCode: null, code: 76 },
])('how a run ended as an exit code: $name', ({ status, exitCode, code }) => {
  expect(exitCodeOfRun({ status, exitCode })).toBe(code);
});
