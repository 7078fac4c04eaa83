// Cost and waste of ended runs: sums by hand, unknown never 0, and the verb on the local cloud.
import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { count, emptyTally, readCounted } from '#scripts/mayfly/report/tally.ts';
import { makeReport } from '#scripts/mayfly/report.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { endedMetadata } from '#shared/lifecycle/ended-entry.ts';
import { endedObject, resultObject } from '#shared/plan/objects.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, put } from '#test/scripts/mayfly/stored-run.ts';

const attempt = (
  costUsd: number | null,
  billedSeconds: number | null,
  executeSeconds: number | null,
) => ({
  ...{ costUsd, billedSeconds, executeSeconds },
});
const run = (change: object) => ({
  ...{ status: 'SUCCEEDED', cause: 'exit', labels: { team: 'a' }, costUsd: 0.2 },
  attempts: [attempt(0.2, 200, 150)],
  ...change,
});
const PREEMPTED = run({
  // 100 of 100 s and 50 of 200 s without a container: 0.1 + 0.05 USD.
  costUsd: 0.3,
  attempts: [attempt(0.1, 100, 0), attempt(0.2, 200, 150)],
});
const UNPRICED = run({
  ...{ status: 'FAILED', labels: {}, costUsd: null },
  attempts: [attempt(null, 60, 10)],
});
const REFUSED = run({
  ...{ status: 'NO_CAPACITY', cause: 'stock-out' },
  costUsd: 0,
  attempts: [attempt(0, 0, 0)],
});
const OLD = { status: 'FAILED', cause: 'exit', costUsd: 1, attempts: [{ costUsd: 1 }] };

test('sums of cost and waste; what is not known is counted apart', () => {
  const tally = emptyTally();
  for (const one of [run({}), PREEMPTED, UNPRICED, REFUSED, OLD]) {
    const read = readCounted(JSON.stringify(one));
    if (read === null) throw new Error('not read');
    count(tally, read);
  }
  expect(tally.total).toMatchObject({
    runs: 5,
    costUnknown: 1,
    wasteSeconds: 200,
    wasteUnknown: 2,
  });
  expect(tally.total.costUsd).toBeCloseTo(0.2 + 0.3 + 1, 9);
  expect(tally.total.wasteUsd).toBeCloseTo(0.05 + 0.15, 9);
  expect(Object.fromEntries([...tally.causes].map(([key, row]) => [key, row.runs]))).toEqual({
    ...{ 'SUCCEEDED exit': 2, 'FAILED exit': 2, 'NO_CAPACITY stock-out': 1 },
  });
  expect(Object.fromEntries([...tally.labels].map(([key, row]) => [key, row.runs]))).toEqual({
    ...{ 'team=a': 3, '(no label)': 2 },
  });
});

test('a container that ran for longer than was billed wastes nothing', () => {
  const tally = emptyTally();
  const read = readCounted(JSON.stringify(run({ attempts: [attempt(0.2, 60, 61)] })));
  if (read === null) throw new Error('not read');
  count(tally, read);
  expect(tally.total).toMatchObject({ wasteSeconds: 0, wasteUsd: 0 });
});

test('the verb: text, JSON, one table alone, and a result that is gone', async () => {
  await using cloud = await startLocalCloud({ world: { storage: { objectWriteGapMs: 0 } } });
  const nowMs = Date.now();
  const end = (runId: string, agoMs: number, result: object | null) => {
    put(cloud.call, endedObject(new Date(nowMs - agoMs).toISOString(), runId), '');
    if (result !== null) put(cloud.call, resultObject(runId), JSON.stringify(result));
  };
  end('one', 60_000, run({}));
  end('two', 3_600_000, UNPRICED);
  end('gone', 3_600_000, null);
  end('long-ago', 40 * 86_400_000, run({}));
  const options = { environment: environmentOf(cloud) };
  const json = await callMayfly(['report', '--json'], options);
  expect(json.code).toBe(0);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ runs: 2, unread: 1, cut: false },
    total: { runs: 2, costUsd: 0.2, costUnknown: 1, wasteSeconds: 50, wasteUsd: 0.05 },
    causes: {
      'SUCCEEDED exit': { runs: 1 },
      'FAILED exit': { runs: 1, costUsd: 0, costUnknown: 1 },
    },
    labels: { 'team=a': { runs: 1 }, '(no label)': { runs: 1 } },
  });
  const text = await callMayfly(['report', '--since', '2h', '--by', 'cause'], options);
  expect(text.stdout).toMatch(/FAILED exit .*cost of 1, waste of 1/);
  expect(text.stdout).not.toMatch(/team=a/);
  expect(text.stdout).toMatch(/1 ended runs have no readable result/);
  const instant = ['report', '--json', '--since', new Date(nowMs - 120_000).toISOString()];
  expect(JSON.parse((await callMayfly(instant, options)).stdout)).toMatchObject({ runs: 1 });
  expect((await callMayfly(['report', '--by', 'zone'], options)).code).toBe(2);
  expect((await callMayfly(['report', '--since', '401d'], options)).code).toBe(2);
  expect((await callMayfly(['report', '--since', 'soon'], options)).code).toBe(2);
});

interface Stored {
  readonly runId: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Ended runs of the last second; a read of `refused` and its like fails. */
async function reportOf(runs: readonly Stored[], refused: (name: string) => boolean) {
  const nowMs = Date.UTC(2026, 11, 1, 12);
  const listed = runs
    .map(({ runId, metadata = {} }, index) => ({
      ...{ name: endedObject(new Date(nowMs - index - 1).toISOString(), runId), metadata },
      ...{ generation: '1', bytes: 0, updatedMs: 0 },
    }))
    .toReversed();
  const list = async () => ({ objects: listed, nextPageToken: null });
  const reads: string[] = [];
  const told: number[] = [];
  const read = async (name: string) => {
    const fields = { code: 'unavailable', method: 'storage.objects.get', status: 503 } as const;
    if (refused(name)) throw new CloudError({ ...fields, reason: '', message: 'busy' });
    reads.push(name);
    const bytes = Buffer.from(JSON.stringify(run({})));
    return { kind: 'found', bytes, generation: '1', updatedMs: 0 } as const;
  };
  const range = { sinceMs: nowMs - 1000, untilMs: nowMs };
  const report = await makeReport({ list, read }, range, (count) => told.push(count));
  return { report, reads, told };
}

const ids = (...runIds: string[]): Stored[] => runIds.map((runId) => ({ runId }));

test('a result that cannot be asked for is counted and hides no other; where none can be, that is the answer', async () => {
  const { report } = await reportOf(ids('a', 'b', 'c'), (name) => name === resultObject('b'));
  expect(report).toMatchObject({ unread: 1, tally: { total: { runs: 2, costUsd: 0.4 } } });
  await expect(reportOf(ids('a', 'b'), () => true)).rejects.toThrow('busy');
});

test('what the index tells is counted from there, and only what it does not tell is read', async () => {
  const runs = [
    ...[run({}), PREEMPTED, REFUSED].map((result, index) => ({
      ...{ runId: `told-${index}`, metadata: endedMetadata(result) },
    })),
    { runId: 'old' },
    { runId: 'torn', metadata: { counted: '{"status":' } },
  ];
  const { report, reads } = await reportOf(runs, () => false);
  expect(reads.toSorted()).toEqual([resultObject('old'), resultObject('torn')]);
  expect(report.unread).toBe(0);
  // Two results read: 0.2 USD and 50 s each.
  expect(report.tally.total).toMatchObject({ runs: 5, costUnknown: 0, wasteSeconds: 300 });
  expect(report.tally.total.costUsd).toBeCloseTo(0.2 + 0.3 + 0 + 0.4, 9);
  expect(report.tally.causes.get('NO_CAPACITY stock-out')?.runs).toBe(1);
});

test('every hundred runs are told while they are read', async () => {
  const runs = Array.from({ length: 250 }, (_, index) => ({ runId: `r${index}` }));
  expect((await reportOf(runs, () => false)).told).toEqual([100, 200]);
});
