// Which runs a pass looks at, and how fast it says that something is due.
import { describe, expect, test } from 'vitest';
import type { ListedMachine, Machines } from '#functions/sweep/listing.ts';
import { LOOKS_PER_SECOND, looksPerPass, pacedPublisher } from '#functions/sweep/looks.ts';
import { keepNote, NOTES_MAX } from '#functions/sweep/report.ts';
import { takeTurns } from '#functions/sweep/turns.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import { runHash } from '#shared/plan/names.ts';

const NOW_MS = Date.UTC(2026, 11, 1, 12);
const PERIOD_MS = 120_000;
const MINUTE_MS = 60_000;

/** The healthy machine of a run: running for an hour, its deadline in an hour. */
const machineOf = (runId: string, change: Partial<ListedMachine> = {}): ListedMachine => ({
  name: `mayfly-${runId}`,
  id: '1',
  zone: 'us-central1-a',
  status: 'RUNNING',
  machineType: 'e2-standard-4',
  provisioningModel: 'STANDARD',
  createdMs: NOW_MS - 61 * MINUTE_MS,
  lastStartMs: NOW_MS - 60 * MINUTE_MS,
  deadlineMs: NOW_MS + 60 * MINUTE_MS,
  ours: true,
  runHash: runHash(runId),
  sibling: null,
  turn: 'open',
  ...change,
});

const listed = (machines: readonly ListedMachine[]): Machines => ({
  all: machines,
  byRun: new Map(machines.map((machine) => [machine.runHash, machine])),
  unknownZones: new Set(),
});

const turns = (
  runIds: readonly string[],
  machines: readonly ListedMachine[],
  healthyMax: number,
  nowMs = NOW_MS,
) => takeTurns(runIds, listed(machines), { nowMs, periodMs: PERIOD_MS, healthyMax });

describe('the turns of healthy runs', () => {
  const runIds = Array.from({ length: 100 }, (_, index) => `run-${index}`);

  test('as many as a pass takes are all looked at in every pass', () => {
    const machines = runIds.map((runId) => machineOf(runId));
    expect(turns(runIds, machines, 100).toSorted()).toEqual(runIds.toSorted());
    expect(machines.every(({ turn }) => turn === 'open')).toBe(true);
  });

  test('more than that: each is looked at once in as many passes as there are groups', () => {
    const seen = new Map(runIds.map((runId) => [runId, 0]));
    for (let pass = 0; pass < 5; pass++) {
      const machines = runIds.map((runId) => machineOf(runId));
      const nowMs = NOW_MS + pass * PERIOD_MS;
      const far = machines.map((machine) => ({ ...machine, deadlineMs: nowMs + MINUTE_MS }));
      const looked = turns(runIds, far, 20, nowMs);
      // Groups by hash are even on the average.
      expect(looked.length).toBeLessThan(40);
      for (const runId of looked) seen.set(runId, (seen.get(runId) ?? 0) + 1);
      const left = far.filter(({ turn }) => turn === 'left');
      expect(left.length + looked.length).toBe(100);
    }
    expect([...seen.values()].every((count) => count === 1)).toBe(true);
  });

  const doubtful: [string, Partial<ListedMachine> | null][] = [
    ['no machine', null],
    ['a stopped machine', { status: 'TERMINATED' }],
    ['a machine on its way', { status: 'STAGING' }],
    ['a machine on its way out', { status: 'STOPPING' }],
    ['a start that is not known', { lastStartMs: null }],
    ['a deadline that is not known', { deadlineMs: null }],
    ['a deadline that is over', { deadlineMs: NOW_MS }],
    ['two machines', { sibling: machineOf('x') }],
    ['a boot that has just become late', { lastStartMs: NOW_MS - 10 * MINUTE_MS }],
    ['a boot that was late a moment ago', { lastStartMs: NOW_MS - 16 * MINUTE_MS }],
  ];
  test.each(doubtful)('a run with %s is looked at in every pass', (_name, change) => {
    const all = ['odd', ...runIds];
    const machines = runIds.map((runId) => machineOf(runId));
    // Healthy, its turn would not have come.
    expect(turns(all, [...machines, machineOf('odd')], 1)).not.toContain('odd');
    if (change !== null) machines.push(machineOf('odd', change));
    expect(turns(all, machines, 1)).toContain('odd');
  });

  test('a boot in its time is healthy', () => {
    const machines = runIds.map((runId) =>
      machineOf(runId, { lastStartMs: NOW_MS - 9 * MINUTE_MS }),
    );
    expect(turns(runIds, machines, 10).length).toBeLessThan(30);
  });

  test('each pass starts elsewhere', () => {
    const first = (nowMs: number) => turns(runIds, [], 1, nowMs)[0];
    const starts = [0, 1, 2, 3].map((pass) => first(NOW_MS + pass * PERIOD_MS));
    expect(new Set(starts).size).toBe(4);
    expect(turns([], [], 1)).toEqual([]);
  });
});

describe('the rate of looks', () => {
  /** Time that passes only when somebody sleeps. */
  class SleepClock implements Clock {
    now = NOW_MS;
    nowMs = () => this.now;
    sleep = async (milliseconds: number) => {
      this.now += milliseconds;
    };
  }
  const publishing = (looksMax: number) => {
    const clock = new SleepClock();
    const sentMs: number[] = [];
    const counts = { published: 0, left: 0 };
    const publish = async () => String(sentMs.push(clock.now));
    return { clock, sentMs, counts, paced: pacedPublisher({ publish }, clock, counts, looksMax) };
  };

  test('10,000 due runs: no second has more than twice the rate, and a pass ends within half a period', async () => {
    const { clock, sentMs, counts, paced } = publishing(looksPerPass(120));
    for (let index = 0; index < 10_000; index++) await paced.publish('t', '');
    expect(counts).toEqual({ published: 1200, left: 8800 });
    expect(sentMs).toHaveLength(1200);
    expect(clock.now - NOW_MS).toBeLessThanOrEqual(60_000);
    for (const [index, ms] of sentMs.entries()) {
      const until = sentMs.findIndex((other) => other >= ms + 1000);
      const count = (until === -1 ? sentMs.length : until) - index;
      expect(count).toBeLessThanOrEqual(2 * LOOKS_PER_SECOND);
    }
  });

  test('a handful goes at once, and again after a pause', async () => {
    const { clock, paced } = publishing(1000);
    for (let index = 0; index < LOOKS_PER_SECOND; index++) await paced.publish('t', '');
    expect(clock.now).toBe(NOW_MS);
    clock.now += 5000;
    for (let index = 0; index < LOOKS_PER_SECOND; index++) await paced.publish('t', '');
    expect(clock.now).toBe(NOW_MS + 5000);
  });
});

test('a list of the report is bounded, whatever there is to tell', () => {
  const list: number[] = [];
  for (let index = 0; index < 250; index++) keepNote(list, index);
  expect(list).toHaveLength(NOTES_MAX);
  expect(keepNote([], 1)).toBe(true);
  expect(keepNote(list, 1)).toBe(false);
});
