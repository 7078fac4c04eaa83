// An attempt whose stop is ordered (design R3): the claim first, then the machine that holds it, then the
// marker; and what an attempt that did not speak for itself is said to have ended of.
import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import type { Cause } from '#shared/lifecycle/failures.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import { lossOf, neverBegan } from '#shared/lifecycle/loss.ts';
import { machineKey, type Observation } from '#shared/lifecycle/observation.ts';
import type { Attempt, StopOrder } from '#shared/lifecycle/record.ts';
import {
  attempt,
  CONTROL,
  candidate,
  context,
  GONE,
  HOLDER,
  held,
  INSTANCE,
  intent,
  KEY,
  marker,
  NO_MARKER,
  NOW_MS,
  record,
  seen,
  there,
  UNKNOWN,
  ZONE,
} from '#test/lifecycle/fixtures.ts';

const OTHER = 'us-central1-b';
const OTHER_KEY = machineKey(INSTANCE, OTHER);
const CANCEL: StopOrder = { reason: 'cancelled', cause: 'cancelled', detail: 'why', atMs: NOW_MS };
const ENDING: StopOrder = { reason: 'ending', cause: null, detail: 'why', atMs: NOW_MS };
const RUNNING = { marker: marker(), generation: '5' };
const DEADLINE_MS = intent().deadlineSeconds * 1000;
const stopping = (change: Partial<Attempt> = {}, order: StopOrder = CANCEL) =>
  record({ state: 'STOPPING', attempts: [attempt({ claim: HOLDER, order, ...change })] });
const step = (
  facts: Partial<Observation>,
  change: Partial<Attempt> = {},
  nowMs = NOW_MS + 60_000,
) => decide(stopping(change), seen(facts), context({ nowMs }));

describe('an ordered stop, step by step', () => {
  const table: [string, Partial<Observation>, object][] = [
    ['the claim is not known: it is taken', {}, { kind: 'take-claim' }],
    ['the claim is free: it is taken', { claim: { kind: 'free' } }, { kind: 'take-claim' }],
    ['ours: the marker is read', { claim: held(CONTROL) }, { kind: 'read-marker' }],
    [
      'ours, no last word: the marker is sealed',
      { claim: held(CONTROL), marker: RUNNING },
      { kind: 'seal-marker' },
    ],
    [
      'a machine’s: that machine is asked for',
      { claim: held(HOLDER) },
      { kind: 'read-machine', instance: INSTANCE, zone: ZONE },
    ],
    [
      'there: its delete is sent again',
      { claim: held(HOLDER), machines: { [KEY]: there() } },
      { kind: 'delete-machine', instance: INSTANCE, zone: ZONE },
    ],
    [
      'there, its delete sent in this pass',
      { claim: held(HOLDER), machines: { [KEY]: there() }, deleted: [KEY] },
      { kind: 'rest' },
    ],
    ['not known', { claim: held(HOLDER), machines: { [KEY]: UNKNOWN } }, { kind: 'rest' }],
    [
      'gone: its operations are read',
      { claim: held(HOLDER), machines: { [KEY]: GONE } },
      { kind: 'read-ending', zone: ZONE, instanceId: '111' },
    ],
    [
      'another machine of that name: the holder is gone',
      { claim: held(HOLDER), machines: { [KEY]: there({ id: '222' }) } },
      { kind: 'read-ending', zone: ZONE, instanceId: '111' },
    ],
    [
      'gone, its operations cannot be read',
      { claim: held(HOLDER), machines: { [KEY]: GONE }, endings: { '111': 'unknown' } },
      { kind: 'rest' },
    ],
    [
      'gone, its operations read: the marker, after that',
      { claim: held(HOLDER), machines: { [KEY]: GONE }, endings: { '111': 'none' } },
      { kind: 'read-marker' },
    ],
    [
      'gone, the marker read: it is sealed',
      {
        claim: held(HOLDER),
        machines: { [KEY]: GONE },
        endings: { '111': 'none' },
        marker: RUNNING,
      },
      { kind: 'seal-marker' },
    ],
  ];
  test.each(table)('A11: %s', (_name, facts, expected) => {
    expect(step(facts)).toEqual(expected);
  });

  test('A12: five minutes after its deadline it is over, although the machine is there', () => {
    const facts = { claim: held(HOLDER), machines: { [KEY]: there() }, deleted: [KEY] };
    expect(step(facts, {}, DEADLINE_MS + SLACK_MS - 1)).toEqual({ kind: 'rest' });
    expect(step(facts, {}, DEADLINE_MS + SLACK_MS)).toEqual({ kind: 'read-marker' });
    const unread = { ...facts, machines: { [KEY]: GONE }, endings: { '111': 'unknown' as const } };
    expect(step(unread, {}, DEADLINE_MS + SLACK_MS)).toEqual({ kind: 'read-marker' });
    expect(
      step({ claim: held(HOLDER), machines: { [KEY]: UNKNOWN } }, {}, DEADLINE_MS + SLACK_MS),
    ).toEqual({
      kind: 'read-marker',
    });
  });

  test('the latest deadline of its machines counts', () => {
    const later = intent({ number: 2, deadlineSeconds: intent().deadlineSeconds + 100 });
    const two = { intents: [later, intent()] };
    const facts = { claim: held(HOLDER), machines: { [KEY]: there() }, deleted: [KEY] };
    expect(step(facts, two, DEADLINE_MS + SLACK_MS + 99_999)).toEqual({ kind: 'rest' });
    expect(step(facts, two, DEADLINE_MS + SLACK_MS + 100_000)).toEqual({ kind: 'read-marker' });
  });

  test('P81: every machine of the attempt is asked for and deleted, each once a pass', () => {
    const two = {
      intents: [intent(), intent({ number: 2, candidate: candidate({ zone: OTHER }) })],
    };
    const facts = { claim: held(HOLDER), machines: { [KEY]: there() }, deleted: [KEY] };
    expect(step(facts, two)).toEqual({ kind: 'read-machine', instance: INSTANCE, zone: OTHER });
    const both = { ...facts, machines: { [KEY]: there(), [OTHER_KEY]: there({ id: '222' }) } };
    expect(step(both, two)).toEqual({ kind: 'delete-machine', instance: INSTANCE, zone: OTHER });
    expect(step({ ...both, deleted: [KEY, OTHER_KEY] }, two)).toEqual({ kind: 'rest' });
    expect(step({ ...both, machines: { [KEY]: there(), [OTHER_KEY]: GONE } }, two)).toEqual({
      kind: 'rest',
    });
    expect(step({ ...both, machines: { [KEY]: there(), [OTHER_KEY]: UNKNOWN } }, two)).toEqual({
      kind: 'rest',
    });
  });

  test('sealed, it ends; a marker that is sealed already is not sealed again, and is nobody’s word', () => {
    const sealed = {
      marker: marker({ status: 'FAILED', sealed: true, imageDigest: 'x' }),
      generation: '9',
    };
    const ends = [
      { claim: held(CONTROL), marker: NO_MARKER, sealed: true },
      { claim: held(CONTROL), marker: sealed },
    ];
    for (const facts of ends) {
      expect(step(facts)).toMatchObject({
        kind: 'write',
        record: { state: 'CANCELLED', attempts: [{ facts: null }] },
      });
    }
  });
});

describe('the cause of an end that nobody reported', () => {
  const loss = (
    facts: Partial<Observation>,
    change: Partial<Attempt> = {},
    nowMs = NOW_MS + 60_000,
  ) => {
    const run = record({ attempts: [attempt({ claim: HOLDER, ...change })] });
    return lossOf(run, seen(facts), context({ nowMs }), 'it is gone');
  };
  const told = (ending: 'preempted' | 'host-error' | 'deleted' | 'none' | 'unknown') => ({
    endings: { '111': ending },
  });
  const word = (cause: Cause, change = {}) => ({
    marker: {
      marker: marker({ status: 'FAILED', cause, step: 'run', ...change }),
      generation: '5',
    },
  });
  const table: [string, Partial<Observation>, Partial<Attempt>, Cause][] = [
    ['no operation', told('none'), {}, 'machine-lost'],
    ['its operations were not read', {}, {}, 'machine-lost'],
    ['its operations cannot be read', told('unknown'), {}, 'machine-lost'],
    ['preempted', told('preempted'), {}, 'preempted'],
    ['its host failed', told('host-error'), {}, 'host-error'],
    ['deleted by somebody', told('deleted'), {}, 'cancelled-outside'],
    ['deleted, after we ordered it', told('deleted'), { order: ENDING }, 'machine-lost'],
    ['interrupted, by its own word', word('interrupted'), { order: ENDING }, 'interrupted'],
    ['preempted, by its own word', word('preempted'), { order: ENDING }, 'preempted'],
    ['a word that says neither', word('timeout'), {}, 'machine-lost'],
    ['a sealed marker is nobody’s word', word('preempted', { sealed: true }), {}, 'machine-lost'],
    [
      'ordered to stop at its deadline',
      told('none'),
      { order: { ...ENDING, cause: 'ttl' } },
      'ttl',
    ],
    ['cancelled', told('none'), { order: CANCEL }, 'cancelled'],
    ['cancelled, nobody worked', {}, { claim: CONTROL, order: CANCEL }, 'cancelled'],
    [
      'at its deadline, nobody worked',
      {},
      { claim: CONTROL, order: { ...ENDING, cause: 'ttl' } },
      'machine-lost',
    ],
    ['of an id that is not its own', { endings: { '999': 'preempted' } }, {}, 'machine-lost'],
    ['preempted before it claimed', told('preempted'), { claim: null }, 'preempted'],
    [
      'the holder just read',
      { claim: held({ ...HOLDER, instanceId: '222' }), endings: { '222': 'preempted' } },
      {},
      'preempted',
    ],
    ['no machine at all', told('preempted'), { claim: CONTROL, intents: [] }, 'machine-lost'],
  ];
  test.each(table)('B64: %s', (_name, facts, change, cause) => {
    expect(loss(facts, change)).toMatchObject({ cause, exitCode: null });
  });

  test('A12: gone at or after RUNNING and its TTL, or its deadline, its time was up', () => {
    const ttlMs = 7_200_000;
    const ran = { runningMs: NOW_MS };
    expect(loss({}, ran, NOW_MS + ttlMs - 1).cause).toBe('machine-lost');
    expect(loss({}, ran, NOW_MS + ttlMs).cause).toBe('ttl');
    expect(loss({}, {}, DEADLINE_MS - 1).cause).toBe('machine-lost');
    expect(loss({}, {}, DEADLINE_MS).cause).toBe('ttl');
    // Who never worked did not run out of time.
    expect(loss({}, { claim: CONTROL }, DEADLINE_MS).cause).toBe('machine-lost');
    expect(loss({}, { claim: null }, DEADLINE_MS).cause).toBe('machine-lost');
  });

  test('B65, B66: the detail says what the operations told; the step is the marker’s', () => {
    expect(loss(told('preempted')).detail).toBe(
      'it is gone: it was preempted: run it again, or with "provisioning": "standard"',
    );
    expect(loss(told('deleted')).detail).toBe('it is gone: it was deleted by somebody');
    expect(loss(told('host-error')).detail).toBe('it is gone: its host failed');
    expect(loss(told('none'))).toMatchObject({ detail: 'it is gone', step: null });
    expect(loss(word('interrupted')).step).toBe('run');
  });

  test('a run without an attempt has none to judge', () => {
    const run = record({ attempts: [] });
    expect(() => lossOf(run, seen(), context(), '')).toThrow('run-1');
  });
});

describe('an attempt that never began', () => {
  const run = record({ attempts: [attempt({ claim: CONTROL })] });
  const report = { status: 'failed:tools', detail: 'no candidate', bootId: 'b1' };
  const end = (bootReports: Observation['bootReports'], endings = {}) =>
    neverBegan(run, seen({ bootReports, endings }), context());

  test('B56: it failed at the step that its machine named', () => {
    expect(end({ [KEY]: report })).toMatchObject({
      status: 'FAILED',
      cause: 'step-failed',
      step: 'tools',
    });
    expect(end({ [OTHER_KEY]: null, [KEY]: report }).cause).toBe('step-failed');
  });

  test('it is lost when nothing was said, or by a machine that is not its own', () => {
    const lost = {
      status: 'LOST',
      cause: 'machine-lost',
      detail: 'its machine never began to work',
    };
    expect(end({})).toMatchObject(lost);
    expect(end({ [KEY]: null })).toMatchObject(lost);
    expect(end({ 'mayfly-other-1@us-central1-a': report })).toMatchObject(lost);
  });

  test('B61: preempted it is not to blame', () => {
    expect(end({ [KEY]: report }, { '111': 'preempted' })).toMatchObject({ cause: 'preempted' });
  });
});
