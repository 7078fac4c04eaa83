// Placement step by step: what is read, repeated and waited for, by whom, and until when.
import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import type { InsertFact, Observation, OperationFact } from '#shared/lifecycle/observation.ts';
import type { ClaimHolder, RunRecord } from '#shared/lifecycle/record.ts';
import {
  attempt,
  CONTROL,
  candidate,
  context,
  creator,
  held,
  INSTANCE,
  intent,
  KEY,
  NOW_MS,
  record,
  seen,
  ZONE,
} from '#test/lifecycle/fixtures.ts';

const MACHINE: ClaimHolder = { by: 'machine', instanceId: '111', zone: ZONE, bootId: 'b' };
const error = { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message: 'none', details: {} };

const ordered = (change: Partial<RunRecord> = {}) =>
  record({
    state: 'PLACING',
    dueMs: NOW_MS + 60_000,
    attempts: [
      attempt({ intents: [intent({ status: 'ordered', operation: null, instanceId: null })] }),
    ],
    ...change,
  });

const submits = (change: object = {}) => context({ creator: { ...creator(), ...change } });
const step = (run: RunRecord, facts: Partial<Observation>, by = submits()) =>
  decide(run, seen(facts), by);

describe('an insert', () => {
  const inserts = (fact: InsertFact) => ({ '1/1': fact });
  const unknown = { kind: 'unknown', error } as const;

  test('the delivery that ordered it calls it at once; another asks for the claim first', () => {
    expect(step(ordered(), {}, submits({ ownIntent: '1/1' }))).toEqual({
      kind: 'insert',
      intent: 1,
    });
    expect(step(ordered(), {}, submits({ ownIntent: '1/2' })).kind).toBe('read-claim');
  });

  test('whose claim is held is not called again: the holder is adopted, ours ends the attempt', () => {
    expect(step(ordered(), { claim: held(MACHINE) })).toMatchObject({
      kind: 'write',
      record: { state: 'PROVISIONING', dueMs: null, attempts: [{ claim: MACHINE }] },
    });
    expect(step(ordered(), { claim: held(CONTROL) }).kind).toBe('read-marker');
  });

  test('accepted: its operation and id are kept, nothing is due', () => {
    const fact = { kind: 'accepted', operation: 'op-7', instanceId: '7' } as const;
    const next = step(ordered(), { inserts: inserts(fact) });
    expect(next).toMatchObject({
      kind: 'write',
      effects: [],
      record: {
        state: 'PROVISIONING',
        dueMs: null,
        attempts: [{ intents: [{ status: 'accepted', operation: 'op-7', instanceId: '7' }] }],
      },
    });
  });

  test.each([
    { tries: 0, milliseconds: 500 },
    { tries: 1, milliseconds: 800 },
    { tries: 9, milliseconds: 5_000 },
  ])('unknown for the $tries. time: a pause of $milliseconds ms, then again', (row) => {
    const facts = { inserts: inserts(unknown), tries: row.tries };
    const pause = { kind: 'pause', milliseconds: row.milliseconds, again: 'insert' };
    expect(step(ordered(), facts)).toEqual(pause);
    const limited = { inserts: inserts({ kind: 'rate-limited', error }), tries: row.tries };
    expect(step(ordered(), limited)).toEqual(pause);
  });

  test('what would be repeated after the delivery’s time rests', () => {
    const { nowMs } = context();
    const facts = { inserts: inserts(unknown) };
    expect(step(ordered(), facts, submits({ untilMs: nowMs + 501 })).kind).toBe('pause');
    expect(step(ordered(), facts, submits({ untilMs: nowMs + 500 })).kind).toBe('rest');
  });

  test('409: the machine is asked for; one that cannot be seen or asked is not adopted', () => {
    const facts = { claim: { kind: 'free' }, inserts: inserts({ kind: 'conflict' }) } as const;
    expect(step(ordered(), facts)).toEqual({
      kind: 'read-machine',
      instance: INSTANCE,
      zone: ZONE,
    });
    for (const kind of ['unknown', 'gone'] as const) {
      expect(step(ordered(), { ...facts, machines: { [KEY]: { kind } } }).kind).toBe('pause');
    }
  });
});

describe('an accepted insert', () => {
  const operations = (fact: OperationFact) => ({ '1/1': fact });
  const gone = { [KEY]: { kind: 'gone' } } as const;

  test('its operation is read and looked at again after a pause, until the delivery’s time is over', () => {
    expect(step(record(), {})).toEqual({
      kind: 'read-operation',
      key: '1/1',
      zone: ZONE,
      operation: 'operation-1',
    });
    const facts = { operations: operations({ kind: 'pending' }) };
    expect(step(record(), facts)).toEqual({ kind: 'pause', milliseconds: 500, again: 'operation' });
    const { nowMs } = context();
    expect(step(record(), facts, submits({ untilMs: nowMs + 500 })).kind).toBe('rest');
  });

  test.each(['succeeded', 'unknown'] as const)('%s: the machine has the next word', (kind) => {
    const fact = kind === 'succeeded' ? ({ kind, instanceId: '111' } as const) : { kind };
    expect(step(record(), { operations: operations(fact) }).kind).toBe('rest');
  });

  test('failed: the machine, the claim, and only then the next place', () => {
    const failed = operations({ kind: 'failed', error });
    expect(step(record(), { operations: failed }).kind).toBe('read-machine');
    expect(step(record(), { operations: failed, machines: gone }).kind).toBe('read-claim');
    const free = { operations: failed, machines: gone, claim: { kind: 'free' } } as const;
    const two = creator({ candidates: [candidate(), candidate({ zone: 'us-central1-b' })] });
    expect(step(record(), free, context({ creator: two }))).toMatchObject({
      record: { state: 'PLACING', attempts: [{ intents: [{ number: 2 }] }] },
    });
    const unknown = { [KEY]: { kind: 'unknown' } } as const;
    expect(step(record(), { ...free, machines: unknown }).kind).toBe('rest');
  });

  test('failed, and the claim is held: a machine’s is adopted, ours makes the next place the next attempt’s', () => {
    const facts = { operations: operations({ kind: 'failed', error }), machines: gone };
    expect(step(record(), { ...facts, claim: held(MACHINE) })).toMatchObject({
      record: { attempts: [{ claim: MACHINE }] },
    });
    const two = context({
      creator: creator({ candidates: [candidate(), candidate({ zone: 'us-central1-b' })] }),
    });
    const fenced = { claim: held(CONTROL), marker: { marker: null, generation: '0' } } as const;
    expect(step(record(), { ...facts, ...fenced }, two).kind).toBe('seal-marker');
    expect(step(record(), { ...facts, ...fenced, sealed: true }, two)).toMatchObject({
      record: {
        state: 'WAITING',
        used: { abandoned: 1 },
        attempts: [{ end: { cause: 'machine-lost' } }],
      },
    });
  });
});

describe('who does not create', () => {
  const elsewhere = context();
  const failed = { '1/1': { kind: 'failed', error } } as const;
  const gone = { [KEY]: { kind: 'gone' } } as const;
  const marker = { marker: null, generation: '0' } as const;

  test('says that something is due, once, and only when it is', () => {
    expect(step(ordered({ dueMs: elsewhere.nowMs }), {}, elsewhere).kind).toBe('publish-look');
    expect(step(ordered({ dueMs: elsewhere.nowMs + 1 }), {}, elsewhere).kind).toBe('rest');
    expect(step(ordered({ dueMs: null }), {}, elsewhere).kind).toBe('rest');
    expect(step(ordered({ dueMs: elsewhere.nowMs }), { looked: true }, elsewhere).kind).toBe(
      'rest',
    );
  });

  test('says that an accepted machine did not come', () => {
    const facts = { operations: failed, machines: gone, marker };
    expect(step(record(), facts, elsewhere).kind).toBe('publish-look');
    expect(step(record(), { ...facts, looked: true }, elsewhere).kind).toBe('rest');
  });
});

describe('the end of a delivery’s time', () => {
  test('the next place is left to a look that is published at once', () => {
    const inserts = { '1/1': { kind: 'refused', definite: true, error } } as const;
    const candidates = [candidate(), candidate({ zone: 'us-central1-b' })];
    const late = context({ creator: { ...creator({ candidates }), untilMs: context().nowMs } });
    expect(step(ordered(), { inserts }, late)).toMatchObject({
      kind: 'write',
      effects: [{ kind: 'publish-look' }],
      record: { state: 'WAITING', dueMs: late.nowMs, attempts: [{ walk: 1, intents: [] }] },
    });
  });

  test('a walk that is not due yet rests', () => {
    const waiting = record({
      state: 'WAITING',
      dueMs: context().nowMs + 1,
      attempts: [attempt({ intents: [] })],
    });
    expect(step(waiting, {}).kind).toBe('rest');
    expect(step({ ...waiting, dueMs: context().nowMs }, {})).toMatchObject({
      record: { state: 'PLACING', dueMs: context().nowMs + 60_000 },
      effects: [],
    });
  });
});

test('the first intent of an attempt has the PROVISIONING marker written after it', () => {
  const accepted = record({ state: 'ACCEPTED', dueMs: NOW_MS, attempts: [] });
  expect(step(accepted, {})).toMatchObject({
    kind: 'write',
    effects: [{ kind: 'provisioning-marker' }],
    record: {
      attempts: [
        {
          number: 1,
          walk: 1,
          walkFrom: 0,
          intentCount: 1,
          claim: null,
          end: null,
          intents: [
            {
              number: 1,
              status: 'ordered',
              createdSeconds: Math.floor(context().nowMs / 1000),
              operation: null,
              instanceId: null,
            },
          ],
        },
      ],
    },
  });
});
