import { expect, test } from 'vitest';
import { elapsed, lineOf, stepLine, stepsOf } from '#scripts/mayfly/progress.ts';
import type { Attempt, Place, RunRecord } from '#shared/lifecycle/record.ts';

const START = Date.UTC(2026, 11, 1, 12, 0, 0);

const attempt = (fields: Partial<Attempt> = {}): Attempt => ({
  number: 1,
  nonce: '0'.repeat(32),
  instance: 'mayfly-big-0123456789ab-1',
  startedMs: START,
  walk: 1,
  walkFrom: 0,
  intents: [],
  intentCount: 0,
  claim: null,
  runningMs: null,
  order: null,
  facts: null,
  end: null,
  ...fields,
});

const place = (zone: string, atMs: number): Place => ({
  attempt: 1,
  zone,
  machineType: 'a3-highgpu-8g',
  provisioningModel: 'STANDARD',
  code: 'ZONE_RESOURCE_POOL_EXHAUSTED',
  message: 'The zone does not have enough resources',
  verdict: 'next-zone',
  cause: 'stock-out',
  mayPass: true,
  called: true,
  tries: 1,
  atMs,
});

const record = (fields: Partial<RunRecord> = {}): RunRecord => ({
  schema: 1,
  runId: 'big',
  runtime: 'gce',
  state: 'WAITING',
  writer: 'w',
  acceptedMs: START,
  changedMs: START,
  dueMs: START + 60_000,
  terms: {
    retry: { preempted: 3, infrastructure: 2, outOfMemory: 1, failed: 0 },
    ttlSeconds: 7200,
    waitForCapacitySeconds: 3600,
    keepOnFailureSeconds: 0,
    budgetUsd: null,
    labels: {},
    annotations: {},
  },
  used: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0, abandoned: 0 },
  attempts: [attempt()],
  places: [],
  placesCount: 0,
  cancel: null,
  end: null,
  history: [
    { state: 'ACCEPTED', attempt: 1, atMs: START },
    { state: 'PLACING', attempt: 1, atMs: START + 500 },
    { state: 'WAITING', attempt: 1, atMs: START + 4000 },
  ],
  ...fields,
});

test('P122: without capacity the line says phase, what was tried with codes, next try and end of waiting', () => {
  const places = [place('us-east4-b', START + 1000), place('us-east5-a', START + 2000)];
  const stocked = record({ places, placesCount: 2 });
  const line = lineOf(stocked, START + 34_000);
  expect(line).toBe(
    'WAITING 30.0 s · tried 2: a3-highgpu-8g us-east4-b ZONE_RESOURCE_POOL_EXHAUSTED, ' +
      'a3-highgpu-8g us-east5-a ZONE_RESOURCE_POOL_EXHAUSTED · next try in 26.0 s at the earliest · ' +
      'waits until 2026-12-01T13:00:00Z · 34.0 s in all',
  );
  expect(stepsOf(stocked).map((step) => step.text)).toEqual([
    'accepted     the request is stored',
    'placing      looking for a place',
    'no machine   a3-highgpu-8g (STANDARD) in us-east4-b: ZONE_RESOURCE_POOL_EXHAUSTED',
    'no machine   a3-highgpu-8g (STANDARD) in us-east5-a: ZONE_RESOURCE_POOL_EXHAUSTED',
    expect.stringMatching(
      /^waiting .*next try at 2026-12-01T12:01:00Z at the earliest · waits until 2026-12-01T13:00:00Z$/,
    ),
  ]);
});

test('many places tried are counted in full and shown by the last ones', () => {
  const places = Array.from({ length: 9 }, (_, index) => place(`zone-${index}`, START + index));
  const line = lineOf(record({ places, placesCount: 9 }), START + 5000);
  expect(line).toContain('tried 9: …, a3-highgpu-8g zone-5 ');
  expect(line).not.toContain('zone-4 ');
});

test('an attempt that another one follows tells why it ended', () => {
  const detail = 'the image cannot be pulled: denied\nmore of it';
  const end = { status: 'FAILED', cause: 'step-failed', step: 'pull', exitCode: null } as const;
  const failed = attempt({ end: { ...end, detail, atMs: START + 3000 } });
  const texts = (run: RunRecord) => stepsOf(run).map(({ text }) => text);
  const told =
    'failed       attempt 1: step-failed at step pull: the image cannot be pulled: denied';
  expect(texts(record({ attempts: [failed] }))).toEqual([
    ...['accepted     the request is stored', 'placing      looking for a place', told],
    expect.stringMatching(/^waiting /),
  ]);
  const second = attempt({ number: 2, end: { ...end, detail, atMs: START + 9000 } });
  const over = record({ attempts: [failed, second], end: { ...end, detail, atMs: START + 9000 } });
  expect(texts(over).filter((text) => text.includes('step-failed at'))).toEqual([told]);
});

test('times of a run of days leave the columns as they are', () => {
  const step = (atMs: number) => stepLine(record(), { key: '', atMs: START + atMs, text: 'x' });
  const long = (7 * 24 * 60 + 59) * 60_000;
  for (const ms of [1000, 61_000, 11 * 60_000, 7_800_000, long]) {
    expect(step(ms).indexOf('  x')).toBe(12);
  }
});

test('a step keeps its key while the record grows, so that it is shown once', () => {
  const before = stepsOf(record());
  const grown = record({ places: [place('us-east4-b', START + 1000)], placesCount: 1 });
  const keys = stepsOf(grown).map((step) => step.key);
  expect(new Set(keys).size).toBe(keys.length);
  for (const step of before) expect(keys).toContain(step.key);
});

test.each([
  [0, '0.0 s'],
  [59_999, '59.9 s'],
  [60_000, '1 min 00 s'],
  [3_599_999, '59 min 59 s'],
  [7_800_000, '2 h 10 min'],
])('%d ms read as %s', (milliseconds, text) => {
  expect(elapsed(milliseconds)).toBe(text);
});
