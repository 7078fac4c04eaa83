// `mayfly show` and its picture of a run's phases.
import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { pictureOfRecord, pictureOfResult } from '#scripts/mayfly/picture.ts';
import { readStoredResult } from '#scripts/mayfly/stored-result.ts';
import { activeObject, requestObject, resultObject } from '#shared/plan/objects.ts';
import * as fixtures from '#test/lifecycle/fixtures.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, put, putRecord, RUN } from '#test/scripts/mayfly/stored-run.ts';

const attempt = (number: number, change: object) => ({
  ...{ attempt: number, instance: `m-${number}`, zone: 'us-east1-b', machineType: 'n2-standard-8' },
  ...{ provisioningModel: 'SPOT', costUsd: 0.1, ...change },
});
const RESULT = {
  ...{ runId: RUN, status: 'SUCCEEDED', cause: 'exit', exitCode: 0, costUsd: 0.3 },
  seconds: { queue: 10, provision: 30, boot: 20, pull: 20, execute: 60, total: 200 },
  attempts: [
    attempt(1, {
      ...{ status: 'PREEMPTED', cause: 'preempted' },
      ...{ startedAt: '2026-12-01T12:00:00.000Z', endedAt: '2026-12-01T12:01:20.000Z' },
    }),
    attempt(2, { status: 'SUCCEEDED', cause: 'exit', costUsd: null }),
  ],
};
const read = (result: object) => readStoredResult('r', Buffer.from(JSON.stringify(result)));

test('phases as bars one after the other, what no phase holds as rest, attempts as rows', () => {
  // 40 characters for 200 s: 2, 6, 4, 12 and, for what is left, 16.
  expect(pictureOfResult(read(RESULT))).toEqual([
    `  queue        |${'##'.padEnd(40)}| 10.0 s`,
    `  provision    |${`  ${'#'.repeat(6)}`.padEnd(40)}| 30.0 s`,
    `  pull         |${`${' '.repeat(8)}####`.padEnd(40)}| 20.0 s`,
    `  execute      |${`${' '.repeat(12)}${'#'.repeat(12)}`.padEnd(40)}| 1 min 00 s`,
    `  rest         |${`${' '.repeat(24)}${'#'.repeat(16)}`}| 1 min 20 s`,
    '  attempt 1    PREEMPTED (preempted)     n2-standard-8 in us-east1-b  1 min 20 s  0.1000 USD',
    '  attempt 2    SUCCEEDED (exit)          n2-standard-8 in us-east1-b',
  ]);
});

test('what is unknown has no bar; a moment is seen; nothing known gives no picture', () => {
  const seconds = { queue: 0.1, provision: null, pull: null, execute: 1000, total: null };
  expect(pictureOfResult(read({ ...RESULT, seconds, attempts: [] }))).toEqual([]);
  const shown = pictureOfResult(
    read({ ...RESULT, seconds: { ...seconds, total: 1000.1 }, attempts: [] }),
  );
  expect(shown).toHaveLength(2);
  expect(shown[0]).toBe(`  queue        |${'#'.padEnd(40)}| 0.1 s`);
});

test('a run under way: time in each state up to now, never wider than the frame', () => {
  const start = fixtures.NOW_MS;
  const history = [
    { state: 'ACCEPTED' as const, attempt: 1, atMs: start },
    { state: 'PROVISIONING' as const, attempt: 1, atMs: start + 10_000 },
    { state: 'RUNNING' as const, attempt: 1, atMs: start + 40_000 },
  ];
  const lines = pictureOfRecord(fixtures.record({ history }), start + 40_001);
  expect(lines.map((line) => line.length > 0 && line.indexOf('| ', 17))).toEqual([56, 56, 56]);
  expect(lines[2]).toBe(`  running      |${'#'.padStart(40)}| 0.0 s`);
});

test('the verb shows it, in ASCII, for ended and living runs; --json has the result unchanged', async () => {
  await using cloud = await startLocalCloud();
  const options = { environment: environmentOf(cloud) };
  putRecord(cloud.call, { state: 'RUNNING' });
  put(cloud.call, activeObject(RUN), '');
  const living = await callMayfly(['show', RUN], options);
  expect(living.code).toBe(0);
  expect(living.stdout).toMatch(/^ {2}\w+ +\|[ #]{40}\| /m);
  put(cloud.call, resultObject(RUN), JSON.stringify(RESULT));
  const ended = await callMayfly(['show', RUN], options);
  expect(ended.stdout).toMatch(/^ {2}execute +\| +#{12} +\| 1 min 00 s$/m);
  expect(ended.stdout).not.toContain('\u001b');
  const json = JSON.parse((await callMayfly(['show', RUN, '--json'], options)).stdout);
  expect(json.result).toMatchObject(RESULT);
  expect(await callMayfly(['show', 'nobody'], options)).toMatchObject({ code: 4 });
});

test('nobody is shown a nonce, and a result that cannot be read is named', async () => {
  await using cloud = await startLocalCloud();
  const options = { environment: environmentOf(cloud) };
  const [one] = putRecord(cloud.call, { state: 'RUNNING' }).attempts;
  const shown = await callMayfly(['show', RUN, '--json'], options);
  expect(JSON.parse(shown.stdout).record.attempts[0].instance).toBe(one?.instance);
  expect(one?.nonce.length).toBeGreaterThan(10);
  expect(shown.stdout).not.toContain(one?.nonce);
  put(cloud.call, resultObject(RUN), 'no JSON');
  const broken = await callMayfly(['show', RUN], options);
  expect(broken).toMatchObject({ code: 3, stdout: '' });
  expect(broken.stderr).toContain(`${resultObject(RUN)} cannot be read as a result`);
});

const OUT = { path: '/out/a.txt', uri: 'gs://b/out/a.txt', bytes: 3 };
const EMPTY = 'nothing was written to /logs, so nothing to gs://b/logs/';

test.each([
  { name: 'a folder without an object', change: { outputs: [OUT] }, told: true },
  { name: 'a run that failed', change: { status: 'FAILED', outputs: [OUT] }, told: false },
  {
    name: 'a list that may be cut',
    change: { outputs: Array.from({ length: 1500 }, () => OUT) },
    told: false,
  },
])(
  'an output folder to which nothing was written is named by show and watch: $name',
  async ({ change, told }) => {
    await using cloud = await startLocalCloud();
    const options = { environment: environmentOf(cloud) };
    const result = { ...RESULT, runId: RUN, status: 'SUCCEEDED', cause: 'exit', exitCode: 0 };
    put(cloud.call, resultObject(RUN), JSON.stringify({ ...result, ...change }));
    const outputs = { '/out': 'gs://b/out/', '/logs': 'gs://b/logs/' };
    put(cloud.call, requestObject(RUN), JSON.stringify({ runId: RUN, image: 'alpine', outputs }));
    for (const verb of ['show', 'watch']) {
      const { stdout } = await callMayfly([verb, RUN], options);
      expect(stdout.includes(EMPTY), verb).toBe(told);
      expect(stdout, verb).not.toContain('written to /out');
    }
    expect((await callMayfly(['watch', RUN, '--json'], options)).stdout).not.toContain(
      'nothing was',
    );
  },
);
