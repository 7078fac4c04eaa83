// Turns among calls that start executions: real objects in the local cloud's bucket, a clock that the
// test moves, and several instances of the function at once.
import { describe, expect, test } from 'vitest';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { createWorld } from '#scripts/local-cloud/world.ts';
import { type CoolDown, nextCoolDown, type Pace, Turns } from '#shared/runs/jobs/turns.ts';
import { START_MS } from '#test/local-cloud/fixtures.ts';

const REGION = 'europe-west1';
const PACE: Pace = {
  submitsPerMinute: 150,
  submitBurst: 10,
  backoffBaseSeconds: 1,
  backoffCapSeconds: 64,
};
const SLOT_MS = 400;
const LATER_MS = START_MS + 240_000;

function open() {
  const clock = { nowMs: START_MS };
  const cloud = inProcessCloud({ world: createWorld(), nowMs: () => clock.nowMs });
  return { clock, cloud, store: cloud.store('local-bucket') };
}

async function takeMany(
  instances: readonly Turns[],
  count: number,
  store: ReturnType<typeof open>['store'],
) {
  const taken = Array.from({ length: count }, (_, index) => {
    const turns = instances[index % instances.length] as Turns;
    return turns.take(store, REGION, START_MS, LATER_MS);
  });
  const turns = await Promise.all(taken);
  return turns.map(({ atMs }) => atMs - START_MS).sort((a, b) => a - b);
}

describe('the rate', () => {
  test('C200: after a quiet time ten at once, the eleventh waits', async () => {
    const { store } = open();
    const waits = await takeMany([new Turns(PACE)], 12, store);
    expect(waits.slice(0, 10)).toEqual(Array(10).fill(0));
    expect(waits[10]).toBe(SLOT_MS);
    expect(waits[11]).toBe(2 * SLOT_MS);
  });

  test.each([1, 2, 7])(
    'C78, C79: %i instances of the function share one rate: never more than 160 in a minute',
    async (count) => {
      const { store } = open();
      const instances = Array.from({ length: count }, () => new Turns(PACE));
      const waits = await takeMany(instances, 400, store);
      expect(new Set(waits.filter((wait) => wait > 0)).size).toBe(
        waits.filter((w) => w > 0).length,
      );
      for (const from of waits) {
        const within = waits.filter((wait) => wait >= from && wait < from + 60_000).length;
        expect(within).toBeLessThanOrEqual(160);
      }
      // None is left unused: the last of 400 waits (400 − 10) slots.
      expect(waits.at(-1)).toBe(390 * SLOT_MS);
    },
  );

  test('C77: with the defaults the platform’s 180 a minute are not reached in any minute of ten', async () => {
    const { store, clock } = open();
    const turns = new Turns(PACE);
    const calls: number[] = [];
    for (; calls.length < 1_500; ) {
      const turn = await turns.take(store, REGION, clock.nowMs, clock.nowMs + 600_000);
      clock.nowMs = turn.atMs;
      calls.push(turn.atMs);
    }
    for (const from of calls) {
      const within = calls.filter((at) => at >= from && at < from + 60_000).length;
      expect(within).toBeLessThan(180);
    }
  });

  test('a turn after the end of the delivery is not taken', async () => {
    const { cloud, store } = open();
    const turns = new Turns({ ...PACE, submitBurst: 1 });
    await turns.take(store, REGION, START_MS, LATER_MS);
    const later = await turns.take(store, REGION, START_MS, START_MS + 100);
    expect(later).toEqual({ kind: 'later', atMs: START_MS + SLOT_MS });
    const listed = await cloud.store('local-bucket').list('runs/turns/');
    expect(listed.objects).toHaveLength(1);
  });

  test('regions do not share theirs', async () => {
    const { store } = open();
    const turns = new Turns({ ...PACE, submitBurst: 1 });
    for (const region of ['a', 'b']) {
      const turn = await turns.take(store, region, START_MS, LATER_MS);
      expect(turn).toEqual({ kind: 'granted', atMs: START_MS });
    }
  });

  test('no object is written twice, so that none of them is hot', async () => {
    const { store, cloud } = open();
    const instances = [new Turns(PACE), new Turns(PACE)];
    await takeMany(instances, 100, store);
    const { objects } = await cloud.store('local-bucket').list('runs/turns/');
    expect(objects).toHaveLength(100);
  });
});

describe('the cool-down', () => {
  const steps = (waits: readonly (number | null)[], pace = PACE) => {
    let last: CoolDown | null = null;
    let nowMs = START_MS;
    return waits.map((retryAfterMs) => {
      last = nextCoolDown(last, retryAfterMs, pace, nowMs) as CoolDown;
      const waited = last.untilMs - nowMs;
      nowMs = last.untilMs;
      return waited;
    });
  };

  test('C82, C202: 1, 2, 4 … seconds from the base', () => {
    expect(steps([null, null, null, null])).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(steps([null, null], { ...PACE, backoffBaseSeconds: 3 })).toEqual([3_000, 6_000]);
  });

  test('C83: at least Retry-After', () => {
    expect(steps([30_000])).toEqual([30_000]);
  });

  test('C84, C203: never more than the cap', () => {
    expect(steps([500_000])).toEqual([64_000]);
    expect(steps(Array(8).fill(null)).at(-1)).toBe(64_000);
  });

  test('after a quiet time it begins anew', () => {
    const first = nextCoolDown(null, null, PACE, START_MS) as CoolDown;
    const second = nextCoolDown(first, null, PACE, first.untilMs) as CoolDown;
    expect(second.level).toBe(1);
    const quiet = nextCoolDown(second, null, PACE, second.untilMs + 60_000);
    expect(quiet).toMatchObject({ level: 0 });
  });

  test('answers to calls that were on their way together are one', () => {
    const first = nextCoolDown(null, null, PACE, START_MS) as CoolDown;
    expect(nextCoolDown(first, null, PACE, START_MS + 10)).toBeNull();
    expect(nextCoolDown(first, 20_000, PACE, START_MS + 10)).toMatchObject({
      level: 0,
      untilMs: START_MS + 20_010,
    });
  });

  test('C81: it holds for all instances: none calls before its end, and turns begin there', async () => {
    const { store } = open();
    const [one, other] = [new Turns(PACE), new Turns(PACE)];
    const untilMs = await one.coolDown(store, REGION, 30_000, START_MS);
    expect(untilMs).toBe(START_MS + 30_000);
    expect(await other.coolUntilMs(store, REGION, START_MS + 29_999)).toBe(untilMs);
    expect(await other.coolUntilMs(store, REGION, untilMs)).toBeNull();
    const turn = await other.take(store, REGION, START_MS, LATER_MS);
    expect(turn).toEqual({ kind: 'granted', atMs: untilMs });
  });

  test('one that a fast clock has noted lasts no longer than any other', async () => {
    const { store } = open();
    await new Turns(PACE).coolDown(store, REGION, null, START_MS + 300_000);
    const untilMs = await new Turns(PACE).coolUntilMs(store, REGION, START_MS);
    expect(untilMs).toBe(START_MS + 64_000);
  });
});
