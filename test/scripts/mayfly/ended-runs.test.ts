// The walk of the index of ended runs, and what list, show and report ask of a bucket with 100,000 runs.
import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { newestEnded, takeEnded, walkEnded } from '#scripts/mayfly/ended-runs.ts';
import type { NameRange, ObjectPage } from '#shared/cloud/storage.ts';
import { endedObject, recordObject, resultObject } from '#shared/plan/objects.ts';
import * as fixtures from '#test/lifecycle/fixtures.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, put } from '#test/scripts/mayfly/stored-run.ts';

/** The index of ended runs as the service lists it: upwards, 1,000 names a page, within a range. */
function indexOf(names: readonly string[]) {
  const asked = { calls: 0 };
  const list = async (
    prefix: string,
    token: string | null = null,
    range: NameRange = {},
  ): Promise<ObjectPage> => {
    asked.calls += 1;
    const from = token ?? range.start ?? '';
    const all = names.filter(
      (name) =>
        name.startsWith(prefix) &&
        (token === null ? name >= from : name > from) &&
        (range.end === undefined || name < range.end),
    );
    const page = all.slice(0, 1000);
    return {
      objects: page.map((name) => ({
        ...{ name, generation: '1', bytes: 0, updatedMs: 0, metadata: { of: name } },
      })),
      nextPageToken: all.length > 1000 ? (page.at(-1) ?? null) : null,
    };
  };
  return { list, asked };
}

const NOW = Date.UTC(2026, 11, 1, 18, 0, 0);
const DAY = 86_400_000;

test.each([
  { name: 'spread over one day', gapMs: 864, limit: 50, callsMax: 10 },
  { name: 'within a quarter of an hour', gapMs: 9, limit: 50, callsMax: 12 },
  { name: 'one a minute over 69 days', gapMs: 60_000, limit: 50, callsMax: 10 },
  { name: 'spread over one day, 1,000 shown', gapMs: 864, limit: 1000, callsMax: 20 },
])('100,000 ended runs $name: the newest, by few calls', async ({ gapMs, limit, callsMax }) => {
  const times = Array.from({ length: 100_000 }, (_, index) => NOW - index * gapMs);
  const names = times.map((ms, index) => endedObject(new Date(ms).toISOString(), `r${index}`));
  const { list: ask, asked } = indexOf(names.reverse());
  const range = { sinceMs: NOW - 7 * DAY, untilMs: NOW, limit };
  const { runs, more } = await newestEnded({ list: ask }, range);
  expect(runs.map(({ runId }) => runId)).toEqual(
    Array.from({ length: limit }, (_, index) => `r${index}`),
  );
  expect(more).toBe(true);
  expect(asked.calls).toBeLessThanOrEqual(callsMax);
});

test('all of a time, newest first, each once, both ends included; other times are not read', async () => {
  const sinceMs = NOW - 3 * DAY;
  const times = Array.from({ length: 9000 }, (_, index) => NOW + 60_000 - index * 30_000);
  const names = times.map((ms, index) => endedObject(new Date(ms).toISOString(), `r-${index}`));
  const wanted = times.flatMap((ms, index) => (ms >= sinceMs && ms <= NOW ? [`r-${index}`] : []));
  expect(wanted).toHaveLength(8641);
  const { list: ask, asked } = indexOf(names.reverse());
  const found: string[] = [];
  for await (const { runs, cut } of walkEnded({ list: ask }, { sinceMs, untilMs: NOW })) {
    expect(cut).toBe(false);
    found.push(...runs.map(({ runId }) => runId));
  }
  expect(found).toEqual(wanted);
  expect(asked.calls).toBeLessThanOrEqual(40);
});

test.each([
  // 8,641 names: at most a page more for each of the parts.
  { name: 'days are listed in parts side by side', days: 3, gapMs: 30_000, count: 8641, calls: 12 },
  { name: 'a short time is one list', days: 0.5, gapMs: 50_000, count: 865, calls: 1 },
])(
  '$name: each run once, both ends included, with its metadata',
  async ({ days, gapMs, count, calls }) => {
    const sinceMs = NOW - days * DAY;
    const names = Array.from({ length: count + 4 }, (_, index) => {
      const endedAt = new Date(NOW + 2 * gapMs - index * gapMs).toISOString();
      return endedObject(endedAt, `r-${index - 2}`);
    });
    const { list: ask, asked } = indexOf(names.reverse());
    const found: string[] = [];
    const range = { sinceMs, untilMs: NOW };
    const { cut } = await takeEnded({ list: ask }, range, async (runs) => {
      for (const { endedAt, runId, metadata } of runs) {
        expect(metadata).toEqual({ of: endedObject(endedAt, runId) });
        found.push(runId);
      }
    });
    expect(cut).toBe(false);
    const wanted = Array.from({ length: count }, (_, index) => `r-${index}`);
    expect(found.toSorted()).toEqual(wanted.toSorted());
    expect(asked.calls).toBeLessThanOrEqual(calls);
  },
);

test('more runs in a second than a page holds are all read', async () => {
  const names = Array.from({ length: 2500 }, (_, index) =>
    endedObject(new Date(NOW - 500).toISOString(), `r${String(index).padStart(4, '0')}`),
  );
  const { list: ask } = indexOf(names);
  const range = { sinceMs: NOW - DAY, untilMs: NOW, limit: 5000 };
  expect((await newestEnded({ list: ask }, range)).runs).toHaveLength(2500);
});

test('calls are bounded, and that not all was read is said', async () => {
  let calls = 0;
  const list = async (): Promise<ObjectPage> => {
    calls += 1;
    return { objects: [], nextPageToken: 'again' };
  };
  const range = { sinceMs: NOW - DAY, untilMs: NOW };
  let cut = false;
  for await (const span of walkEnded({ list }, range)) cut ||= span.cut;
  expect(cut).toBe(true);
  expect(calls).toBe(1000);
  expect((await newestEnded({ list }, { ...range, limit: 5 })).more).toBe(true);
  calls = 0;
  expect(await takeEnded({ list }, range, async () => {})).toEqual({ cut: true });
  expect(calls).toBe(1000);
});

test('an index with nothing in the time asked for costs few calls', async () => {
  const { list: ask, asked } = indexOf(['runs/ended/2020-01-01/2020-01-01T00:00:00.000Z-x']);
  const range = { sinceMs: NOW - 30 * DAY, untilMs: NOW, limit: 50 };
  expect(await newestEnded({ list: ask }, range)).toEqual({ runs: [], more: false });
  expect(asked.calls).toBeLessThanOrEqual(8);
});

const RUNS = 100_000;
const GAP_MS = 864;

/** Numbers: what the verb may ask at most, whatever the bucket holds. */
test('with 100,000 ended runs in the bucket, list, show and report ask for what they show', {
  timeout: 240_000,
}, async () => {
  const nowMs = Date.now();
  await using cloud = await startLocalCloud({
    world: { storage: { objectWriteGapMs: 0 } },
    nowMs: () => nowMs,
  });
  for (let index = 0; index < RUNS; index += 1) {
    put(
      cloud.call,
      endedObject(new Date(nowMs - index * GAP_MS).toISOString(), `run-${index}`),
      '',
    );
  }
  put(cloud.call, recordObject('run-5'), JSON.stringify(fixtures.record({ runId: 'run-5' })));
  const result = { runId: 'run-5', status: 'SUCCEEDED', cause: 'exit' };
  put(cloud.call, resultObject('run-5'), JSON.stringify(result));
  const count = (method: string) => cloud.world.calls.count({ method });
  const asked = async (...words: string[]) => {
    const before = [count('storage.objects.list'), count('storage.objects.get')];
    const { code, stdout } = await callMayfly([...words, '--json'], {
      environment: environmentOf(cloud),
    });
    expect(code).toBe(0);
    const [lists = 0, gets = 0] = before;
    return {
      data: JSON.parse(stdout),
      lists: count('storage.objects.list') - lists,
      gets: count('storage.objects.get') - gets,
    };
  };
  const listed = await asked('list', '--limit', '3');
  const ids = listed.data.ended.map(({ runId }: { runId: string }) => runId);
  expect(ids).toEqual(['run-0', 'run-1', 'run-2']);
  expect(listed.data.more).toBe(true);
  // One for active runs; a result each.
  expect(listed.lists).toBeLessThanOrEqual(8);
  expect(listed.gets).toBe(3);
  const shown = await asked('show', 'run-5');
  expect(shown.data.result.status).toBe('SUCCEEDED');
  // Rejections of that id alone; record and result.
  expect(shown.lists).toBe(1);
  expect(shown.gets).toBeLessThanOrEqual(3);
  const since = new Date(nowMs - 600_000).toISOString();
  const report = await asked('report', '--since', since);
  // 600 s / 0.864 s = 694 and the one of now.
  expect(report.data.runs + report.data.unread).toBe(695);
  expect(report.lists).toBeLessThanOrEqual(2);
  expect(report.gets).toBe(695);
});
