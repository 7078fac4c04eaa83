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

  test('timed out, cancelled, refused and no capacity are never tried again', () => {
    for (const cause of ['timeout', 'ttl', 'cancelled', 'refused', 'stock-out', 'quota'] as const) {
      expect(retryCounter(endingOf(cause)), cause).toBeNull();
    }
    expect(retryCounter(endingOf('exit', true))).toBeNull();
    expect(retryCounter(endingOf('preempted'))).toBe('preempted');
    expect(retryCounter(endingOf('machine-lost'))).toBe('infrastructure');
    expect(retryCounter(endingOf('out-of-memory'))).toBe('outOfMemory');
    expect(retryCounter(endingOf('exit'))).toBe('failed');
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
