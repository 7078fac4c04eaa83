// Event lines, and what becomes of them: a row of progress that no order and no repetition changes.
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  HEARTBEAT_MS,
  isStalled,
  mergeEvent,
  PROGRESS_EVENTS_MAX,
  readProgress,
  SEEN_RANGES_MAX,
  type TaskProgress,
} from '#shared/lifecycle/progress.ts';
import {
  EVENT_KINDS,
  isGenuine,
  readTaskEvent,
  signEvent,
  type TaskEvent,
  taskSequence,
} from '#shared/lifecycle/task-event.ts';

const KEY = '0f'.repeat(32);

const event = (change: Partial<TaskEvent> = {}): TaskEvent => ({
  runId: 'r1',
  attempt: 1,
  task: 0,
  seq: 0,
  kind: 'progress',
  atMs: 1_000,
  data: {},
  ...change,
});

const merged = (events: readonly TaskEvent[]): TaskProgress | null =>
  events.reduce<TaskProgress | null>((row, one) => mergeEvent(row, one) ?? row, null);

describe('signatures', () => {
  test('C58: a line is signed by HMAC-SHA256 over the payload as it is printed', () => {
    const { payload, hmac } = signEvent(KEY, event());
    const right = createHmac('sha256', Buffer.alloc(32, 0x0f)).update(payload).digest('hex');
    expect(hmac).toBe(right);
    expect(readTaskEvent(payload)).toEqual(event());
  });

  test('C125: one flipped bit of payload, signature or key is noticed', () => {
    const signed = signEvent(KEY, event());
    expect(isGenuine(KEY, signed)).toBe(true);
    const payload = signed.payload.replace('"seq":0', '"seq":1');
    expect(isGenuine(KEY, { ...signed, payload })).toBe(false);
    const last = signed.hmac.at(-1) === '0' ? '1' : '0';
    expect(isGenuine(KEY, { ...signed, hmac: signed.hmac.slice(0, -1) + last })).toBe(false);
    expect(isGenuine(KEY, { ...signed, hmac: '' })).toBe(false);
    expect(isGenuine(`1${KEY.slice(1)}`, signed)).toBe(false);
  });

  test('C101: numbers of a task lie in a range of their own', () => {
    expect(taskSequence(0, 0)).toBe(0);
    expect(taskSequence(1, 0)).toBe(1_000_000);
    expect(taskSequence(9_999, 999_999)).toBeLessThan(taskSequence(10_000, 0));
  });

  test.each([
    ['no JSON', '{'],
    ['no object', 'null'],
    ['another kind', JSON.stringify({ ...event(), kind: 'deleted' })],
    ['a number of another task', JSON.stringify(event({ task: 1, seq: 7 }))],
    ['a fraction', JSON.stringify(event({ seq: 0.5 }))],
    ['a negative time', JSON.stringify(event({ atMs: -1 }))],
    ['a run id that is a path', JSON.stringify(event({ runId: '../../x' }))],
    ['attempt 0', JSON.stringify(event({ attempt: 0 }))],
    ['data that is a list', JSON.stringify({ ...event(), data: [] })],
  ])('what is no event is told: %s', (_name, payload) => {
    expect(readTaskEvent(payload)).toBeNull();
  });
});

const anyEvents = fc
  .uniqueArray(
    fc.record({
      seq: fc.integer({ min: 0, max: 300 }),
      kind: fc.constantFrom(...EVENT_KINDS),
      atMs: fc.integer({ min: 0, max: 1_000_000 }),
    }),
    { selector: ({ seq }) => seq, maxLength: 120 },
  )
  .map((all) => all.map((one) => event({ ...one, data: { n: one.seq } })));

describe('merging', () => {
  test('C126, C127: any order and any repetition of the same events gives the same row', () => {
    const orders = anyEvents.chain((events) =>
      fc.tuple(
        fc.constant(events),
        fc.shuffledSubarray(events, { minLength: events.length }),
        fc.shuffledSubarray(events),
      ),
    );
    fc.assert(
      fc.property(orders, ([events, shuffled, again]) => {
        expect(merged([...shuffled, ...again])).toEqual(merged(events));
      }),
      { seed: 42, numRuns: 300 },
    );
  });

  test('C126: an event that is in the row already changes nothing', () => {
    const row = merged([event({ seq: 3 }), event({ seq: 4 })]);
    expect(mergeEvent(row, event({ seq: 3, data: { other: true } }))).toBeNull();
    expect(row?.seen).toEqual([[3, 4]]);
  });

  test('the newest events stay, heartbeats are told by their time alone', () => {
    const many = Array.from({ length: 60 }, (_, seq) => event({ seq, atMs: seq }));
    const beats = [event({ seq: 60, kind: 'heartbeat', atMs: 99 })];
    const row = merged([...beats, ...many]);
    expect(row?.events.map(({ seq }) => seq)).toEqual(
      Array.from({ length: PROGRESS_EVENTS_MAX }, (_, index) => index + 10),
    );
    expect(row).toMatchObject({ lastMs: 99, seen: [[0, 60]] });
  });

  test('the phase is that of the newest event that began one, however late the others come', () => {
    const ended = event({ seq: 9, kind: 'ended' });
    expect(merged([ended, event({ seq: 1, kind: 'running' })])?.phase).toBe('ended');
    expect(merged([event({ seq: 1, kind: 'running' }), event({ seq: 2 })])?.phase).toBe('running');
    expect(merged([event({ seq: 2 })])?.phase).toBeNull();
  });

  test('a row stays small, however many events are lost', () => {
    const sparse = Array.from({ length: 1_000 }, (_, index) => event({ seq: index * 2 }));
    const row = merged(sparse);
    expect(row?.seen).toHaveLength(SEEN_RANGES_MAX);
    expect(row?.seen.at(-1)).toEqual([1_998, 1_998]);
  });

  test('a row is read back as it was written, and one of another version not at all', () => {
    const row = merged([event()]);
    const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    expect(readProgress(bytes(row))).toEqual(row);
    expect(readProgress(bytes({ ...row, schema: 2 }))).toBeNull();
    expect(readProgress(new TextEncoder().encode('{'))).toBeNull();
  });
});

describe('C62: without a word for three heartbeats a task is called stalled', () => {
  const running = merged([event({ kind: 'running', atMs: 0 })]) as TaskProgress;

  test.each([
    [3 * HEARTBEAT_MS - 1, false],
    [3 * HEARTBEAT_MS, true],
  ])('%i ms after the last word: %s', (nowMs, stalled) => {
    expect(isStalled(running, nowMs)).toBe(stalled);
  });

  test('one that has ended, or has not begun, is not', () => {
    const ended = merged([event({ kind: 'ended', atMs: 0 })]) as TaskProgress;
    expect(isStalled(ended, 10 * HEARTBEAT_MS)).toBe(false);
    expect(isStalled({ ...running, phase: null }, 10 * HEARTBEAT_MS)).toBe(false);
  });
});
