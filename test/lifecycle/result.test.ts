import { describe, expect, test } from 'vitest';
import type { MachineFacts, RunRecord } from '#shared/lifecycle/record.ts';
import { buildResult } from '#shared/lifecycle/result.ts';
import { attempt, intent, NOW_MS, record } from '#test/lifecycle/fixtures.ts';

const SETTINGS = { project: 'p', fullLog: 'logging' } as const;
const T = NOW_MS / 1000;

const facts = (change: Partial<MachineFacts> = {}): MachineFacts => ({
  bootEpoch: T + 20,
  pullEndEpoch: T + 32.5,
  execStartEpoch: T + 33,
  endEpoch: T + 93,
  imageDigest: 'r@sha256:aa',
  peakMemoryBytes: 5,
  gpuCount: 2,
  logTail: 'last line',
  outputs: [],
  ...change,
});

const end = (change: object = {}) => ({
  status: 'SUCCEEDED' as const,
  cause: 'exit' as const,
  step: 'run' as const,
  exitCode: 0,
  detail: 'ok',
  atMs: NOW_MS + 95_000,
  ...change,
});

function ended(change: Partial<RunRecord> = {}, machine: MachineFacts | null = facts()) {
  const last = attempt({ facts: machine, end: end(), startedMs: NOW_MS + 1500 });
  return record({
    state: 'SUCCEEDED',
    end: end(),
    attempts: [last],
    history: [
      { state: 'ACCEPTED', attempt: 0, atMs: NOW_MS },
      { state: 'PROVISIONING', attempt: 1, atMs: NOW_MS + 3000 },
    ],
    ...change,
  });
}

describe('the result', () => {
  test('A115, B78: phases and seconds by hand calculation', () => {
    const result = buildResult(ended(), SETTINGS);
    expect(result.seconds).toEqual({
      queue: 1.5, // accepted at 0, first attempt at 1.5
      provision: 18.5, // 1.5 to the boot at 20
      boot: 17, // its last part: accepted by the platform at 3, boot at 20
      pull: 12.5, // boot at 20 to 32.5
      execute: 60, // 33 to 93
      total: 95,
    });
    expect(result.phases).toEqual({
      acceptedAt: '2026-12-01T12:00:00.000Z',
      placedAt: '2026-12-01T12:00:03.000Z',
      bootedAt: '2026-12-01T12:00:20.000Z',
      pulledAt: '2026-12-01T12:00:32.500Z',
      startedAt: '2026-12-01T12:00:33.000Z',
      endedAt: '2026-12-01T12:01:35.000Z',
    });
  });

  test('B78: a boot of 8 min 53 s on a Spot GPU machine is stored with the run, by its phases', () => {
    // Ordered at 1.5 s; booted at 41.5 s; tools and image there 493 s later; the container starts then.
    const gpu = facts({
      bootEpoch: T + 41.5,
      pullEndEpoch: T + 534.5,
      execStartEpoch: T + 535,
      endEpoch: T + 600,
    });
    const spot = { ...intent().candidate, machineType: 'n1-standard-4', provisioningModel: 'SPOT' };
    const last = attempt({
      facts: gpu,
      end: end(),
      startedMs: NOW_MS + 1500,
      intents: [intent({ candidate: spot as ReturnType<typeof intent>['candidate'] })],
    });
    const result = buildResult(ended({ attempts: [last] }), SETTINGS);
    expect(result.seconds).toMatchObject({ provision: 40, pull: 493, execute: 65 });
    expect(result.attempts[0]).toMatchObject({ provisioningModel: 'SPOT' });
  });

  test('A115: a machine clock that runs behind gives no negative time', () => {
    const behind = facts({ bootEpoch: T - 300, pullEndEpoch: T - 290, execStartEpoch: T - 289 });
    const result = buildResult(ended({}, behind), SETTINGS);
    expect(Object.values(result.seconds).every((one) => one === null || one >= 0)).toBe(true);
    expect(result.seconds.provision).toBe(0);
  });

  test('D27: phases that were not seen are null, not 0', () => {
    const early = facts({ pullEndEpoch: null, execStartEpoch: null, endEpoch: null });
    const result = buildResult(ended({}, early), SETTINGS);
    expect(result.seconds.pull).toBeNull();
    expect(result.seconds.execute).toBeNull();
    expect(result.phases.startedAt).toBeNull();
    expect(buildResult(ended({}, null), SETTINGS).peakMemoryBytes).toBeNull();
  });

  test('A116: a failure carries its status, cause, exit code and detail', () => {
    const failure = end({ status: 'FAILED', exitCode: 3, detail: 'boom' });
    const result = buildResult(ended({ state: 'FAILED', end: failure }), SETTINGS);
    expect(result).toMatchObject({ status: 'FAILED', cause: 'exit', exitCode: 3, detail: 'boom' });
    expect(result.tasks).toEqual({
      count: 1,
      succeeded: 0,
      failed: [{ index: 0, status: 'FAILED', cause: 'exit', exitCode: 3 }],
    });
  });

  test('D27: memory and GPUs as the machine measured them; null where it did not', () => {
    expect(buildResult(ended(), SETTINGS)).toMatchObject({ peakMemoryBytes: 5, gpuCount: 2 });
    const { gpuCount: _, ...older } = facts({ peakMemoryBytes: null });
    const result = buildResult(ended({}, older), SETTINGS);
    expect(result).toMatchObject({ peakMemoryBytes: null, gpuCount: null });
  });

  test('costs run from the boot to the decision and its delete, a minute at least', () => {
    // Boot at 20, decision at 95, 60 s for the delete: 135 s at 0.36 USD an hour = 0.0001 USD a second.
    expect(buildResult(ended(), SETTINGS).costUsd).toBeCloseTo(0.0135, 6);
    const unknown = intent({ candidate: { ...intent().candidate, usdPerHour: null } });
    const last = attempt({ facts: facts(), end: end(), intents: [unknown] });
    expect(buildResult(ended({ attempts: [last] }), SETTINGS).costUsd).toBeNull();
    const refused = attempt({ facts: null, end: end(), intents: [] });
    expect(buildResult(ended({ attempts: [refused] }), SETTINGS).costUsd).toBe(0);
  });

  test('a machine that is kept for a look says until when, and costs until then', () => {
    expect(buildResult(ended(), SETTINGS).attempts[0]?.keptUntil).toBeNull();
    // 600 s more than the 75 s + 60 s above, at 0.0001 USD a second.
    const kept = { zone: 'us-central1-a', untilMs: NOW_MS + 695_000 };
    const last = attempt({ facts: facts(), end: end(), kept });
    const result = buildResult(ended({ attempts: [last] }), SETTINGS);
    expect(result.attempts[0]?.keptUntil).toBe('2026-12-01T12:11:35.000Z');
    expect(result.costUsd).toBeCloseTo(0.0735, 6);
  });

  test('the full output is found by a filter of its log, run and attempt; without one there is none', () => {
    const two = attempt({ number: 2, facts: facts(), end: end() });
    const record = ended({ attempts: [attempt({ end: end({ status: 'LOST' }) }), two] });
    expect(buildResult(record, SETTINGS).log).toEqual({
      tail: 'last line',
      query:
        'logName="projects/p/logs/mayfly-container" AND labels.run_id="run-1" AND labels.attempt="2"',
    });
    expect(buildResult(record, { project: 'p', fullLog: 'none' }).log.query).toBeNull();
    expect(buildResult(ended({ attempts: [] }), SETTINGS).log.query).toBeNull();
  });

  test('D27: what is billed without a running container is said in seconds', () => {
    // 135 s are billed, 33 to 93 the container ran; of a first attempt that died before its container
    // started (40 to 50, decision at 60) all of 60 s + 20 s.
    const first = attempt({
      facts: facts({ bootEpoch: T + 40, execStartEpoch: null, endEpoch: T + 50 }),
      end: end({ status: 'LOST', atMs: NOW_MS + 60_000 }),
    });
    const second = attempt({ number: 2, facts: facts(), end: end() });
    const result = buildResult(ended({ attempts: [first, second] }), SETTINGS);
    expect(result.attempts.map((one) => [one.billedSeconds, one.executeSeconds])).toEqual([
      [80, 0],
      [135, 60],
    ]);
    expect(result.wasteSeconds).toBe(80 + 75);
    expect(result.costUsd).toBeCloseTo(0.0215, 6);
  });

  test('the trace of the request stands in the result, and only where there was one', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { terms } = ended();
    expect(buildResult(ended({ terms: { ...terms, traceparent } }), SETTINGS)).toMatchObject({
      traceparent,
    });
    expect(buildResult(ended(), SETTINGS)).not.toHaveProperty('traceparent');
  });

  test('whoever writes it writes the same bytes', () => {
    const one = JSON.stringify(buildResult(ended(), SETTINGS));
    const other = JSON.stringify(buildResult(ended({ writer: 'another' }), SETTINGS));
    expect(other).toBe(one);
  });
});
