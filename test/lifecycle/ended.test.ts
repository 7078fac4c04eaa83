// After a run's end (design R4): an intent is settled when nothing of it is left and nothing can appear.
import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import { SLACK_MS } from '#shared/lifecycle/limits.ts';
import { machineKey, type Observation } from '#shared/lifecycle/observation.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import { diskName } from '#shared/plan/names.ts';
import {
  attempt,
  candidate,
  context,
  GONE,
  HOLDER,
  INSTANCE,
  intent,
  KEY,
  NOW_MS,
  record,
  seen,
  there,
  UNKNOWN,
  ZONE,
} from '#test/lifecycle/fixtures.ts';

const DISK = diskName('mayfly', 'run-1', 1, 1);
const END = {
  status: 'LOST',
  cause: 'machine-lost',
  step: null,
  exitCode: null,
  detail: '',
  atMs: NOW_MS,
} as const;
const ended = (...attempts: Partial<Attempt>[]): RunRecord =>
  record({
    state: 'LOST',
    end: END,
    attempts: attempts.map((change) => attempt({ end: END, ...change })),
  });
const step = (facts: Partial<Observation>, run = ended({}), nowMs = NOW_MS + 60_000) =>
  decide(run, seen({ finished: true, ...facts }), context({ nowMs }));
const REST = { kind: 'rest' };
const gone = { machines: { [KEY]: GONE } };
const DEADLINE_MS = intent().deadlineSeconds * 1000;

test('the result comes first, whoever looks; the rest is not for who looks at the marker alone', () => {
  expect(decide(ended({}), seen(), context({ depth: 'marker' }))).toEqual({ kind: 'finish' });
  expect(decide(ended({}), seen({ finished: true }), context({ depth: 'marker' }))).toEqual(REST);
});

describe('what is asked and done of an open intent', () => {
  const table: [string, Partial<Observation>, object][] = [
    ['its machine is asked for', {}, { kind: 'read-machine', instance: INSTANCE, zone: ZONE }],
    [
      'there: deleted',
      { machines: { [KEY]: there() } },
      { kind: 'delete-machine', instance: INSTANCE, zone: ZONE },
    ],
    ['there, deleted in this pass', { machines: { [KEY]: there() }, deleted: [KEY] }, REST],
    ['not known', { machines: { [KEY]: UNKNOWN } }, REST],
    [
      'not known, although a delete was sent',
      { machines: { [KEY]: UNKNOWN }, deleted: [KEY] },
      REST,
    ],
    [
      'gone: its operation',
      gone,
      { kind: 'read-operation', key: '1/1', zone: ZONE, operation: 'operation-1' },
    ],
    [
      'a foreign one of that name is not touched',
      { machines: { [KEY]: there({ ours: false }) } },
      { kind: 'read-operation', key: '1/1', zone: ZONE, operation: 'operation-1' },
    ],
    ['its operation pending', { ...gone, operations: { '1/1': { kind: 'pending' } } }, REST],
    ['its operation not known', { ...gone, operations: { '1/1': { kind: 'unknown' } } }, REST],
    [
      'its operation done: its disk',
      { ...gone, operations: { '1/1': { kind: 'succeeded', instanceId: '111' } } },
      { kind: 'delete-disk', zone: ZONE, disk: DISK },
    ],
    [
      'its operation failed: its disk',
      {
        ...gone,
        operations: { '1/1': { kind: 'failed', error: { code: 'X', message: '', details: {} } } },
      },
      { kind: 'delete-disk', zone: ZONE, disk: DISK },
    ],
  ];
  test.each(table)('B69: %s', (_name, facts, expected) => {
    expect(step(facts)).toEqual(expected);
  });

  test('P78: the entry stays while machine or disk are there or not known', () => {
    const settled = {
      ...gone,
      operations: { '1/1': { kind: 'succeeded' as const, instanceId: '111' } },
    };
    expect(step({ ...settled, disks: { [DISK]: 'there' } })).toEqual(REST);
    expect(step({ ...settled, disks: { [DISK]: 'unknown' } })).toEqual(REST);
    expect(step({ ...settled, disks: { [DISK]: 'gone' } })).toEqual({ kind: 'forget' });
  });

  test('E1: one without an operation stays open until its deadline and slack', () => {
    const run = ended({ intents: [intent({ operation: null })] });
    expect(step(gone, run)).toEqual(REST);
    expect(step(gone, run, DEADLINE_MS + SLACK_MS - 1)).toEqual(REST);
    expect(step(gone, run, DEADLINE_MS + SLACK_MS)).toEqual({
      kind: 'delete-disk',
      zone: ZONE,
      disk: DISK,
    });
  });

  test('the machine that worked has been seen: nothing of its intent can appear any more', () => {
    const disk = { kind: 'delete-disk', zone: ZONE, disk: DISK };
    expect(step(gone, ended({ claim: HOLDER }))).toEqual(disk);
    const open = { kind: 'read-operation', key: '1/1', zone: ZONE, operation: 'operation-1' };
    expect(step(gone, ended({ claim: { ...HOLDER, instanceId: '999' } }))).toEqual(open);
    expect(step(gone, ended({ claim: { by: 'control' } }))).toEqual(open);
  });
});

test('of several intents one that waits does not stop the next, and all must be settled', () => {
  const OTHER = 'us-central1-b';
  const second = intent({ number: 2, candidate: candidate({ zone: OTHER }), operation: null });
  const run = ended({ intents: [intent(), second], intentCount: 2 });
  const waits = { ...gone, operations: { '1/1': { kind: 'pending' as const } } };
  expect(step(waits, run)).toEqual({ kind: 'read-machine', instance: INSTANCE, zone: OTHER });
  const machines = { [KEY]: GONE, [machineKey(INSTANCE, OTHER)]: GONE };
  const disks = { [DISK]: 'gone' as const, [diskName('mayfly', 'run-1', 1, 2)]: 'gone' as const };
  const done = {
    machines,
    disks,
    operations: { '1/1': { kind: 'succeeded' as const, instanceId: '1' } },
  };
  expect(step(done, run)).toEqual(REST);
  expect(step(done, run, DEADLINE_MS + SLACK_MS)).toEqual({ kind: 'forget' });
});

test('a run that ended before any attempt has nothing left', () => {
  expect(step({}, record({ state: 'CANCELLED', end: END, attempts: [] }))).toEqual({
    kind: 'forget',
  });
});
