import { describe, expect, test } from 'vitest';
import { decide } from '#shared/lifecycle/decide.ts';
import { BOOT_ALLOWANCE_MS, REPEAT_WINDOW_MS, SLACK_MS } from '#shared/lifecycle/limits.ts';
import { machineKey, type Step } from '#shared/lifecycle/observation.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { diskName } from '#shared/plan/names.ts';
import {
  attempt,
  CONTROL,
  candidate,
  context,
  creator,
  GONE,
  HOLDER,
  held,
  INSTANCE,
  intent,
  KEY,
  marker,
  NOW_MS,
  place,
  record,
  seen,
  there,
  ZONE,
} from '#test/lifecycle/fixtures.ts';

const DISK = diskName('mayfly', 'run-1', 1, 1);
const RUNNING_FACT = { marker: marker({ status: 'RUNNING' }), generation: '5' };
const running = (change: Partial<RunRecord> = {}) =>
  record({
    state: 'RUNNING',
    attempts: [attempt({ claim: HOLDER, runningMs: NOW_MS })],
    ...change,
  });

function written(step: Step): RunRecord {
  if (step.kind !== 'write') throw new Error(`expected a write, got ${JSON.stringify(step)}`);
  return step.record;
}

describe('the machine’s last word', () => {
  test('SUCCEEDED ends the run and deletes the machine', () => {
    const word = {
      marker: marker({ status: 'SUCCEEDED', exitCode: 0, cause: 'exit', step: 'report' }),
      generation: '5',
    };
    const step = decide(running(), seen({ marker: word }), context({ depth: 'marker' }));
    expect(written(step)).toMatchObject({
      state: 'SUCCEEDED',
      end: { cause: 'exit', exitCode: 0, step: null },
    });
    expect(step).toMatchObject({
      effects: [{ kind: 'delete-machine', instance: INSTANCE, zone: ZONE }],
    });
  });

  test('P70: it counts although the record never saw RUNNING', () => {
    const word = { marker: marker({ status: 'SUCCEEDED', exitCode: 0 }), generation: '5' };
    const step = decide(record(), seen({ marker: word }), context({ depth: 'marker' }));
    expect(written(step).state).toBe('SUCCEEDED');
  });

  test('SUCCEEDED wins over a cancel that was only ordered', () => {
    const order = { reason: 'cancelled', cause: 'cancelled', detail: '', atMs: NOW_MS } as const;
    const stopping = record({
      state: 'STOPPING',
      cancel: { reason: 'r', atMs: NOW_MS },
      attempts: [attempt({ claim: HOLDER, order })],
    });
    const word = { marker: marker({ status: 'SUCCEEDED', exitCode: 0 }), generation: '5' };
    expect(written(decide(stopping, seen({ marker: word }), context())).state).toBe('SUCCEEDED');
    const failed = {
      marker: marker({ status: 'FAILED', exitCode: 1, cause: 'exit' }),
      generation: '5',
    };
    expect(written(decide(stopping, seen({ marker: failed }), context())).state).toBe('CANCELLED');
  });

  const steps = [
    { name: 'for good', permanent: true, state: 'FAILED', used: { failed: 0, infrastructure: 0 } },
    { name: 'and no more', permanent: null, state: 'FAILED', used: { infrastructure: 0 } },
    { name: 'for now', permanent: false, state: 'WAITING', used: { failed: 0, infrastructure: 1 } },
  ] as const;
  test.each(steps)(
    'B56: a step that failed $name: $state, and only what may pass is tried again',
    ({ permanent, state, used }) => {
      const fields = { status: 'FAILED', cause: 'step-failed', step: 'pull', permanent } as const;
      const word = { marker: marker({ ...fields, detail: 'no such image' }), generation: '5' };
      const next = written(decide(running(), seen({ marker: word }), context()));
      expect(next).toMatchObject({ state, used });
      expect(next.attempts[0]?.end).toMatchObject({
        status: 'FAILED',
        cause: 'step-failed',
        step: 'pull',
        detail: 'no such image',
      });
    },
  );

  test('out of memory and an idle GPU reach the end, each on its own counter', () => {
    const measured = { status: 'FAILED', peakMemoryBytes: 99, gpuCount: 1 } as const;
    const memory = marker({ ...measured, cause: 'out-of-memory', exitCode: 137 });
    const next = (word: typeof memory, terms: Partial<RunRecord['terms']['retry']>) => {
      const retry = { ...record().terms.retry, ...terms };
      const run = running({ terms: { ...record().terms, retry } });
      const fact = { marker: word, generation: '5' };
      return written(decide(run, seen({ marker: fact }), context()));
    };
    expect(next(memory, { outOfMemory: 1 })).toMatchObject({
      state: 'WAITING',
      used: { outOfMemory: 1, failed: 0 },
      attempts: [{ facts: { peakMemoryBytes: 99, gpuCount: 1 } }],
    });
    expect(next(memory, { outOfMemory: 0, failed: 3 })).toMatchObject({
      state: 'FAILED',
      end: { cause: 'out-of-memory', exitCode: 137 },
    });
    const idle = marker({ ...measured, cause: 'gpu-idle' });
    expect(next(idle, {})).toMatchObject({ state: 'FAILED', end: { cause: 'gpu-idle' } });
    expect(next(idle, { failed: 1 })).toMatchObject({ state: 'WAITING', used: { failed: 1 } });
  });

  test('interrupted orders the delete and ends nothing while the machine is there', () => {
    const word = { marker: marker({ status: 'FAILED', cause: 'interrupted' }), generation: '5' };
    const first = decide(running(), seen({ marker: word }), context({ depth: 'marker' }));
    expect(written(first)).toMatchObject({ state: 'STOPPING', end: null });
    const stopping = written(first);
    const facts = { marker: word, claim: held(HOLDER), machines: { [KEY]: there() } };
    expect(decide(stopping, seen(facts), context())).toMatchObject({ kind: 'delete-machine' });
    const sent = seen({ ...facts, deleted: [KEY] });
    expect(decide(stopping, sent, context()).kind).toBe('rest');
  });

  test('interrupted, gone, and preempted by the operations: the next attempt on its own counter', () => {
    const order = { reason: 'ending', cause: null, detail: '', atMs: NOW_MS } as const;
    const stopping = record({ state: 'STOPPING', attempts: [attempt({ claim: HOLDER, order })] });
    const word = { marker: marker({ status: 'FAILED', cause: 'interrupted' }), generation: '5' };
    const gone = { marker: word, claim: held(HOLDER), machines: { [KEY]: GONE } };
    expect(decide(stopping, seen(gone), context()).kind).toBe('read-ending');
    const known = seen({ ...gone, endings: { '111': 'preempted' } });
    const next = written(decide(stopping, known, context()));
    expect(next).toMatchObject({ state: 'WAITING', used: { preempted: 1, infrastructure: 0 } });
    expect(next.attempts[0]?.end).toMatchObject({ status: 'PREEMPTED', cause: 'preempted' });
  });
});

describe('silence ends nothing', () => {
  test('A114: a healthy machine is left alone whatever its marker says, for as long as it has', () => {
    const facts = seen({ machines: { [KEY]: there() }, marker: RUNNING_FACT });
    const late = context({ nowMs: NOW_MS + 7_000_000 });
    expect(decide(running(), facts, late).kind).toBe('rest');
  });

  test('D3: a machine that cannot be asked is neither gone nor finished', () => {
    const facts = seen({ machines: { [KEY]: { kind: 'unknown' } }, marker: RUNNING_FACT });
    expect(decide(running(), facts, context()).kind).toBe('rest');
    const unclaimed = seen({
      machines: { [KEY]: { kind: 'unknown' } },
      marker: { marker: null, generation: '0' },
    });
    expect(decide(record(), unclaimed, context()).kind).toBe('rest');
  });

  test('P32: a machine that is not visible yet is not lost while its operation runs', () => {
    const facts = { machines: { [KEY]: GONE }, marker: { marker: null, generation: '0' } };
    expect(decide(record(), seen(facts), context()).kind).toBe('read-operation');
    const pending = seen({ ...facts, operations: { '1/1': { kind: 'pending' } } });
    expect(decide(record(), pending, context()).kind).toBe('rest');
  });

  test('E4: a 404 in another zone than the holder’s ends nothing', () => {
    const other = intent({
      number: 2,
      candidate: candidate({ zone: 'us-central1-b' }),
      instanceId: '222',
    });
    const two = running({
      attempts: [attempt({ claim: HOLDER, intents: [intent(), other], intentCount: 2 })],
    });
    const machines = { [KEY]: there(), [machineKey(INSTANCE, 'us-central1-b')]: GONE };
    expect(decide(two, seen({ machines, marker: RUNNING_FACT }), context()).kind).toBe('rest');
  });

  test('D26: another machine of that name in the holder’s zone means that the holder is gone', () => {
    const machines = { [KEY]: there({ id: '999' }) };
    const step = decide(running(), seen({ machines, marker: RUNNING_FACT }), context());
    expect(step).toEqual({ kind: 'read-ending', zone: ZONE, instanceId: '111' });
  });
});

describe('no attempt ends with a free claim', () => {
  const noMarker = { marker: null, generation: '0' };
  const succeeded = { '1/1': { kind: 'succeeded', instanceId: '111' } } as const;

  test('E5: gone before it claimed: its operations, then the claim, then the seal, then the end', () => {
    let facts = seen({ machines: { [KEY]: GONE }, marker: noMarker, operations: succeeded });
    expect(decide(record(), facts, context()).kind).toBe('read-ending');
    facts = { ...facts, endings: { '111': 'preempted' } };
    expect(decide(record(), facts, context()).kind).toBe('take-claim');
    facts = { ...facts, claim: held(CONTROL) };
    expect(decide(record(), facts, context()).kind).toBe('seal-marker');
    const ended = written(decide(record(), { ...facts, sealed: true }, context()));
    expect(ended.attempts[0]?.end?.cause).toBe('preempted');
  });

  test('E9: a machine that is late to boot: the claim first; lost, nothing is ordered', () => {
    const asked = { machines: { [KEY]: there() }, marker: noMarker };
    const late = context({ nowMs: NOW_MS + BOOT_ALLOWANCE_MS + 1 });
    expect(decide(record(), seen(asked), late)).toEqual({
      kind: 'read-boot-report',
      instance: INSTANCE,
      zone: ZONE,
    });
    const facts = { ...asked, bootReports: { [KEY]: null } };
    expect(decide(record(), seen(facts), late).kind).toBe('take-claim');
    const lost = decide(record(), seen({ ...facts, claim: held(HOLDER) }), late);
    expect(written(lost)).toMatchObject({ state: 'PROVISIONING', end: null });
    expect(written(lost).attempts[0]).toMatchObject({ claim: HOLDER, order: null, end: null });
    const young = context({ nowMs: NOW_MS + BOOT_ALLOWANCE_MS - 1 });
    expect(decide(record(), seen(facts), young).kind).toBe('rest');
  });

  test('P69: a machine that never began to work is LOST, on the infrastructure counter', () => {
    const late = context({ nowMs: NOW_MS + BOOT_ALLOWANCE_MS + 1 });
    const facts = seen({
      machines: { [KEY]: there() },
      marker: noMarker,
      claim: held(CONTROL),
      sealed: true,
    });
    const step = decide(record(), facts, late);
    expect(written(step)).toMatchObject({ state: 'WAITING', used: { infrastructure: 1 } });
    expect(step).toMatchObject({ effects: [{ kind: 'delete-machine' }] });
  });

  const silent = [
    { name: 'cannot be read', report: null, cause: 'machine-lost', state: 'WAITING' },
    {
      name: 'is still booting',
      report: { status: 'booting', detail: 'waits for the lock', bootId: 'b1' },
      cause: 'machine-lost',
      state: 'WAITING',
    },
    {
      name: 'failed at a step',
      report: { status: 'failed:tools', detail: 'no candidate', bootId: 'b1' },
      cause: 'step-failed',
      state: 'FAILED',
    },
  ] as const;
  test.each(silent)(
    'B56: a machine that never claimed and $name: $cause, with what it said',
    ({ report, cause, state }) => {
      const facts = seen({
        machines: { [KEY]: there() },
        marker: noMarker,
        bootReports: { [KEY]: report },
        claim: held(CONTROL),
        sealed: true,
      });
      const late = context({ nowMs: NOW_MS + BOOT_ALLOWANCE_MS + 1 });
      const next = written(decide(record(), facts, late));
      const step = cause === 'step-failed' ? 'tools' : null;
      expect(next).toMatchObject({ state, attempts: [{ end: { cause, step } }] });
      expect(next.attempts[0]?.end?.detail).toContain(report?.detail ?? 'never began to work');
    },
  );

  test('B61: what it said of its boot never hides that it was preempted or cancelled', () => {
    const report = { status: 'failed:tools', detail: '', bootId: '' };
    const facts = seen({
      machines: { [KEY]: GONE },
      marker: noMarker,
      operations: succeeded,
      endings: { '111': 'preempted' },
      bootReports: { [KEY]: report },
      claim: held(CONTROL),
      sealed: true,
    });
    expect(written(decide(record(), facts, context())).attempts[0]?.end?.cause).toBe('preempted');
  });

  test('no capacity: the claim is taken before the end, and a holder is adopted', () => {
    const placing = record({
      state: 'PLACING',
      terms: { ...record().terms, waitForCapacitySeconds: 0 },
      attempts: [attempt({ intents: [], intentCount: 1 })],
      places: [place()],
      placesCount: 1,
    });
    const submit = context({ creator: creator() });
    expect(decide(placing, seen(), submit).kind).toBe('take-claim');
    const adopted = written(decide(placing, seen({ claim: held(HOLDER) }), submit));
    expect(adopted).toMatchObject({ state: 'PROVISIONING', attempts: [{ claim: HOLDER }] });
    expect(adopted.attempts[0]?.intents).toMatchObject([{ candidate: { zone: ZONE } }]);
    const won = seen({ claim: held(CONTROL), marker: noMarker, sealed: true });
    expect(written(decide(placing, won, submit))).toMatchObject({
      state: 'NO_CAPACITY',
      end: { cause: 'stock-out' },
    });
  });
});

describe('the marker is read after its machine is known to be gone', () => {
  test('E8: success written, machine gone: the marker’s word counts, there is no second attempt', () => {
    const facts = seen({ machines: { [KEY]: GONE }, endings: { '111': 'none' } });
    expect(decide(running(), facts, context()).kind).toBe('read-marker');
    const word = { marker: marker({ status: 'SUCCEEDED', exitCode: 0 }), generation: '6' };
    const ended = written(decide(running(), { ...facts, marker: word }, context()));
    expect(ended).toMatchObject({ state: 'SUCCEEDED' });
    expect(ended.attempts).toHaveLength(1);
  });

  test('E7: an attempt without a last word is sealed before it ends', () => {
    const facts = seen({
      machines: { [KEY]: GONE },
      endings: { '111': 'none' },
      marker: RUNNING_FACT,
      claim: held(HOLDER),
    });
    expect(decide(running(), facts, context()).kind).toBe('seal-marker');
    const ended = decide(running(), { ...facts, sealed: true }, context());
    expect(written(ended).attempts[0]?.end?.cause).toBe('machine-lost');
  });

  test('an unreadable list of operations decides nothing before the deadline', () => {
    const facts = seen({
      machines: { [KEY]: GONE },
      endings: { '111': 'unknown' },
      marker: RUNNING_FACT,
    });
    expect(decide(running(), facts, context()).kind).toBe('rest');
  });
});

describe('time', () => {
  const deadlineMs = intent().deadlineSeconds * 1000;

  test('past its deadline a live attempt is ordered to stop, then deleted', () => {
    const before = decide(
      running(),
      seen({ machines: { [KEY]: there() }, marker: RUNNING_FACT }),
      context({ nowMs: deadlineMs - 1 }),
    );
    expect(before.kind).toBe('rest');
    const step = decide(running(), seen(), context({ nowMs: deadlineMs }));
    expect(written(step)).toMatchObject({ state: 'STOPPING', end: null });
    expect(step).toMatchObject({ effects: [{ kind: 'delete-machine' }] });
  });

  test('five minutes later it is TIMED_OUT although the machine is still there', () => {
    const order = { reason: 'deadline', cause: 'ttl', detail: '', atMs: deadlineMs } as const;
    const late = record({ state: 'STOPPING', attempts: [attempt({ claim: HOLDER, order })] });
    const facts = seen({
      claim: held(HOLDER),
      machines: { [KEY]: there() },
      marker: RUNNING_FACT,
      deleted: [KEY],
      sealed: true,
    });
    const early = context({ nowMs: deadlineMs + SLACK_MS - 1 });
    expect(decide(late, facts, early).kind).toBe('rest');
    const step = decide(late, facts, context({ nowMs: deadlineMs + SLACK_MS }));
    expect(written(step)).toMatchObject({ state: 'TIMED_OUT', end: { cause: 'ttl' } });
  });

  test('a stopped machine is doomed whatever its deadline: its time limit is cleared', () => {
    const facts = seen({
      machines: { [KEY]: there({ status: 'TERMINATED' }) },
      marker: RUNNING_FACT,
    });
    expect(written(decide(running(), facts, context()))).toMatchObject({ state: 'STOPPING' });
    for (const status of ['PENDING', 'REPAIRING', 'STAGING']) {
      const other = seen({ machines: { [KEY]: there({ status }) }, marker: RUNNING_FACT });
      expect(decide(running(), other, context()).kind, status).toBe('rest');
    }
  });
});

describe('placement', () => {
  const placing = (change = {}) =>
    record({
      state: 'PLACING',
      dueMs: NOW_MS + 60_000,
      attempts: [
        attempt({
          intents: [intent({ status: 'ordered', operation: null, instanceId: null, ...change })],
        }),
      ],
    });
  const error = { code: 'ZONE_RESOURCE_POOL_EXHAUSTED', message: 'none', details: {} };
  const free = { kind: 'free' } as const;

  test('A108: a definite refusal moves on to the next place in the same attempt', () => {
    const facts = seen({ inserts: { '1/1': { kind: 'refused', definite: true, error } } });
    const two = creator({ candidates: [candidate(), candidate({ zone: 'us-central1-b' })] });
    const next = written(decide(placing(), facts, context({ creator: two })));
    expect(next.attempts).toHaveLength(1);
    expect(next.attempts[0]).toMatchObject({
      intentCount: 2,
      intents: [{ number: 2, status: 'ordered', candidate: { zone: 'us-central1-b' } }],
    });
    expect(next.places).toMatchObject([{ zone: ZONE, code: error.code }]);
  });

  test('E2: a 4xx to a repeat is unknown, not a refusal', () => {
    const facts = seen({
      claim: free,
      inserts: { '1/1': { kind: 'refused', definite: false, error } },
    });
    expect(decide(placing(), facts, context({ creator: creator() }))).toMatchObject({
      kind: 'pause',
      again: 'insert',
    });
  });

  test('E15: a repeat for an intent older than half an hour is not sent; it is abandoned', () => {
    const young = context({ nowMs: NOW_MS + REPEAT_WINDOW_MS - 1, creator: creator() });
    // That another delivery calls it, too, is said first: its refusal is no longer the whole truth.
    const said = written(decide(placing(), seen({ claim: free }), young));
    expect(said.attempts[0]?.intents).toMatchObject([{ status: 'ordered', repeated: true }]);
    expect(decide(said, seen({ claim: free }), young).kind).toBe('insert');
    const old = context({ nowMs: NOW_MS + REPEAT_WINDOW_MS, creator: creator() });
    const step = decide(placing(), seen({ claim: free }), old);
    expect(written(step).attempts[0]?.intents).toMatchObject([{ status: 'abandoned' }]);
  });

  test('E11: abandoned: the claim decides; won, the next attempt; lost, the holder is adopted', () => {
    const abandoned = placing({ status: 'abandoned' });
    const submit = context({ creator: creator() });
    expect(decide(abandoned, seen(), submit).kind).toBe('take-claim');
    const won = seen({
      claim: held(CONTROL),
      marker: { marker: null, generation: '0' },
      sealed: true,
    });
    expect(written(decide(abandoned, won, submit))).toMatchObject({
      state: 'WAITING',
      used: { abandoned: 1, infrastructure: 0 },
    });
    const lost = written(decide(abandoned, seen({ claim: held(HOLDER) }), submit));
    expect(lost.attempts[0]).toMatchObject({ claim: HOLDER, end: null });
    // Elsewhere nobody creates: the sweep says that something is due.
    const due = { ...abandoned, dueMs: NOW_MS };
    expect(decide(due, seen(), context()).kind).toBe('publish-look');
  });

  test('P28: an operation that failed beside a living machine of ours adopts it', () => {
    const accepted = record({ attempts: [attempt()] });
    const operations = { '1/1': { kind: 'failed', error } } as const;
    const submit = context({ creator: creator() });
    const facts = seen({ operations, machines: { [KEY]: there() } });
    expect(decide(accepted, facts, submit).kind).toBe('rest');
    const gone = seen({ operations, machines: { [KEY]: GONE }, claim: free });
    const none = { ...accepted, terms: { ...accepted.terms, waitForCapacitySeconds: 0 } };
    expect(decide(none, gone, submit).kind).toBe('take-claim');
  });

  test('P30: a machine of that name that is not ours is not touched, and the attempt fails', () => {
    const facts = seen({
      claim: free,
      inserts: { '1/1': { kind: 'conflict' } },
      machines: { [KEY]: there({ ours: false }) },
    });
    const submit = context({ creator: creator() });
    expect(decide(placing(), facts, submit).kind).toBe('take-claim');
    const won = {
      ...facts,
      claim: held(CONTROL),
      marker: { marker: null, generation: '0' },
      sealed: true,
    };
    const step = decide(placing(), won, submit);
    expect(written(step)).toMatchObject({ state: 'FAILED', end: { cause: 'refused' } });
    expect(step).toMatchObject({ effects: [] });
  });

  test('P30: a machine of that name that is ours is adopted', () => {
    const facts = seen({
      claim: free,
      inserts: { '1/1': { kind: 'conflict' } },
      machines: { [KEY]: there() },
    });
    const step = decide(placing(), facts, context({ creator: creator() }));
    expect(written(step)).toMatchObject({
      state: 'PROVISIONING',
      attempts: [{ intents: [{ status: 'accepted', instanceId: '111' }] }],
    });
  });
});

describe('what is left after the end', () => {
  const end = {
    status: 'CANCELLED',
    cause: 'cancelled',
    step: null,
    exitCode: null,
    detail: '',
    atMs: NOW_MS,
  } as const;
  const ended = (change = {}) =>
    record({ state: 'CANCELLED', end, attempts: [attempt({ end, intents: [intent(change)] })] });

  test('the result first, then the machine, its operation, its disk, the active entry last', () => {
    let facts = seen();
    expect(decide(ended(), facts, context()).kind).toBe('finish');
    facts = { ...facts, finished: true };
    expect(decide(ended(), facts, context()).kind).toBe('read-machine');
    facts = { ...facts, machines: { [KEY]: there() } };
    expect(decide(ended(), facts, context()).kind).toBe('delete-machine');
    expect(decide(ended(), { ...facts, deleted: [KEY] }, context()).kind).toBe('rest');
    facts = { ...facts, machines: { [KEY]: GONE } };
    expect(decide(ended(), facts, context()).kind).toBe('read-operation');
    facts = { ...facts, operations: { '1/1': { kind: 'succeeded', instanceId: '111' } } };
    expect(decide(ended(), facts, context()).kind).toBe('delete-disk');
    facts = { ...facts, disks: { [DISK]: 'gone' } };
    expect(decide(ended(), facts, context()).kind).toBe('forget');
  });

  test('E1: an intent that never landed keeps the entry until its deadline and slack are over', () => {
    const never = ended({ status: 'ordered', operation: null, instanceId: null });
    const facts = seen({
      finished: true,
      machines: { [KEY]: GONE },
      disks: { [DISK]: 'gone' },
    });
    const until = intent().deadlineSeconds * 1000 + SLACK_MS;
    expect(decide(never, facts, context({ nowMs: until - 1 })).kind).toBe('rest');
    expect(decide(never, facts, context({ nowMs: until })).kind).toBe('forget');
  });

  test('a foreign machine of that name is not deleted', () => {
    const facts = seen({ finished: true, machines: { [KEY]: there({ ours: false }) } });
    expect(decide(ended(), facts, context()).kind).not.toBe('delete-machine');
  });
});

describe('a failed machine that is kept for a look', () => {
  const kept = (seconds: number, retry = record().terms.retry) =>
    running({ terms: { ...record().terms, keepOnFailureSeconds: seconds, retry } });
  const said = (change: Parameters<typeof marker>[0]) =>
    seen({
      marker: { marker: marker({ status: 'FAILED', exitCode: 3, ...change }), generation: '5' },
    });
  const at = context();

  const causes = [
    ['exit', true],
    ['out-of-memory', true],
    ['step-failed', true],
    ['gpu-idle', true],
    ['timeout', false],
    ['ttl', false],
  ] as const;
  test.each(causes)('after %s: %s', (cause, stays) => {
    const none = { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 };
    const step = decide(kept(600, none), said({ cause }), at);
    const [last] = written(step).attempts;
    expect(written(step).end).toMatchObject({ cause });
    expect(last?.kept).toEqual(stays ? { zone: ZONE, untilMs: at.nowMs + 600_000 } : undefined);
    expect(step).toMatchObject({ effects: stays ? [] : [{ kind: 'delete-machine' }] });
  });

  test('nothing is kept after success, when it is not asked for, or when a further attempt follows', () => {
    const good = said({ status: 'SUCCEEDED', exitCode: 0, cause: 'exit' });
    const more = { ...record().terms.retry, failed: 1 };
    for (const step of [
      decide(kept(600), good, at),
      decide(kept(0), said({ cause: 'exit' }), at),
      decide(kept(600, more), said({ cause: 'exit' }), at),
    ]) {
      expect(written(step).attempts[0]).not.toHaveProperty('kept');
      expect(step).toMatchObject({ effects: [{ kind: 'delete-machine' }] });
    }
  });

  test('it never stays past its deadline, and what is not the holder’s goes at once', () => {
    const other = intent({ number: 2, candidate: candidate({ zone: 'us-central1-b' }) });
    const two = attempt({ claim: HOLDER, intents: [intent(), { ...other, instanceId: null }] });
    const run = { ...kept(604_800), attempts: [two] };
    const step = decide(run, said({ cause: 'exit' }), at);
    const untilMs = intent().deadlineSeconds * 1000;
    expect(written(step).attempts[0]?.kept).toEqual({ zone: ZONE, untilMs });
    expect(step).toMatchObject({ effects: [{ kind: 'delete-machine', zone: 'us-central1-b' }] });
  });

  test('the result is written at once; the delete is sent when the time is over, the entry stays', () => {
    const ended = written(decide(kept(600), said({ cause: 'exit' }), at));
    expect(decide(ended, seen(), at).kind).toBe('finish');
    const facts = seen({ finished: true, machines: { [KEY]: there() } });
    const untilMs = at.nowMs + 600_000;
    expect(decide(ended, facts, context({ nowMs: untilMs - 1 })).kind).toBe('rest');
    expect(decide(ended, facts, context({ nowMs: untilMs })).kind).toBe('delete-machine');
    const stopped = { ...facts, machines: { [KEY]: there({ status: 'TERMINATED' }) } };
    expect(decide(ended, stopped, at).kind).toBe('delete-machine');
  });
});

describe('a further attempt', () => {
  const lost = (used: number) => {
    const run = running({
      used: { ...record().used, infrastructure: used },
      terms: { ...record().terms, retry: { ...record().terms.retry, infrastructure: 5 } },
    });
    const word = marker({ status: 'FAILED', cause: 'step-failed', permanent: false });
    return decide(run, seen({ marker: { marker: word, generation: '5' } }), context());
  };

  test('the first of its counter is due at once, and whoever ended the one before it says so', () => {
    const waiting = written(lost(0));
    expect(waiting).toMatchObject({ state: 'WAITING', dueMs: context().nowMs });
    expect(decide(waiting, seen(), context({ depth: 'marker' })).kind).toBe('publish-look');
  });

  test('later ones wait 10 s, 20 s, 40 s', () => {
    const waits = [1, 2, 3].map((used) => (written(lost(used)).dueMs ?? 0) - context().nowMs);
    expect(waits).toEqual([10_000, 20_000, 40_000]);
  });
});

describe('where a further attempt may go', () => {
  const small = candidate({ machineType: 'e2-standard-4', usdPerHour: 0.36 }); // 16 GiB
  const large = candidate({ machineType: 'e2-highmem-8', usdPerHour: 0.9 }); // 64 GiB
  const ended = (cause: 'out-of-memory' | 'preempted', machine = small) => {
    const status = cause === 'preempted' ? 'PREEMPTED' : 'FAILED';
    const end = {
      status,
      cause,
      step: null,
      exitCode: null,
      detail: 'was',
      atMs: NOW_MS + 3_540_000,
    };
    return attempt({ end: end as never, intents: [intent({ candidate: machine })] });
  };
  const begin = (
    attempts: RunRecord['attempts'],
    candidates = [small, large],
    budgetUsd?: number,
  ) => {
    const terms = { ...record().terms, budgetUsd: budgetUsd ?? null };
    const run = record({ state: 'WAITING', dueMs: NOW_MS, attempts, terms });
    const later = NOW_MS + 7_200_000;
    return written(
      decide(run, seen(), context({ nowMs: later, creator: creator({ candidates }) })),
    );
  };
  const typeOf = (run: RunRecord) => run.attempts.at(-1)?.intents[0]?.candidate.machineType;

  test('after a machine ran out of memory only a larger one is tried, also after a preemption since', () => {
    expect(typeOf(begin([ended('preempted')]))).toBe('e2-standard-4');
    expect(typeOf(begin([ended('out-of-memory')]))).toBe('e2-highmem-8');
    const later = { ...ended('preempted', large), number: 2 };
    expect(typeOf(begin([ended('out-of-memory'), later]))).toBe('e2-highmem-8');
  });

  test('where there is none, one as large as that gets the retry, never a smaller one', () => {
    expect(typeOf(begin([ended('out-of-memory', large)]))).toBe('e2-highmem-8');
    expect(typeOf(begin([ended('out-of-memory')], [small]))).toBe('e2-standard-4');
  });

  // An hour of the first attempt costs 0.36 USD (59 min and a minute of delete); two more hours of TTL
  // cost 0.72 USD on the same machine, 1.80 USD on the large one.
  test.each([
    { budget: 1.08, type: 'e2-standard-4' },
    { budget: 1.07, type: null },
    { budget: 2.16, type: 'e2-highmem-8' },
  ])('a budget of $budget USD leaves room for $type', ({ budget, type }) => {
    const order = type === 'e2-highmem-8' ? [large, small] : [small, large];
    const next = begin([ended('preempted')], order, budget);
    if (type !== null) {
      expect(next).toMatchObject({ state: 'PLACING' });
      expect(typeOf(next)).toBe(type);
      return;
    }
    expect(next).toMatchObject({ state: 'PREEMPTED', end: { cause: 'preempted' } });
    expect(next.attempts).toHaveLength(1);
    expect(next.end?.detail).toBe(
      'was\nno further attempt: after 0.3600 USD none fits the budget of 1.07 USD',
    );
  });

  test('under a budget a first attempt is the plan’s affair alone', () => {
    const accepted = record({ state: 'ACCEPTED', dueMs: NOW_MS, attempts: [] });
    const run = { ...accepted, terms: { ...accepted.terms, budgetUsd: 0.01 } };
    const step = decide(run, seen(), context({ creator: creator({ candidates: [small] }) }));
    expect(written(step)).toMatchObject({ state: 'PLACING' });
  });
});

describe('between two attempts', () => {
  const end = {
    status: 'PREEMPTED',
    cause: 'preempted',
    step: null,
    exitCode: null,
    detail: '',
    atMs: NOW_MS,
  } as const;
  const waiting = (change: Partial<RunRecord> = {}) =>
    record({ state: 'WAITING', dueMs: NOW_MS, attempts: [attempt({ end })], ...change });

  test('only submit begins the next one, and only when it is due', () => {
    expect(decide(waiting(), seen(), context()).kind).toBe('publish-look');
    expect(
      decide(waiting({ dueMs: NOW_MS + 600_000 }), seen(), context({ creator: creator() })).kind,
    ).toBe('rest');
    const next = written(decide(waiting(), seen(), context({ creator: creator() })));
    expect(next.attempts[1]).toMatchObject({
      number: 2,
      intents: [{ number: 1, status: 'ordered' }],
    });
    expect(next.attempts[1]?.nonce).not.toBe(next.attempts[0]?.nonce);
  });

  test('E6: an ordered cancel starts no further attempt', () => {
    const cancelled = waiting({ cancel: { reason: 'r', atMs: NOW_MS } });
    expect(written(decide(cancelled, seen(), context({ creator: creator() })))).toMatchObject({
      state: 'CANCELLED',
    });
  });
});
