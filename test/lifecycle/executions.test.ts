// What is particular to a run on Cloud Run Jobs; everything else is decided as for machines.
import { describe, expect, test } from 'vitest';
import { attemptCandidates } from '#shared/lifecycle/attempt-candidates.ts';
import type { Creator } from '#shared/lifecycle/context.ts';
import { decide } from '#shared/lifecycle/decide.ts';
import { type ExecutionEnding, executionEnding } from '#shared/lifecycle/execution-ending.ts';
import { FINISHING_MS, LISTING_GRACE_MS, PLACEMENT_LEASE_MS } from '#shared/lifecycle/limits.ts';
import { machineKey, type Observation, type Step } from '#shared/lifecycle/observation.ts';
import type { Attempt, RunRecord } from '#shared/lifecycle/record.ts';
import { buildResult } from '#shared/lifecycle/result.ts';
import { judgeMachine } from '#shared/lifecycle/sweep.ts';
import type { Candidate } from '#shared/plan/model.ts';
import {
  attempt,
  candidate,
  context,
  creator,
  INSTANCE,
  intent,
  marker,
  NONCE,
  NOW_MS,
  record,
  seen,
} from '#test/lifecycle/fixtures.ts';

const REGION = 'europe-west1';
const EXECUTION = 'mayfly-base-ml-s-abcde';

const job = (size = 's', memoryGiB = 8): Candidate =>
  candidate({
    region: REGION,
    zone: REGION,
    subnetwork: '',
    machineType: `mayfly-base-ml-${size}`,
    memoryGiB,
  });
const ordered = intent({
  candidate: job(),
  status: 'ordered',
  operation: null,
  instanceId: null,
});
const accepted = intent({ candidate: job(), operation: 'operations/1', instanceId: EXECUTION });
const HOLDER = { by: 'machine', instanceId: EXECUTION, zone: REGION, bootId: 'task-0' } as const;
const KEY = machineKey(INSTANCE, REGION);

const run = (change: Partial<RunRecord> = {}, last: Partial<Attempt> = {}): RunRecord =>
  record({
    runtime: 'cloudrun-jobs',
    attempts: [attempt({ intents: [accepted], eventKey: 'e'.repeat(64), ...last })],
    ...change,
  });
const placing = (change: Partial<RunRecord> = {}, last: Partial<Attempt> = {}) =>
  run(
    { state: 'PLACING', dueMs: NOW_MS + PLACEMENT_LEASE_MS, ...change },
    { intents: [ordered], ...last },
  );

const there = {
  kind: 'there',
  id: EXECUTION,
  status: 'RUNNING',
  ours: true,
  startedMs: NOW_MS,
} as const;
const starting = { ...there, status: 'PROVISIONING', startedMs: null } as const;

const submit = (nowMs = NOW_MS, change: Partial<Creator> = {}) =>
  context({ nowMs, creator: { ...creator({ candidates: [job()] }), ...change } });

const written = (step: Step): RunRecord => {
  if (step.kind !== 'write') throw new Error(`a write was expected, not ${step.kind}`);
  return step.record;
};
const effects = (step: Step) =>
  step.kind === 'write' ? step.effects.map(({ kind }) => kind) : null;

const granted = { kind: 'granted', atMs: NOW_MS } as const;

describe('a turn before the call', () => {
  const accepted0 = () => run({ state: 'ACCEPTED', attempts: [], dueMs: NOW_MS });

  test('C78: it is taken before anything is ordered', () => {
    const step = decide(accepted0(), seen(), submit());
    expect(step).toEqual({ kind: 'take-turn', region: REGION });
  });

  test('C47: with the turn at hand the intent and its nonce are written before any call', () => {
    const step = decide(accepted0(), seen({ turn: granted }), submit());
    const next = written(step);
    expect(next.state).toBe('PLACING');
    expect(next.attempts[0]).toMatchObject({ intents: [{ status: 'ordered', instanceId: null }] });
    expect(next.attempts[0]?.nonce).toBe(submit().creator?.nonce);
    expect(next.attempts[0]?.eventKey).toBe(submit().creator?.eventKey);
  });

  test('C92, C93, C94: a turn that comes later is in the record before it is waited for, and holds others off', () => {
    const turn = { kind: 'granted', atMs: NOW_MS + 20_000 } as const;
    const next = written(decide(accepted0(), seen({ turn }), submit()));
    expect(next).toMatchObject({ state: 'WAITING', dueMs: NOW_MS + 20_000 + PLACEMENT_LEASE_MS });
    const pause = decide(next, seen({ turn, wrote: true }), submit());
    expect(pause).toEqual({ kind: 'pause', milliseconds: 20_000, again: 'nothing' });
    expect(decide(next, seen({ turn, wrote: true }), submit(NOW_MS + 20_000)).kind).toBe('write');
    expect(decide(next, seen(), submit(NOW_MS + 20_000)).kind).toBe('rest');
  });

  test('C92: no turn before the delivery ends: the run waits outside', () => {
    const turn = { kind: 'later', atMs: NOW_MS + 900_000 } as const;
    const next = written(decide(accepted0(), seen({ turn }), submit()));
    expect(next).toMatchObject({ state: 'WAITING', dueMs: NOW_MS + 900_000 });
    expect(decide(next, seen({ turn, wrote: true }), submit()).kind).toBe('rest');
  });
});

describe('an answer of "too many"', () => {
  const throttled = (change: object = {}): Partial<Observation> => ({
    wrote: true,
    inserts: {
      '1/1': {
        kind: 'rate-limited',
        definite: true,
        untilMs: NOW_MS + 4_000,
        error: { code: 'RESOURCE_EXHAUSTED', message: 'quota', details: {} },
        ...change,
      },
    },
  });
  const turn = { kind: 'granted', atMs: NOW_MS + 4_000 } as const;

  test('C80, C89: nothing was made: the intent is withdrawn, and the same nonce is used again', () => {
    const step = decide(placing(), seen({ ...throttled(), turn }), submit());
    const next = written(step);
    expect(next.attempts[0]).toMatchObject({ nonce: NONCE, intents: [], throttled: 1 });
    expect(next.dueMs).toBe(NOW_MS + 4_000 + PLACEMENT_LEASE_MS);
    const again = decide(next, seen({ turn, wrote: true }), submit(NOW_MS + 4_000));
    expect(written(again).attempts[0]).toMatchObject({ nonce: NONCE, intents: [{ number: 2 }] });
  });

  test.each([
    [5, 6, NOW_MS + 4_000 + PLACEMENT_LEASE_MS],
    [6, 0, NOW_MS + 4_000],
  ])('C90, C201: after %i in a row it is the %i-th, and due at %i', (before, after, dueMs) => {
    const step = decide(
      placing({}, { throttled: before }),
      seen({ ...throttled(), turn }),
      submit(),
    );
    expect(written(step)).toMatchObject({ state: 'WAITING', dueMs });
    expect(written(step).attempts[0]?.throttled).toBe(after);
  });

  test('C91: no attempt and no retry is used up', () => {
    const before = placing();
    const next = written(decide(before, seen({ ...throttled(), turn }), submit()));
    expect(next.used).toEqual(before.used);
    expect(next.attempts).toHaveLength(1);
    expect(next.placesCount).toBe(0);
  });

  test('of a second call it says nothing about the first: the intent stays open', () => {
    const step = decide(placing(), seen({ ...throttled({ definite: false }), turn }), submit());
    expect(written(step).attempts[0]?.intents).toHaveLength(1);
    const told = seen({ ...throttled({ definite: false }), turn });
    const noted = decide(written(step), told, submit());
    expect(noted.kind).toBe('rest');
  });

  test('a call that was held back does not count', () => {
    const step = decide(placing(), seen({ ...throttled({ asked: false }), turn }), submit());
    expect(written(step).attempts[0]?.throttled).toBe(0);
  });
});

describe('a call whose outcome is unknown', () => {
  const error = { code: 'unavailable', message: '503', details: {} };
  const unknown = { '1/1': { kind: 'unknown', error } } as const;
  const free = { kind: 'free' } as const;

  test('C75, P107: it is never simply made again: first a pause, then the list', () => {
    const paused = decide(placing(), seen({ inserts: unknown, wrote: true }), submit());
    expect(paused).toMatchObject({ kind: 'pause', again: 'insert' });
    const asks = decide(placing(), seen({ wrote: true, claim: free }), submit());
    expect(asks).toEqual({ kind: 'read-machine', instance: INSTANCE, zone: REGION });
  });

  test('C71, C76, P107: found by its nonce it is adopted', () => {
    const facts = seen({ wrote: true, claim: free, machines: { [KEY]: there } });
    const next = written(decide(placing(), facts, submit()));
    expect(next.state).toBe('PROVISIONING');
    expect(next.attempts[0]?.intents).toMatchObject([
      { status: 'accepted', instanceId: EXECUTION },
    ]);
  });

  test('C71: another delivery adopts when it is due, and not before', () => {
    const facts = seen({ claim: free, machines: { [KEY]: there } });
    expect(decide(placing(), facts, submit(NOW_MS + 1)).kind).toBe('rest');
    const due = decide(placing(), facts, submit(NOW_MS + PLACEMENT_LEASE_MS));
    expect(written(due).attempts[0]?.intents[0]?.instanceId).toBe(EXECUTION);
  });

  test('P107: not found, it is started once more only after the grace time', () => {
    const facts = seen({ wrote: true, claim: free, machines: { [KEY]: { kind: 'gone' } } });
    const early = decide(placing(), facts, submit(NOW_MS + LISTING_GRACE_MS - 1));
    expect(early).toMatchObject({ kind: 'pause', again: 'insert' });
    const late = submit(NOW_MS + LISTING_GRACE_MS);
    const next = written(decide(placing(), facts, late));
    expect(next.attempts[0]?.intents[0]?.repeated).toBe(true);
    expect(decide(next, facts, late)).toEqual({ kind: 'take-turn', region: REGION });
    expect(decide(next, { ...facts, turn: granted }, late)).toEqual({ kind: 'insert', intent: 1 });
  });

  test('a second call without an answer is left to a later delivery', () => {
    const repeated = placing({}, { intents: [{ ...ordered, repeated: true }] });
    const step = decide(repeated, seen({ inserts: unknown, wrote: true }), submit());
    expect(step.kind).toBe('rest');
  });

  test('P110: a list that cannot be read is no evidence', () => {
    const machines = { [KEY]: { kind: 'unknown' } } as const;
    const facts = seen({ wrote: true, claim: free, machines });
    const step = decide(placing(), facts, submit(NOW_MS + LISTING_GRACE_MS));
    expect(step).toMatchObject({ kind: 'pause', again: 'insert' });
  });

  test('a task that holds the claim is adopted by what the claim says', () => {
    const facts = seen({ wrote: true, claim: { kind: 'held', holder: HOLDER } });
    const next = written(decide(placing(), facts, submit()));
    expect(next.attempts[0]).toMatchObject({ claim: HOLDER });
  });
});

describe('while it runs', () => {
  const held = { claim: HOLDER } as const;

  test('C60, C62, C63: it is asked after, and silence of its events ends nothing', () => {
    const running = run({ state: 'RUNNING' }, { ...held, runningMs: NOW_MS });
    expect(decide(running, seen(), context())).toMatchObject({ kind: 'read-machine' });
    const facts = seen({ machines: { [KEY]: there }, marker: { marker: null, generation: '0' } });
    const later = context({ nowMs: NOW_MS + 7_000_000 });
    expect(decide(running, facts, later).kind).toBe('rest');
  });

  test('P110: unknown is neither gone nor finished', () => {
    const machines = { [KEY]: { kind: 'unknown' } } as const;
    const facts = seen({ machines, marker: { marker: null, generation: '0' } });
    expect(decide(run({ state: 'RUNNING' }, held), facts, context()).kind).toBe('rest');
  });

  test('it is noted as RUNNING once a task has the claim', () => {
    const none = { marker: null, generation: '0' };
    const facts = seen({ machines: { [KEY]: there }, marker: none });
    expect(decide(run(), facts, context())).toEqual({ kind: 'read-claim' });
    const claimed = { ...facts, claim: { kind: 'held', holder: HOLDER } } as const;
    const adopted = written(decide(run(), claimed, context()));
    expect(adopted.attempts[0]?.claim).toEqual(HOLDER);
    const next = written(decide(adopted, claimed, context()));
    expect(next).toMatchObject({ state: 'RUNNING', attempts: [{ runningMs: NOW_MS }] });
  });

  describe('P112: one that does not start', () => {
    const waiting = { ...starting, waitsFor: 'Quota exceeded: NvidiaL4Gpu' };
    const none = { marker: null, generation: '0' };
    const facts = seen({ machines: { [KEY]: waiting }, marker: none });
    const at = (seconds: number) => context({ nowMs: NOW_MS + seconds * 1000 });
    const held = { kind: 'held', holder: { by: 'control' } } as const;

    test('is left alone for as long as the run waits for capacity', () => {
      expect(decide(run(), facts, at(3599)).kind).toBe('rest');
      expect(decide(run(), facts, at(3600))).toEqual({ kind: 'take-claim' });
    });

    test('ends without capacity, in the platform’s words, and is cancelled', () => {
      const step = decide(run(), { ...facts, claim: held, sealed: true }, at(3600));
      expect(written(step).end).toMatchObject({ status: 'NO_CAPACITY', cause: 'quota' });
      expect(written(step).end?.detail).toContain('within 3600 s: Quota exceeded: NvidiaL4Gpu');
      expect(effects(step)).toEqual(['delete-machine']);
      const stock = { ...starting, waitsFor: 'Provisioning resources.' };
      const other = seen({ machines: { [KEY]: stock }, marker: none, claim: held, sealed: true });
      expect(written(decide(run(), other, at(3600))).end?.cause).toBe('stock-out');
    });

    test('C92: the time before it was taken on, for a turn among others, is not counted', () => {
      const state = 'PROVISIONING' as const;
      const history = [{ state, attempt: 1, atMs: NOW_MS + 1_800_000 }];
      expect(decide(run({ history }), facts, at(1800 + 3599)).kind).toBe('rest');
      expect(decide(run({ history }), facts, at(1800 + 3600)).kind).toBe('take-claim');
    });

    test.each([
      // Wait, time to live, deadline after the order: the wait, at least 600 s, the time, 30 s.
      [3600, 1200, 4830],
      [0, 1200, 1830],
      // Signed addresses hold for twelve hours, 1800 s of which are for what comes before.
      [3600, 41_400, 600 + 41_400 + 30],
      [604_800, 7200, 34_800 + 7200 + 30],
    ])(
      'of %i s to wait and %i s to live has its deadline %i s after the order',
      (wait, ttl, after) => {
        const terms = { ...run().terms, waitForCapacitySeconds: wait, ttlSeconds: ttl };
        const begun = run({ state: 'ACCEPTED', attempts: [], dueMs: NOW_MS, terms });
        const next = written(decide(begun, seen({ turn: granted }), submit()));
        expect(next.attempts[0]?.intents[0]?.deadlineSeconds).toBe(NOW_MS / 1000 + after);
      },
    );

    test('has ten minutes, however little the run waits', () => {
      const terms = { ...run().terms, waitForCapacitySeconds: 0 };
      expect(decide(run({ terms }), facts, at(599)).kind).toBe('rest');
      expect(decide(run({ terms }), facts, at(600)).kind).toBe('take-claim');
    });
  });
});

describe('when it has ended', () => {
  const held = (last: Partial<Attempt> = {}, change: Partial<RunRecord> = {}) =>
    run({ state: 'RUNNING', ...change }, { claim: HOLDER, runningMs: NOW_MS, ...last });
  const gone = { [KEY]: { kind: 'gone' } } as const;
  const none = { marker: null, generation: '0' };
  const ending = (change: object = {}): ExecutionEnding =>
    executionEnding({
      taskCount: 1,
      cancelled: false,
      message: '',
      endedMs: NOW_MS + 50_000,
      tasks: [
        {
          ...{ index: 0, exitCode: null, termSignal: null, message: '' },
          ...{ startedMs: null, completedMs: null },
          ...change,
        },
      ],
      markers: new Map(),
    });
  const facts = (endings: Observation['endings'], change: Partial<Observation> = {}) =>
    seen({ machines: gone, marker: none, endings, sealed: true, ...change });

  test('C61: its tasks are asked after only then, and the marker is read before', () => {
    expect(decide(held(), seen({ machines: gone }), context())).toEqual({ kind: 'read-marker' });
    const step = decide(held(), seen({ machines: gone, marker: none }), context());
    expect(step).toEqual({ kind: 'read-ending', zone: REGION, instanceId: EXECUTION });
  });

  test('C64: its marker ends it, and the execution is not cancelled for that', () => {
    const word = marker({ status: 'SUCCEEDED', exitCode: 0, cause: 'exit' });
    const step = decide(held(), seen({ marker: { marker: word, generation: '2' } }), context());
    expect(written(step).end).toMatchObject({ status: 'SUCCEEDED', exitCode: 0 });
    expect(effects(step)).toEqual([]);
  });

  test('C66: out of memory: the next attempt gets the next larger class', () => {
    const step = decide(held(), facts({ [EXECUTION]: ending({ exitCode: 137 }) }), context());
    const next = written(step);
    expect(next).toMatchObject({ state: 'WAITING', used: { outOfMemory: 1 } });
    expect(next.attempts[0]?.end).toMatchObject({ cause: 'out-of-memory', exitCode: 137 });
  });

  test('C67: its time limit ends the run as timed out', () => {
    const step = decide(held(), facts({ [EXECUTION]: ending({ exitCode: 143 }) }), context());
    expect(written(step).end).toMatchObject({ status: 'TIMED_OUT', cause: 'timeout' });
  });

  test('C69, C214: one that cannot be found any more is lost, and tried again', () => {
    const step = decide(held(), facts({ [EXECUTION]: 'none' }), context());
    const next = written(step);
    expect(next).toMatchObject({ state: 'WAITING', used: { infrastructure: 1 } });
    expect(next.attempts[0]?.end).toMatchObject({ status: 'LOST', cause: 'machine-lost' });
  });

  test('C68, P108: a cancel of somebody else', () => {
    const cancelled = executionEnding({
      taskCount: 3,
      cancelled: true,
      message: '',
      endedMs: NOW_MS,
      tasks: [],
      markers: new Map(),
    });
    const step = decide(held(), facts({ [EXECUTION]: cancelled }), context());
    expect(written(step).end).toMatchObject({ status: 'CANCELLED', cause: 'cancelled-outside' });
  });

  test('C68: our own cancel is told by its order', () => {
    const order = {
      reason: 'cancelled',
      cause: 'cancelled',
      detail: 'cancelled: enough',
      atMs: NOW_MS,
    } as const;
    const cancel = { reason: 'enough', atMs: NOW_MS };
    const ordered = held({ order }, { state: 'STOPPING', cancel });
    const claim = { kind: 'held', holder: HOLDER } as const;
    const step = decide(
      ordered,
      facts({ [EXECUTION]: ending({ termSignal: 15 }) }, { claim }),
      context(),
    );
    expect(written(step).end).toMatchObject({ status: 'CANCELLED', cause: 'cancelled' });
  });

  test('C159: the next attempt only after it is confirmed gone', () => {
    const order = { reason: 'deadline', cause: 'ttl', detail: 'late', atMs: NOW_MS } as const;
    const ordered = held({ order }, { state: 'STOPPING' });
    const claim = { kind: 'held', holder: HOLDER } as const;
    const step = decide(ordered, seen({ claim, machines: { [KEY]: there } }), context());
    expect(step).toMatchObject({ kind: 'delete-machine', instance: INSTANCE, zone: REGION });
  });

  test('C159: of two executions of one attempt the one that works is asked after', () => {
    const order = { reason: 'cancelled', cause: 'cancelled', detail: '', atMs: NOW_MS } as const;
    const other = { ...HOLDER, instanceId: 'mayfly-base-ml-s-other' };
    const claim = { kind: 'held', holder: other } as const;
    const ordered = run({ state: 'STOPPING' }, { order });
    const step = decide(ordered, seen({ claim, machines: gone, sealed: true }), context());
    expect(written(step)).toMatchObject({ state: 'STOPPING', end: null });
    expect(written(step).attempts[0]?.claim).toEqual(other);
  });

  test('C103: several tasks: the joined end and its outputs', () => {
    const several = executionEnding({
      taskCount: 2,
      cancelled: false,
      message: '',
      endedMs: NOW_MS,
      tasks: [],
      markers: new Map(
        [0, 1].map((index) => [
          index,
          marker({ status: 'SUCCEEDED', exitCode: 0, execStartEpoch: 5 }),
        ]),
      ),
    });
    const next = written(decide(held(), facts({ [EXECUTION]: several }), context()));
    expect(next.end).toMatchObject({ status: 'SUCCEEDED', tasks: { count: 2, succeeded: 2 } });
    expect(next.attempts[0]?.facts?.execStartEpoch).toBe(5);
    const result = buildResult(next, { project: 'p', fullLog: 'logging' });
    expect(result.tasks).toEqual({ count: 2, succeeded: 2, failed: [] });
    expect(result.attempts[0]).toMatchObject({ execution: EXECUTION, region: REGION, zone: null });
    expect(result.log.query).toContain(EXECUTION);
  });

  describe('by its own word that it was interrupted', () => {
    const word = marker({ status: 'FAILED', cause: 'interrupted', exitCode: null });
    const claim = { kind: 'held', holder: HOLDER } as const;
    const told = { marker: { marker: word, generation: '2' }, sealed: false };

    test('it is not told to stop: what it was is told by its end', () => {
      const step = decide(held(), seen({ marker: told.marker }), context());
      expect(written(step).attempts[0]?.order?.reason).toBe('ending');
      expect(effects(step)).toEqual([]);
    });

    const order = {
      reason: 'ending',
      cause: null,
      detail: 'the machine reports interrupted',
      atMs: NOW_MS,
    } as const;
    const stopping = held({ order }, { state: 'STOPPING' });

    test('only after a while is it told to', () => {
      const still = seen({ claim, machines: { [KEY]: there }, ...told });
      expect(decide(stopping, still, context({ nowMs: NOW_MS + FINISHING_MS - 1 })).kind).toBe(
        'rest',
      );
      const late = context({ nowMs: NOW_MS + FINISHING_MS });
      expect(decide(stopping, still, late).kind).toBe('delete-machine');
    });

    test.each([
      ['C68: a cancel of somebody else', 1, 'cancelled-outside'],
      ['its own cancel by us', FINISHING_MS, 'interrupted'],
    ])('%s: %i ms after it said so it is %s', (_name, afterMs, cause) => {
      const cancelled = {
        ...ending(),
        cause: 'cancelled-outside',
        endedMs: NOW_MS + afterMs,
      } as const;
      const step = decide(
        stopping,
        facts({ [EXECUTION]: cancelled }, { claim, ...told }),
        context(),
      );
      expect(written(step).attempts[0]?.end?.cause).toBe(cause);
    });
  });

  test('P112: one that a quota kept from starting is no lost machine, but a place without room', () => {
    const error = { code: 'QUOTA_EXCEEDED', message: 'Quota exceeded: NvidiaL4Gpu', details: {} };
    const operations = { '1/1': { kind: 'failed', error } } as const;
    const refused = seen({ machines: gone, marker: none, operations });
    expect(decide(run(), refused, context())).toEqual({ kind: 'publish-look' });
    const step = decide(run(), { ...refused, claim: { kind: 'free' } }, submit());
    expect(written(step)).toMatchObject({ state: 'WAITING', places: [{ cause: 'quota' }] });
  });
});

describe('C66: classes after out of memory', () => {
  const plan = creator({ candidates: [job('s', 8), job('m', 16), job('l', 32)] }).plan;
  const oom = (size: string, memoryGiB: number) =>
    attempt({
      intents: [{ ...accepted, candidate: job(size, memoryGiB) }],
      end: {
        status: 'FAILED',
        cause: 'out-of-memory',
        step: null,
        exitCode: 137,
        detail: '',
        atMs: NOW_MS,
      },
    });
  test.each([
    ['none yet: the class of the request', [], ['s']],
    ['S: M', [oom('s', 8)], ['m']],
    ['M: L', [oom('s', 8), oom('m', 16)], ['l']],
    ['L: none', [oom('s', 8), oom('m', 16), oom('l', 32)], []],
  ])('%s', (_name, before, sizes) => {
    const attempts = [...before, attempt()];
    const found = attemptCandidates(run({ attempts }), plan);
    expect(found.map(({ machineType }) => machineType)).toEqual(
      sizes.map((size) => `mayfly-base-ml-${size}`),
    );
  });
});

test.each([
  ['nothing larger, whatever it may cost', 'l', 32, 100, 'there is no class with more memory'],
  ['a larger one that is too dear', 's', 8, 0.01, 'none fits the budget of 0.01 USD'],
])('C66: no further attempt: %s', (_name, size, memoryGiB, budgetUsd, why) => {
  const last = attempt({
    intents: [{ ...accepted, candidate: job(size, memoryGiB) }],
    end: {
      status: 'FAILED',
      cause: 'out-of-memory',
      step: null,
      exitCode: 137,
      detail: '',
      atMs: 0,
    },
  });
  const terms = { ...run().terms, budgetUsd };
  const waiting = run({ state: 'WAITING', dueMs: NOW_MS, terms, attempts: [last] });
  const { plan } = creator({ candidates: [job('s', 8), job('m', 16), job('l', 32)] });
  const step = decide(waiting, seen(), submit(NOW_MS, { plan }));
  expect(written(step).end).toMatchObject({ cause: 'out-of-memory' });
  expect(written(step).end?.detail).toContain(why);
});

describe('the sweep', () => {
  const swept = {
    name: INSTANCE,
    id: EXECUTION,
    zone: REGION,
    status: 'RUNNING',
    ours: true,
    deadlineMs: NOW_MS + 7_000_000,
    createdMs: NOW_MS,
  };
  const judge = (owner: RunRecord, id = EXECUTION, nowMs = NOW_MS + 1000) =>
    judgeMachine({ ...swept, id }, { kind: 'record', record: owner }, 240_000, nowMs);

  test('C73: of two with one nonce the one that holds the claim stays', () => {
    const owner = run({ state: 'RUNNING' }, { claim: HOLDER });
    expect(judge(owner)).toEqual({ kind: 'kept', why: 'live' });
    expect(judge(owner, 'other')).toMatchObject({ kind: 'doomed', why: 'not-the-holder' });
    // Before that either may have just taken it: none is ended.
    expect(judge(run(), 'other')).toEqual({ kind: 'kept', why: 'live' });
  });

  test('what has said its last word has a minute to go by itself', () => {
    const end = {
      status: 'SUCCEEDED',
      cause: 'exit',
      step: null,
      exitCode: 0,
      detail: '',
      atMs: NOW_MS,
    } as const;
    const owner = run({ state: 'SUCCEEDED', end }, { claim: HOLDER, end });
    expect(judge(owner)).toEqual({ kind: 'kept', why: 'finishing' });
    const late = judge(owner, EXECUTION, NOW_MS + FINISHING_MS);
    expect(late).toMatchObject({ kind: 'doomed', why: 'attempt-ended' });
  });
});
