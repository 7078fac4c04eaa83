// What an attempt leaves in the record, and whether another one follows (design: retry by cause).
import { describe, expect, test } from 'vitest';
import {
  deleteMachines,
  endAttempt,
  endByMarker,
  endWithout,
  factsOf,
} from '#shared/lifecycle/end-attempt.ts';
import { CAUSES, type Cause, endingOf, isMachineCause } from '#shared/lifecycle/failures.ts';
import type { Step } from '#shared/lifecycle/observation.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import {
  attempt,
  candidate,
  context,
  INSTANCE,
  intent,
  marker,
  NOW_MS,
  record,
  ZONE,
} from '#test/lifecycle/fixtures.ts';

const LATER_MS = NOW_MS + 60_000;
const written = (step: Step): RunRecord => {
  if (step.kind !== 'write') throw new Error(`expected a write, got ${step.kind}`);
  return step.record;
};
const lost = (cause: Cause = 'machine-lost') => endWithout(cause, { detail: 'd', atMs: LATER_MS });
const many = (count: number) => Array.from({ length: count }, (_, n) => attempt({ number: n + 1 }));

describe('the end that a marker gives', () => {
  test('B56: success has the code and no step, whatever step it was written at', () => {
    const word = marker({
      status: 'SUCCEEDED',
      exitCode: 0,
      step: 'report',
      cause: 'exit',
      detail: 'out',
    });
    expect(endByMarker(record(), word, LATER_MS)).toEqual({
      status: 'SUCCEEDED',
      cause: 'exit',
      step: null,
      exitCode: 0,
      detail: 'out',
      atMs: LATER_MS,
    });
  });

  test('a failure keeps step, code and the end of what it said', () => {
    const detail = `${'a'.repeat(2000)}the end`;
    const word = marker({ status: 'FAILED', exitCode: 3, step: 'run', cause: 'exit', detail });
    const end = endByMarker(record(), word, LATER_MS);
    expect(end).toMatchObject({ status: 'FAILED', cause: 'exit', step: 'run', exitCode: 3 });
    expect(end.detail).toBe(`${'a'.repeat(1993)}the end`);
    expect(end).not.toHaveProperty('transient');
  });

  const causes = [
    { name: 'without a cause and with a code', change: { exitCode: 9 }, cause: 'exit' },
    { name: 'without a cause and a code', change: {}, cause: 'step-failed' },
    { name: 'that may pass', change: { cause: 'step-failed', permanent: false }, transient: true },
    { name: 'that will not pass', change: { cause: 'step-failed', permanent: true } },
    { name: 'of another cause that may pass', change: { cause: 'timeout', permanent: false } },
  ] as const;
  test.each(causes)('a failure $name', ({ change, ...expected }) => {
    const end = endByMarker(record(), marker({ status: 'FAILED', ...change }), LATER_MS);
    if ('cause' in expected) expect(end.cause).toBe(expected.cause);
    expect(end.transient).toBe('transient' in expected ? true : undefined);
  });

  test('P66: success that may pass is no passing failure', () => {
    const word = marker({
      status: 'SUCCEEDED',
      cause: 'step-failed',
      permanent: false,
      exitCode: 0,
    });
    expect(endByMarker(record(), word, LATER_MS)).not.toHaveProperty('transient');
  });
});

test('an end that nobody reported keeps the end of its detail', () => {
  const detail = `${'b'.repeat(2000)}!`;
  const end = endWithout('ttl', { detail, step: 'run', atMs: LATER_MS });
  expect(end).toEqual({
    status: 'TIMED_OUT',
    cause: 'ttl',
    step: 'run',
    exitCode: null,
    detail: `${'b'.repeat(1999)}!`,
    atMs: LATER_MS,
  });
  expect(endWithout('ttl', { detail: '', atMs: 0 }).step).toBeNull();
});

test('D21: only an exit succeeds', () => {
  expect(endingOf('exit')).toEqual({ status: 'FAILED', cause: 'exit' });
  expect(endingOf('exit', true)).toEqual({ status: 'SUCCEEDED', cause: 'exit' });
  expect(endingOf('ttl', true)).toEqual({ status: 'TIMED_OUT', cause: 'ttl' });
});

test('D21: what a machine may say of itself, and nothing else', () => {
  const own = 'exit out-of-memory step-failed gpu-idle timeout ttl preempted interrupted'.split(
    ' ',
  );
  for (const cause of Object.keys(CAUSES))
    expect(isMachineCause(cause), cause).toBe(own.includes(cause));
  for (const value of ['', 'toString', 7, null])
    expect(isMachineCause(value), String(value)).toBe(false);
});

describe('what a marker tells of the machine', () => {
  test('nothing before its boot', () => {
    expect(factsOf(null)).toBeNull();
    expect(factsOf(marker({ status: 'PROVISIONING' }))).toBeNull();
    expect(factsOf(marker())).not.toBeNull();
  });

  test('its detail is the log’s end only when a container had started', () => {
    const started = marker({ status: 'FAILED', detail: 'output', execStartEpoch: 5 });
    expect(factsOf(started)?.logTail).toBe('output');
    expect(factsOf(marker({ status: 'FAILED', detail: 'no such image' }))?.logTail).toBeNull();
    // Its outputs could not be stored: the words are the step's, though the container had run.
    const stored = { cause: 'step-failed', step: 'outputs', detail: 'HTTP 403' } as const;
    expect(factsOf({ ...started, status: 'FAILED', ...stored })?.logTail).toBeNull();
  });
});

describe('what follows', () => {
  test('P67: a further attempt on the counter of its cause, due at once', () => {
    const next = written(endAttempt(record(), lost('preempted'), null, context()));
    expect(next).toMatchObject({
      state: 'WAITING',
      end: null,
      dueMs: LATER_MS,
      used: { preempted: 1, infrastructure: 0, outOfMemory: 0, failed: 0, abandoned: 0 },
    });
    expect(next.attempts[0]?.end).toEqual(lost('preempted'));
  });

  test('none when its counter is used up, whatever the others say', () => {
    const used = { preempted: 3, infrastructure: 0, outOfMemory: 0, failed: 0, abandoned: 0 };
    const next = written(endAttempt(record({ used }), lost('preempted'), null, context()));
    expect(next).toMatchObject({
      state: 'PREEMPTED',
      end: { cause: 'preempted' },
      dueMs: null,
      used,
    });
    const one = { ...used, preempted: 2 };
    expect(
      written(endAttempt(record({ used: one }), lost('preempted'), null, context())).state,
    ).toBe('WAITING');
  });

  test('at most ten attempts', () => {
    const nine = written(endAttempt(record({ attempts: many(9) }), lost(), null, context()));
    expect(nine.state).toBe('WAITING');
    const ten = written(endAttempt(record({ attempts: many(10) }), lost(), null, context()));
    expect(ten).toMatchObject({ state: 'LOST', end: { cause: 'machine-lost' } });
  });

  test('E6: none after a cancel', () => {
    const cancelled = record({ cancel: { reason: 'r', atMs: NOW_MS } });
    expect(written(endAttempt(cancelled, lost(), null, context()))).toMatchObject({
      state: 'LOST',
      end: { cause: 'machine-lost' },
    });
  });

  test('an abandoned intent has a counter of its own: three, then the end', () => {
    const used = (abandoned: number) =>
      record({ used: { preempted: 0, infrastructure: 2, outOfMemory: 0, failed: 0, abandoned } });
    const next = (abandoned: number) =>
      written(endAttempt(used(abandoned), lost(), null, context(), 'abandoned'));
    expect(next(2)).toMatchObject({ state: 'WAITING', used: { abandoned: 3, infrastructure: 2 } });
    expect(next(3)).toMatchObject({ state: 'LOST', used: { abandoned: 3 } });
  });

  test('what the machine told of itself stays when its end is not its own word', () => {
    const facts = factsOf(marker({ imageDigest: 'sha256:1' }));
    const known = record({ attempts: [attempt({ facts })] });
    expect(written(endAttempt(known, lost(), null, context())).attempts[0]?.facts).toEqual(facts);
    const word = marker({ status: 'FAILED', imageDigest: 'sha256:2' });
    const told = written(endAttempt(known, lost(), word, context())).attempts[0]?.facts;
    expect(told?.imageDigest).toBe('sha256:2');
  });

  test('a record without an attempt has none to end', () => {
    expect(() => endAttempt(record({ attempts: [] }), lost(), null, context())).toThrow('run-1');
  });
});

describe('what is deleted with it', () => {
  const other = intent({ number: 2, candidate: candidate({ zone: 'us-central1-b' }) });
  const deletes = (zones: readonly string[]) =>
    zones.map((zone) => ({ kind: 'delete-machine', instance: INSTANCE, zone }));

  test('a machine in the zone of each open intent, each zone once', () => {
    const one = attempt({ intents: [intent(), other, intent({ number: 3 })] });
    expect(deleteMachines(one)).toEqual(deletes([ZONE, 'us-central1-b']));
  });

  test('and in the zone of the claim’s holder, wherever that is', () => {
    const claim = { by: 'machine', instanceId: '7', zone: 'us-east1-c', bootId: '' } as const;
    expect(deleteMachines(attempt({ claim }))).toEqual(deletes([ZONE, 'us-east1-c']));
    expect(deleteMachines(attempt({ claim: { by: 'control' } }))).toEqual(deletes([ZONE]));
  });

  test('the end of the attempt and of the run order the same deletes', () => {
    const step = endAttempt(record(), lost(), null, context());
    expect(step).toMatchObject({ effects: deletes([ZONE]) });
    const last = record({
      terms: {
        ...record().terms,
        retry: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0 },
      },
    });
    const end = endAttempt(last, lost(), null, context());
    expect(end).toMatchObject({ record: { state: 'LOST' }, effects: deletes([ZONE]) });
  });
});
