// A record is ordered by (attempt, intent, state) and never goes back (design: data in the bucket).
import { describe, expect, test } from 'vitest';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import { isFinal, isForward } from '#shared/lifecycle/transitions.ts';
import { attempt, record } from '#test/lifecycle/fixtures.ts';

const END = {
  status: 'LOST',
  cause: 'machine-lost',
  step: null,
  exitCode: null,
  detail: '',
  atMs: 0,
} as const;
const CONTROL = { by: 'control' } as const;
const at = (state: RunRecord['state'], ...attempts: Partial<Attempt>[]) =>
  record({ state, attempts: attempts.map((change) => attempt(change)) });

describe('what may replace a record', () => {
  const table = [
    ['the same once more', at('PLACING', {}), at('PLACING', {}), true],
    ['a listed step', at('PLACING', {}), at('PROVISIONING', {}), true],
    ['no listed step', at('RUNNING', {}), at('PROVISIONING', {}), false],
    [
      'no listed step, although the next attempt begins',
      at('RUNNING', {}),
      at('PLACING', {}, {}),
      false,
    ],
    ['the first attempt', at('ACCEPTED'), at('PLACING', {}), true],
    ['an end without any attempt', at('ACCEPTED'), at('CANCELLED'), true],
    ['a record without attempts that changes', at('WAITING'), at('WAITING'), true],
    ['the next attempt', at('WAITING', { end: END }), at('PLACING', { end: END }, {}), true],
    ['two attempts at once', at('WAITING', {}), at('PLACING', {}, {}, {}), false],
    ['an attempt that is taken back', at('WAITING', {}, {}), at('PLACING', {}), false],
    ['all attempts that are taken back', at('WAITING', {}), at('PLACING'), false],
    ['an end of the attempt', at('RUNNING', {}), at('WAITING', { end: END }), true],
    ['an end that stays', at('WAITING', { end: END }), at('WAITING', { end: END }), true],
    ['an end that is taken back', at('WAITING', { end: END }), at('PLACING', {}), false],
    ['a claim', at('PROVISIONING', {}), at('PROVISIONING', { claim: CONTROL }), true],
    [
      'a claim that stays',
      at('STOPPING', { claim: CONTROL }),
      at('STOPPING', { claim: CONTROL }),
      true,
    ],
    ['a claim that is taken back', at('WAITING', { claim: CONTROL }), at('PLACING', {}), false],
    ['the next intent', at('PROVISIONING', {}), at('PLACING', { intentCount: 2 }), true],
    ['the same intent', at('PLACING', { intentCount: 2 }), at('WAITING', { intentCount: 2 }), true],
    ['an earlier intent', at('WAITING', { intentCount: 2 }), at('PLACING', {}), false],
    [
      'an earlier intent, provisioning',
      at('PLACING', { intentCount: 2 }),
      at('PROVISIONING', {}),
      false,
    ],
    ['anything, after the end', at('LOST', { end: END }), at('LOST', { end: END }), false],
  ] as const;
  test.each(table)('D21: %s', (_name, before, after, forward) => {
    expect(isForward(before, after)).toBe(forward);
  });
});

test('A14: an end is final, and nothing else is', () => {
  const states = 'SUCCEEDED FAILED TIMED_OUT PREEMPTED CANCELLED LOST NO_CAPACITY'.split(' ');
  for (const state of states) expect(isFinal(state as RunRecord['state']), state).toBe(true);
  const live = 'ACCEPTED PLACING WAITING PROVISIONING RUNNING STOPPING'.split(' ');
  for (const state of live) expect(isFinal(state as RunRecord['state']), state).toBe(false);
});
