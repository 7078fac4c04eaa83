import { describe, expect, test } from 'vitest';
import { CAUSES, causeOfLoss, endingOf, retryCounter } from '#shared/lifecycle/failures.ts';

/** The closed table of the public contract, typed by hand. */
const CONTRACT = `SUCCEEDED exit · FAILED exit out-of-memory step-failed gpu-idle refused ·
TIMED_OUT timeout ttl · PREEMPTED preempted · LOST host-error machine-lost interrupted ·
NO_CAPACITY stock-out quota · CANCELLED cancelled cancelled-outside`;

describe('status and cause', () => {
  test('D21: every cause of the contract has its status, and there is no other cause', () => {
    const expected = new Map<string, string>();
    for (const row of CONTRACT.split('·')) {
      const [status = '', ...causes] = row.trim().split(/\s+/);
      for (const cause of causes) expected.set(cause, status);
    }
    for (const [cause, status] of expected) {
      expect(CAUSES[cause as keyof typeof CAUSES], cause).toBe(status);
    }
    expect(Object.keys(CAUSES).sort()).toEqual([...expected.keys()].sort());
    expect(endingOf('exit', true).status).toBe('SUCCEEDED');
  });

  /** The counter of a further attempt (design: retry by cause), typed by hand; one row an ending. */
  const counters = [
    { ending: { status: 'SUCCEEDED', cause: 'exit' }, counter: null },
    { ending: { status: 'FAILED', cause: 'exit' }, counter: 'failed' },
    { ending: { status: 'FAILED', cause: 'out-of-memory' }, counter: 'outOfMemory' },
    { ending: { status: 'FAILED', cause: 'step-failed' }, counter: 'failed' },
    { ending: { status: 'FAILED', cause: 'step-failed', transient: false }, counter: 'failed' },
    {
      ending: { status: 'FAILED', cause: 'step-failed', transient: true },
      counter: 'infrastructure',
    },
    { ending: { status: 'FAILED', cause: 'gpu-idle' }, counter: 'failed' },
    { ending: { status: 'FAILED', cause: 'refused' }, counter: null },
    { ending: { status: 'TIMED_OUT', cause: 'timeout' }, counter: null },
    { ending: { status: 'TIMED_OUT', cause: 'ttl' }, counter: null },
    { ending: { status: 'PREEMPTED', cause: 'preempted' }, counter: 'preempted' },
    { ending: { status: 'LOST', cause: 'host-error' }, counter: 'infrastructure' },
    { ending: { status: 'LOST', cause: 'machine-lost' }, counter: 'infrastructure' },
    { ending: { status: 'LOST', cause: 'interrupted' }, counter: 'infrastructure' },
    { ending: { status: 'NO_CAPACITY', cause: 'stock-out' }, counter: null },
    { ending: { status: 'NO_CAPACITY', cause: 'quota' }, counter: null },
    { ending: { status: 'CANCELLED', cause: 'cancelled' }, counter: null },
    { ending: { status: 'CANCELLED', cause: 'cancelled-outside' }, counter: null },
  ] as const;
  test.each(counters)('D21: a further attempt after $ending uses $counter', (row) => {
    expect(retryCounter(row.ending)).toBe(row.counter);
    expect(CAUSES).toHaveProperty(row.ending.cause);
  });

  test('D21: every cause has its row in the table of counters', () => {
    const rows = new Set<string>(counters.map(({ ending }) => ending.cause));
    expect([...rows].sort()).toEqual(Object.keys(CAUSES).sort());
  });
});

describe('a machine that is gone without a last word', () => {
  const nothing = { word: null, ordered: null, ending: 'none', timeIsUp: false } as const;
  const table = [
    { name: 'no operation, in time', facts: nothing, cause: 'machine-lost' },
    { name: 'preempted', facts: { ...nothing, ending: 'preempted' }, cause: 'preempted' },
    { name: 'preempted, as it said', facts: { ...nothing, word: 'preempted' }, cause: 'preempted' },
    {
      name: 'interrupted, and preempted by the operations',
      facts: { ...nothing, word: 'interrupted', ending: 'preempted' },
      cause: 'preempted',
    },
    { name: 'rebooted', facts: { ...nothing, word: 'interrupted' }, cause: 'interrupted' },
    { name: 'host error', facts: { ...nothing, ending: 'host-error' }, cause: 'host-error' },
    { name: 'at its time limit', facts: { ...nothing, timeIsUp: true }, cause: 'ttl' },
    {
      name: 'preempted at its time limit',
      facts: { ...nothing, timeIsUp: true, ending: 'preempted' },
      cause: 'preempted',
    },
    {
      name: 'deleted by somebody',
      facts: { ...nothing, ending: 'deleted' },
      cause: 'cancelled-outside',
    },
    { name: 'cancelled', facts: { ...nothing, ordered: 'cancelled' }, cause: 'cancelled' },
    {
      name: 'cancelled while it was preempted',
      facts: { ...nothing, ordered: 'cancelled', ending: 'preempted' },
      cause: 'cancelled',
    },
  ] as const;
  test.each(table)('$name: $cause', ({ facts, cause }) => {
    expect(causeOfLoss(facts)).toBe(cause);
  });
});
