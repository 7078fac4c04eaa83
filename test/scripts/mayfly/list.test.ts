// `mayfly list` on the local cloud: what it shows, and that what it asks follows what it shows.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { newestEnded } from '#scripts/mayfly/list/newest-ended.ts';
import type { NameRange, ObjectPage } from '#shared/cloud/storage.ts';
import {
  activeObject,
  deadObject,
  endedObject,
  rejectedObject,
  resultObject,
} from '#shared/plan/objects.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import { environmentOf, put, putRecord, RUN } from '#test/scripts/mayfly/stored-run.ts';

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await startLocalCloud({ world: { storage: { objectWriteGapMs: 0 } } });
});
afterEach(() => cloud[Symbol.asyncDispose]());

const list = (...flags: string[]) =>
  callMayfly(['list', ...flags], { environment: environmentOf(cloud) });

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
function end(runId: string, agoMs: number, status = 'SUCCEEDED'): void {
  put(cloud.call, endedObject(ago(agoMs), runId), '');
  const result = { runId, status, cause: 'exit', seconds: { total: 61 }, costUsd: 0.5 };
  put(cloud.call, resultObject(runId), JSON.stringify(result));
}

test('active runs, then ended ones, newest first, within the time asked for', async () => {
  putRecord(cloud.call, { state: 'RUNNING' });
  put(cloud.call, activeObject(RUN), '');
  end('old', 40 * 3_600_000, 'FAILED');
  end('new-a', 60_000);
  end('newer-b', 1000, 'FAILED');
  const { code, stdout } = await list('--json');
  expect(code).toBe(0);
  const data = JSON.parse(stdout);
  expect(data.active).toMatchObject([
    { runId: RUN, state: 'RUNNING', attempt: 1, place: 'e2-standard-4 us-central1-a' },
  ]);
  expect(data.ended).toMatchObject([
    { runId: 'newer-b', status: 'FAILED', seconds: 61, costUsd: 0.5 },
    { runId: 'new-a', status: 'SUCCEEDED', cause: 'exit' },
  ]);
  expect(data.more).toBe(false);
  const further = await list('--since', '3d');
  expect(further.stdout).toMatch(
    /^RUNNING .* run-1 .*\nFAILED .* newer-b .*exit {2}1 min 01 s {2}0\.5000 USD\nSUCCEEDED .* new-a .*\nFAILED .* old /,
  );
  const instant = await list('--since', ago(30_000), '--json');
  expect(JSON.parse(instant.stdout).ended).toMatchObject([{ runId: 'newer-b' }]);
});

test('the limit cuts, and the list says that there is more', async () => {
  for (let index = 0; index < 5; index++) end(`run-${index}`, 1000 * (index + 1));
  const json = JSON.parse((await list('--limit', '2', '--json')).stdout);
  expect(json.ended.map(({ runId }: { runId: string }) => runId)).toEqual(['run-0', 'run-1']);
  expect(json.more).toBe(true);
  expect((await list('--limit', '2')).stderr).toContain('there is more');
  expect((await list('--limit', '5')).stderr).not.toContain('there is more');
});

test('--dead: dead letters and refused requests with their reasons', async () => {
  put(cloud.call, deadObject('m-1'), JSON.stringify({ reason: 'the message is no JSON' }));
  const errors = [{ field: 'ttlSeconds', value: '1', rule: 'at least 600', accepted: '' }];
  const rejection = { runId: 'bad', status: 'REJECTED', cause: 'invalid', detail: '', errors };
  put(cloud.call, rejectedObject('bad', 'm-2'), JSON.stringify(rejection));
  const { dead } = JSON.parse((await list('--dead', '--json')).stdout);
  expect(dead).toHaveLength(2);
  expect(dead).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'dead', messageId: 'm-1', reason: 'the message is no JSON' }),
      expect.objectContaining({
        ...{ kind: 'rejected', runId: 'bad', messageId: 'm-2' },
        reason: 'invalid: ttlSeconds is 1: at least 600',
      }),
    ]),
  );
  const text = await list('--dead');
  expect(text.stdout).toMatch(/dead .* message m-1 .*the message is no JSON/);
});

test.each([
  { flags: ['--since', 'soon'] },
  { flags: ['--since', '2026-12-01T12:00:00'] },
  { flags: ['--limit', '0'] },
])('$flags ends with 2', async ({ flags }) => {
  expect(await list(...flags)).toMatchObject({ code: 2, stdout: '' });
});

test('nothing to show is said, with where to look', async () => {
  const ended = await list();
  expect(ended).toMatchObject({ code: 0, stdout: '' });
  expect(ended.stderr).toContain('--since 7d');
});

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
      objects: page.map((name) => ({ name, generation: '1', bytes: 0, updatedMs: 0 })),
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

test('an index with nothing in the time asked for costs few calls', async () => {
  const { list: ask, asked } = indexOf(['runs/ended/2020-01-01/2020-01-01T00:00:00.000Z-x']);
  const range = { sinceMs: NOW - 30 * DAY, untilMs: NOW, limit: 50 };
  expect(await newestEnded({ list: ask }, range)).toEqual({ runs: [], more: false });
  expect(asked.calls).toBeLessThanOrEqual(8);
});

test('the verb asks the store for what it shows alone, over HTTP too', async () => {
  for (let index = 0; index < 1500; index++) {
    put(cloud.call, endedObject(ago(1000 + index * 50), `run-${index}`), '');
  }
  const count = (method: string) => cloud.world.calls.count({ method });
  const before = count('storage.objects.get');
  const { ended } = JSON.parse((await list('--limit', '3', '--json')).stdout);
  expect(ended.map(({ runId }: { runId: string }) => runId)).toEqual(['run-0', 'run-1', 'run-2']);
  expect(count('storage.objects.list')).toBeLessThanOrEqual(6);
  expect(count('storage.objects.get') - before).toBeLessThanOrEqual(3);
});
