// `mayfly watch` while nobody holds the run's claim yet: on a clock that jumps, against the local cloud.
import { describe, expect, test } from 'vitest';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { BootWatch, describeBootFailure } from '#scripts/mayfly/boot-watch.ts';
import { followRun } from '#scripts/mayfly/follow.ts';
import type { Clock } from '#shared/cloud/clock.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { claimObject } from '#shared/plan/objects.ts';
import { attempt, INSTANCE, NOW_MS, record } from '#test/lifecycle/fixtures.ts';
import { TestWorld } from '#test/local-cloud/fixtures.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import {
  BUCKET,
  type Call,
  environmentOf,
  makeMachine,
  PROJECT,
  put,
  putEnded,
  putRecord,
  RUN,
  say,
  ZONE,
} from '#test/scripts/mayfly/stored-run.ts';

const HOLDER = { by: 'machine', instanceId: '1', zone: ZONE, bootId: 'b' };
const log = (lines: number) =>
  Array.from({ length: lines }, (_, index) => `line ${index + 1}`).join('\n');

/** A world whose clock jumps with each sleep; `then` may change it between two looks. */
function opened(then: (nowMs: number, call: Call) => void = () => {}) {
  const world = new TestWorld({ storage: { objectWriteGapMs: 0 } });
  world.nowMs = NOW_MS;
  const call: Call = (method, params = {}, body) => world.call(method, params, body);
  const clock: Clock = {
    nowMs: () => world.nowMs,
    sleep: async (milliseconds) => {
      world.pass(milliseconds);
      then(world.nowMs, call);
    },
  };
  const cloud = inProcessCloud({ world: world.world, nowMs: clock.nowMs });
  const compute = createCompute({ project: PROJECT, endpoint: null, transport: cloud.transport });
  const notes: string[] = [];
  const deps = {
    clock,
    compute,
    store: cloud.store(BUCKET),
    note: (line: string) => notes.push(line),
    move: () => {},
    interruption: new AbortController().signal,
  };
  const asked = () =>
    world.world.calls
      .entries()
      .filter(({ method }) => method === 'compute.instances.getGuestAttributes');
  return { world, call, deps, asked };
}

const TARGET = { runId: RUN, messageId: null, foreignResult: false, pollMs: 2000 };
const END = {
  status: 'LOST',
  cause: 'machine-lost',
  step: null,
  exitCode: null,
  detail: '',
  atMs: NOW_MS + 300_000,
} as const;

describe('attributes are asked for', () => {
  test.each(['readable', 'refused'])(
    'B54: every 15 s at most while nobody holds the claim (%s), and the run’s own end comes',
    async (how) => {
      const { call, deps, asked, world } = opened((nowMs) => {
        if (nowMs === END.atMs) putEnded(call, END);
      });
      putRecord(call);
      say(call, makeMachine(call), { status: 'booting', boot_id: 'b1' });
      if (how === 'refused') {
        world.world.faults.plant({
          match: { method: 'compute.instances.getGuestAttributes' },
          effect: 'before',
          kind: 'status',
          status: 403,
          times: Number.POSITIVE_INFINITY,
        });
      }
      expect(await followRun(deps, TARGET)).toMatchObject({
        kind: 'ended',
        result: { status: 'LOST' },
      });
      const times = asked().map(({ atMs }) => atMs);
      // 300 s in polls of 2 s: one query at 0 s, then at the first poll 15 s after the last, 16 s.
      expect(times).toHaveLength(19);
      for (const [index, atMs] of times.entries()) {
        expect(atMs - (times[index - 1] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(
          15_000,
        );
      }
      expect(new Set(asked().map(({ status }) => status))).toEqual(
        new Set([how === 'refused' ? 403 : 200]),
      );
    },
  );

  const silent = [
    { name: 'it runs', change: { state: 'RUNNING' } },
    { name: 'it is not placed', change: { state: 'PLACING' } },
    { name: 'its claim is noted', change: { attempts: [attempt({ claim: HOLDER as never })] } },
    { name: 'a further try follows', change: { terms: retrying() } },
  ] as const;
  test.each(silent)('B55: not when $name', async ({ change }) => {
    const { call, deps, asked } = opened();
    say(call, makeMachine(call), { status: 'failed:tools' });
    expect(await new BootWatch(deps).look(record(change))).toBeNull();
    expect(asked()).toEqual([]);
  });
});

function retrying() {
  const { terms } = record();
  return { ...terms, retry: { ...terms.retry, failed: 1 } };
}

describe('a boot that failed', () => {
  test('B1: ends the wait at once, with its step', async () => {
    const { call, deps, world } = opened((nowMs) => {
      if (nowMs === NOW_MS + 6000) say(call, machine, { status: 'failed:tools', detail: 'no apt' });
    });
    putRecord(call);
    const machine = makeMachine(call);
    expect(await followRun(deps, TARGET)).toMatchObject({
      kind: 'boot-failed',
      failure: { attempt: 1, instance: INSTANCE, zone: ZONE, step: 'tools' },
    });
    expect(world.nowMs - NOW_MS).toBeLessThanOrEqual(16_000);
  });

  test('whoever holds the claim speaks by its marker: the wait goes on', async () => {
    const { call, deps } = opened();
    say(call, makeMachine(call), { status: 'failed:pull' });
    put(call, claimObject(RUN, 1), JSON.stringify(HOLDER));
    expect(await new BootWatch(deps).look(record())).toBeNull();
  });

  test('B57: of 40 lines the last 25 are shown', () => {
    const report = { status: 'failed:tools', detail: log(40), bootId: 'b1' };
    const failure = { attempt: 1, instance: INSTANCE, zone: ZONE, step: 'tools', report };
    const lines = describeBootFailure(RUN, failure);
    expect(lines.slice(0, 2)).toEqual([
      `${RUN}: its machine could not start: step tools failed`,
      `  machine   ${INSTANCE} in ${ZONE}, boot b1`,
    ]);
    expect(lines.slice(3)).toEqual(
      log(40)
        .split('\n')
        .slice(-25)
        .map((line) => `    ${line}`),
    );
  });

  test('B87: the command ends with 70, says step and log, and nothing of a serial console', async () => {
    await using cloud = await startLocalCloud({
      world: { compute: { provisioningMs: 0, stagingMs: 0 } },
    });
    putRecord(cloud.call);
    const attributes = { status: 'failed:credentials', detail: log(40), boot_id: 'b1' };
    say(cloud.call, makeMachine(cloud.call), attributes);
    const environment = environmentOf(cloud);
    const told = await callMayfly(['watch', RUN], { environment });
    expect(told.code).toBe(70);
    expect(told.stdout).toContain('its machine could not start: step credentials failed');
    expect(told.stdout).toContain('    line 40\n');
    expect(told.stdout).not.toContain('line 15\n');
    expect(told.stdout + told.stderr).not.toContain('serial');
    expect(told.stderr).toContain(`mayfly show ${RUN}`);
    const data = await callMayfly(['watch', RUN, '--json'], { environment });
    expect(JSON.parse(data.stdout)).toMatchObject({
      runId: RUN,
      status: 'FAILED',
      cause: 'step-failed',
      step: 'credentials',
      instance: INSTANCE,
      bootId: 'b1',
      ended: false,
    });
  });
});
