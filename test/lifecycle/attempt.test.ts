// A live attempt, step by step (design R3): machines first, the marker after them, the claim when in doubt.
import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import { BOOT_ALLOWANCE_MS, SLACK_MS } from '#shared/lifecycle/limits.ts';
import type { Marker } from '#shared/lifecycle/marker.ts';
import { type MachineFact, machineKey, type Observation } from '#shared/lifecycle/observation.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
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
  place,
  record,
  seen,
  there,
  UNKNOWN,
  ZONE,
} from '#test/lifecycle/fixtures.ts';

const OTHER = 'us-central1-b';
const OTHER_KEY = machineKey(INSTANCE, OTHER);
const fact = (change: Partial<Marker> = {}) => ({ marker: marker(change), generation: '5' });
const other = intent({
  number: 2,
  candidate: candidate({ zone: OTHER }),
  instanceId: '222',
  operation: 'operation-2',
});
const run = (change: Partial<Attempt> = {}, state: RunRecord['state'] = 'PROVISIONING') =>
  record({ state, attempts: [attempt(change)] });
const step = (
  facts: Partial<Observation>,
  change: Partial<Attempt> = {},
  nowMs = NOW_MS + 60_000,
) => decide(run(change), seen(facts), context({ nowMs }));
const written = (one: ReturnType<typeof decide>) => {
  if (one.kind !== 'write') throw new Error(`expected a write, got ${one.kind}`);
  return one;
};
const DELETE = { kind: 'delete-machine', instance: INSTANCE, zone: ZONE };
const REST = { kind: 'rest' };

describe('what a marker orders', () => {
  const by = (change: Partial<Marker>, state: RunRecord['state'] = 'RUNNING') =>
    decide(
      run({ claim: HOLDER }, state),
      seen({ marker: fact(change) }),
      context({ depth: 'marker' }),
    );

  test.each(['interrupted', 'preempted'] as const)(
    'B64: %s orders the delete, with its reason',
    (cause) => {
      const one = written(by({ status: 'FAILED', cause }));
      expect(one.effects).toEqual([DELETE]);
      expect(one.record).toMatchObject({ state: 'STOPPING', dueMs: null, end: null });
      expect(one.record.attempts[0]?.order).toEqual({
        reason: 'ending',
        cause: null,
        detail: `the machine reports ${cause}`,
        atMs: NOW_MS + 60_000,
      });
      const said = written(by({ status: 'FAILED', cause, detail: 'a reboot' }));
      expect(said.record.attempts[0]?.order?.detail).toBe('a reboot');
    },
  );

  test('success is no ending, whatever its cause says', () => {
    expect(
      written(by({ status: 'SUCCEEDED', cause: 'interrupted', exitCode: 0 })).record.state,
    ).toBe('SUCCEEDED');
  });

  test('P70: RUNNING is noted with its boot, once, and nothing is deleted', () => {
    const one = written(by({ bootEpoch: 1_000 }, 'PROVISIONING'));
    expect(one).toMatchObject({ effects: [], record: { state: 'RUNNING', dueMs: null } });
    expect(one.record.attempts[0]?.runningMs).toBe(1_000_000);
    const unknown = written(by({ bootEpoch: null }, 'PROVISIONING'));
    expect(unknown.record.attempts[0]?.runningMs).toBe(NOW_MS + 60_000);
    expect(by({}, 'RUNNING')).toEqual(REST);
    expect(by({ status: 'PROVISIONING' }, 'PROVISIONING')).toEqual(REST);
  });

  test('D24: another attempt’s marker, and our own seal, are nobody’s word', () => {
    expect(
      by({ status: 'SUCCEEDED', exitCode: 0, attempt: 2, runId: 'run-1', nonce: 'x' }),
    ).toEqual(REST);
    expect(by({ status: 'FAILED', cause: 'exit', exitCode: 1, sealed: true })).toEqual(REST);
  });
});

test('A12: at its deadline the stop is ordered, with the instant, and its machine deleted', () => {
  const deadlineMs = intent().deadlineSeconds * 1000;
  const one = written(step({}, {}, deadlineMs));
  expect(one.effects).toEqual([DELETE]);
  expect(one.record.attempts[0]?.order).toEqual({
    reason: 'deadline',
    cause: 'ttl',
    detail: `not ended by its deadline ${new Date(deadlineMs).toISOString()}`,
    atMs: deadlineMs,
  });
  expect(step({}, {}, deadlineMs - 1)).toEqual({
    kind: 'read-machine',
    instance: INSTANCE,
    zone: ZONE,
  });
  const later = intent({ number: 2, deadlineSeconds: intent().deadlineSeconds + 60 });
  expect(step({}, { intents: [intent(), later] }, deadlineMs).kind).toBe('read-machine');
});

describe('a machine that nobody is known to hold', () => {
  const two = { intents: [intent(), other], intentCount: 2 };
  const table: [string, Partial<Observation>, Partial<Attempt>, object][] = [
    [
      'each machine is asked for',
      { machines: { [KEY]: there() } },
      two,
      { kind: 'read-machine', instance: INSTANCE, zone: OTHER },
    ],
    ['then the marker', { machines: { [KEY]: there() } }, {}, { kind: 'read-marker' }],
    ['young and there', { machines: { [KEY]: there() }, marker: NO_MARKER }, {}, REST],
    ['not known', { machines: { [KEY]: UNKNOWN }, marker: NO_MARKER }, {}, REST],
    [
      'one gone, one not known',
      { machines: { [KEY]: GONE, [OTHER_KEY]: UNKNOWN }, marker: NO_MARKER },
      two,
      REST,
    ],
    [
      'one gone, one there',
      { machines: { [KEY]: GONE, [OTHER_KEY]: there() }, marker: NO_MARKER },
      two,
      REST,
    ],
    [
      'two machines: who holds the claim',
      { machines: { [KEY]: there(), [OTHER_KEY]: there({ id: '222' }) }, marker: NO_MARKER },
      two,
      { kind: 'read-claim' },
    ],
    [
      'two machines, the claim free',
      {
        machines: { [KEY]: there(), [OTHER_KEY]: there({ id: '222' }) },
        marker: NO_MARKER,
        claim: { kind: 'free' },
      },
      two,
      REST,
    ],
    [
      'one machine: the claim is left alone',
      { machines: { [KEY]: there(), [OTHER_KEY]: GONE }, marker: NO_MARKER },
      two,
      REST,
    ],
    [
      'stopped: how it came to that',
      { machines: { [KEY]: there({ status: 'TERMINATED' }) }, marker: NO_MARKER },
      {},
      { kind: 'read-ending', zone: ZONE, instanceId: '111' },
    ],
    [
      'stopped, and how: the claim is taken',
      {
        machines: { [KEY]: there({ status: 'TERMINATED' }) },
        marker: NO_MARKER,
        endings: { '111': 'none' },
      },
      {},
      { kind: 'take-claim' },
    ],
    [
      'stopped, the claim free: it is taken',
      {
        machines: { [KEY]: there({ status: 'SUSPENDED' }) },
        marker: NO_MARKER,
        endings: { '111': 'none' },
        claim: { kind: 'free' },
      },
      {},
      { kind: 'take-claim' },
    ],
    [
      'one of two stopped: how, by its own id',
      {
        machines: { [KEY]: GONE, [OTHER_KEY]: there({ id: '222', status: 'STOPPED' }) },
        marker: NO_MARKER,
      },
      two,
      { kind: 'read-ending', zone: OTHER, instanceId: '222' },
    ],
    [
      'gone: its operation',
      { machines: { [KEY]: GONE }, marker: NO_MARKER },
      {},
      { kind: 'read-operation', key: '1/1', zone: ZONE, operation: 'operation-1' },
    ],
    [
      'gone, its operation not known',
      { machines: { [KEY]: GONE }, marker: NO_MARKER, operations: { '1/1': { kind: 'unknown' } } },
      {},
      REST,
    ],
    [
      'gone: how, by its id',
      {
        machines: { [KEY]: GONE },
        marker: NO_MARKER,
        operations: { '1/1': { kind: 'succeeded', instanceId: null } },
      },
      {},
      { kind: 'read-ending', zone: ZONE, instanceId: '111' },
    ],
    [
      'gone: how, by the operation’s id',
      {
        machines: { [KEY]: GONE },
        marker: NO_MARKER,
        operations: { '1/1': { kind: 'succeeded', instanceId: '777' } },
      },
      { intents: [intent({ instanceId: null })] },
      { kind: 'read-ending', zone: ZONE, instanceId: '777' },
    ],
    [
      'gone, of an unknown id: the claim',
      {
        machines: { [KEY]: GONE },
        marker: NO_MARKER,
        operations: { '1/1': { kind: 'succeeded', instanceId: null } },
      },
      { intents: [intent({ instanceId: null })] },
      { kind: 'take-claim' },
    ],
    [
      'an intent that was not accepted has no operation to read',
      { machines: { [KEY]: GONE, [OTHER_KEY]: GONE }, marker: NO_MARKER },
      { intents: [intent({ status: 'abandoned' }), other] },
      { kind: 'read-operation', key: '1/2', zone: OTHER, operation: 'operation-2' },
    ],
    [
      'one that was adopted has none either',
      { machines: { [KEY]: GONE }, marker: NO_MARKER },
      { intents: [intent({ operation: null })] },
      { kind: 'take-claim' },
    ],
  ];
  test.each(table)('E5: %s', (_name, facts, change, expected) => {
    expect(step(facts, change)).toEqual(expected);
  });

  test('another run’s machine of a name that begins alike is not counted', () => {
    const machines = { [KEY]: there(), [machineKey(`${INSTANCE}0`, OTHER)]: there({ id: '9' }) };
    expect(step({ machines, marker: NO_MARKER })).toEqual(REST);
  });
});

describe('the boot watchdog', () => {
  const late = NOW_MS + BOOT_ALLOWANCE_MS + 1;
  const table: [string, MachineFact, Partial<Marker> | null, number, string][] = [
    ['RUNNING for longer than any boot', there(), null, late, 'read-boot-report'],
    ['for exactly so long', there(), null, late - 1, 'rest'],
    ['not RUNNING yet', there({ status: 'STAGING' }), null, late, 'rest'],
    ['since when is not known', there({ startedMs: null }), null, late, 'rest'],
    ['not known', UNKNOWN, null, late, 'rest'],
    ['its marker says that it works', there(), { bootEpoch: 5 }, late, 'write'],
    ['its marker says PROVISIONING', there(), { status: 'PROVISIONING' }, late, 'read-boot-report'],
  ];
  test.each(table)('B1: %s', (_name, machine, word, nowMs, expected) => {
    const said = word === null ? NO_MARKER : fact(word);
    expect(step({ machines: { [KEY]: machine }, marker: said }, {}, nowMs).kind).toBe(expected);
  });

  test('B1: one that works and whose claim is not noted yet is not late', () => {
    const facts = seen({ machines: { [KEY]: there() }, marker: fact() });
    expect(decide(run({}, 'RUNNING'), facts, context({ nowMs: late }))).toEqual(REST);
  });
});

describe('the machine that holds the claim', () => {
  const mine = { claim: HOLDER };
  const gone = { machines: { [KEY]: GONE }, marker: fact({ status: 'PROVISIONING' }) };
  const end = intent().deadlineSeconds * 1000;

  test('P74: found stopped it is ordered to go, with what it was', () => {
    const one = written(
      step({ machines: { [KEY]: there({ status: 'TERMINATED' }) }, marker: NO_MARKER }, mine),
    );
    expect(one.effects).toEqual([DELETE]);
    expect(one.record.attempts[0]?.order).toMatchObject({
      reason: 'stopped',
      cause: null,
      detail: 'its machine was found TERMINATED',
    });
  });

  test('control’s claim: the marker is sealed, then it ends', () => {
    const facts = { machines: { [KEY]: there() }, marker: NO_MARKER };
    expect(step(facts, { claim: CONTROL })).toEqual({ kind: 'seal-marker' });
    const one = written(step({ ...facts, sealed: true }, { claim: CONTROL }));
    expect(one.record.attempts[0]?.end).toMatchObject({ cause: 'machine-lost' });
    expect(one.record.attempts[0]?.end?.detail).toBe('its machine never began to work');
  });

  test('gone without a last word: how, then the seal, then the end', () => {
    expect(step({ ...gone, endings: { '111': 'none' } }, mine)).toEqual({ kind: 'seal-marker' });
    const one = written(step({ ...gone, endings: { '111': 'none' }, sealed: true }, mine));
    expect(one.record.attempts[0]?.end).toMatchObject({
      cause: 'machine-lost',
      detail: 'its machine is gone without a last word',
    });
  });

  test('its operations cannot be read: until its deadline is over for good, nothing', () => {
    // A deadline that was passed would be ordered first: only a claim without any intent gets here late.
    expect(step({ ...gone, endings: { '111': 'unknown' } }, mine, end - 1)).toEqual(REST);
    const none = { claim: HOLDER, intents: [] };
    expect(step({ ...gone, endings: { '111': 'unknown' } }, none, SLACK_MS + 1)).toEqual({
      kind: 'seal-marker',
    });
    expect(step({ ...gone, endings: { '111': 'unknown' } }, none, SLACK_MS - 1)).toEqual(REST);
    expect(step({ ...gone, endings: { '111': 'unknown' } }, none, SLACK_MS)).toEqual({
      kind: 'seal-marker',
    });
  });
});

describe('a holder that the record did not know', () => {
  const facts = { machines: { [KEY]: there(), [OTHER_KEY]: GONE }, marker: NO_MARKER };
  const inOther = { ...HOLDER, zone: OTHER, instanceId: '222' };

  test('E9: it is noted, with its machine’s id, and nothing else changes', () => {
    const two = {
      intents: [intent({ instanceId: null, status: 'ordered' }), other],
      intentCount: 2,
    };
    const one = written(step({ ...facts, claim: held(HOLDER) }, two));
    expect(one.effects).toEqual([]);
    expect(one.record).toMatchObject({ state: 'PROVISIONING', dueMs: null });
    const [adopted] = one.record.attempts;
    expect(adopted?.claim).toEqual(HOLDER);
    expect(adopted?.intents.map(({ status, instanceId }) => [status, instanceId])).toEqual([
      ['accepted', '111'],
      ['accepted', '222'],
    ]);
  });

  test('P83: a machine in a place that was noted as refused is an intent after all', () => {
    const refused = place({ zone: OTHER, machineType: 'n2-standard-8', provisioningModel: 'SPOT' });
    const placed = { ...run(), places: [place(), refused] };
    const look = (one: RunRecord) => {
      const next = written(decide(one, seen({ ...facts, claim: held(inOther) }), context()));
      return next.record.attempts[0]?.intents[1];
    };
    const nowSeconds = NOW_MS / 1000 + 60;
    // Platform wait, 600 s to RUNNING, the TTL and 30 s: the same from now as it was for the first.
    const deadlineSeconds = nowSeconds + (intent().deadlineSeconds - NOW_MS / 1000);
    expect(look(placed)).toMatchObject({
      number: 1,
      candidate: {
        region: 'us-central1',
        zone: OTHER,
        machineType: 'n2-standard-8',
        provisioningModel: 'SPOT',
        usdPerHour: null,
      },
      createdSeconds: nowSeconds,
      status: 'accepted',
      operation: null,
      instanceId: '222',
    });
    expect(look(placed)?.deadlineSeconds).toBe(deadlineSeconds);
    expect(look(run())?.candidate).toMatchObject({
      machineType: '',
      provisioningModel: 'STANDARD',
    });
  });
});
