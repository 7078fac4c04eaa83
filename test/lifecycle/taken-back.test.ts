// A machine on its way out that nobody of ours ordered away: taken back by the platform, or deleted by
// somebody. Only the operations can tell.
import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import { type MachineFact, machineKey, type Step } from '#shared/lifecycle/observation.ts';
import type { ClaimHolder, RunRecord } from '#shared/lifecycle/record.ts';
import {
  attempt,
  context,
  INSTANCE,
  marker,
  NOW_MS,
  record,
  seen,
} from '#test/lifecycle/fixtures.ts';

const ZONE = 'us-central1-a';
const KEY = machineKey(INSTANCE, ZONE);
const HOLDER: ClaimHolder = { by: 'machine', instanceId: '111', zone: ZONE, bootId: 'boot-1' };
const RUNNING_FACT = { marker: marker({ status: 'RUNNING' }), generation: '5' };
const NO_MARKER = { marker: null, generation: '0' };
const working = record({
  state: 'RUNNING',
  attempts: [attempt({ claim: HOLDER, runningMs: NOW_MS })],
});

const at = (status: string): Record<string, MachineFact> => ({
  [KEY]: { kind: 'there', id: '111', status, ours: true, startedMs: NOW_MS },
});

function written(step: Step): RunRecord {
  if (step.kind !== 'write') throw new Error(`expected a write, got ${JSON.stringify(step)}`);
  return step.record;
}

const READ_ENDING = { kind: 'read-ending', zone: ZONE, instanceId: '111' };

describe('the claim’s holder', () => {
  const facts = { machines: at('STOPPING'), marker: RUNNING_FACT };

  test('STOPPING: its operations are read before anything is said of it', () => {
    expect(decide(working, seen(facts), context())).toEqual(READ_ENDING);
  });

  test.each(['preempted', 'host-error'] as const)(
    'P67: STOPPING by %s: its delete is ordered, and the attempt goes on until it is gone',
    (ending) => {
      const step = decide(working, seen({ ...facts, endings: { '111': ending } }), context());
      expect(written(step)).toMatchObject({
        state: 'STOPPING',
        end: null,
        attempts: [{ order: { reason: 'stopped', cause: null }, end: null }],
      });
      expect(step).toMatchObject({
        effects: [{ kind: 'delete-machine', instance: INSTANCE, zone: ZONE }],
      });
    },
  );

  test.each(['none', 'deleted', 'unknown'] as const)(
    'STOPPING, and the operations say %s: it is left to who did that',
    (ending) => {
      const known = seen({ ...facts, endings: { '111': ending } });
      expect(decide(working, known, context())).toEqual({ kind: 'rest' });
    },
  );

  test('RUNNING, whatever was said of it: it is left alone', () => {
    const known = seen({ ...facts, machines: at('RUNNING'), endings: { '111': 'preempted' } });
    expect(decide(working, known, context())).toEqual({ kind: 'rest' });
  });
});

describe('a machine that nobody claims', () => {
  const facts = { machines: at('STOPPING'), marker: NO_MARKER };
  const CONTROL = { kind: 'held', holder: { by: 'control' } } as const;

  test.each(['STOPPING', 'TERMINATED'])('%s: its operations are read first', (status) => {
    const known = seen({ ...facts, machines: at(status) });
    expect(decide(record(), known, context())).toEqual(READ_ENDING);
  });

  test('P67: preempted: the claim is taken, and only then the attempt ends, by its own counter', () => {
    const known = { ...facts, endings: { '111': 'preempted' } } as const;
    expect(decide(record(), seen(known), context())).toEqual({ kind: 'take-claim' });
    const taken = seen({ ...known, claim: CONTROL });
    expect(decide(record(), taken, context())).toEqual({ kind: 'seal-marker' });
    const step = decide(record(), seen({ ...known, claim: CONTROL, sealed: true }), context());
    expect(written(step)).toMatchObject({
      state: 'WAITING',
      used: { preempted: 1, infrastructure: 0 },
      attempts: [{ end: { status: 'PREEMPTED', cause: 'preempted' } }],
    });
  });

  test.each(['none', 'deleted', 'unknown'] as const)(
    'STOPPING, and the operations say %s: nothing is decided yet',
    (ending) => {
      const known = seen({ ...facts, endings: { '111': ending } });
      expect(decide(record(), known, context())).toEqual({ kind: 'rest' });
    },
  );

  test('RUNNING, whatever was said of it: it is left alone', () => {
    const known = seen({ ...facts, machines: at('RUNNING'), endings: { '111': 'preempted' } });
    expect(decide(record(), known, context())).toEqual({ kind: 'rest' });
  });

  test('stopped by a host error: lost by that, and not by itself', () => {
    const known = seen({
      ...facts,
      machines: at('TERMINATED'),
      endings: { '111': 'host-error' },
      claim: CONTROL,
      sealed: true,
    });
    const [ended] = written(decide(record(), known, context())).attempts;
    expect(ended?.end).toMatchObject({ status: 'LOST', cause: 'host-error' });
  });

  test('stopped, and the operations cannot be read: it is doomed all the same', () => {
    const known = seen({ ...facts, machines: at('TERMINATED'), endings: { '111': 'unknown' } });
    expect(decide(record(), known, context())).toEqual({ kind: 'take-claim' });
  });
});
