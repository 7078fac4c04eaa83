// `mayfly list` on the local cloud: what it shows, and that what it asks follows what it shows.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import type { DeadEntry } from '#scripts/mayfly/list/dead.ts';
import { newestObjects } from '#scripts/mayfly/list/newest-objects.ts';
import type { ObjectPage } from '#shared/cloud/storage.ts';
import {
  activeObject,
  deadObject,
  endedObject,
  recordObject,
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

test('an object that cannot be read has a row of its own and hides no other', async () => {
  put(cloud.call, activeObject('newer'), '');
  put(cloud.call, recordObject('newer'), JSON.stringify({ schema: 99, runId: 'newer' }));
  end('whole', 1000);
  end('cut', 2000);
  put(cloud.call, resultObject('cut'), '{"runId":"cut","stat');
  const rejection = { runId: 'bad', status: 'REJECTED', cause: 'invalid', detail: 'no image' };
  put(cloud.call, rejectedObject('bad', 'm-1'), JSON.stringify(rejection));
  put(cloud.call, rejectedObject('torn', 'm-2'), '{"runId":');
  put(cloud.call, rejectedObject(null, 'm-3'), '{"runId":null}');
  const json = JSON.parse((await list('--json')).stdout);
  expect(json.active).toMatchObject([
    { runId: 'newer', state: null, unreadable: expect.stringContaining('99') },
  ]);
  expect(json.ended).toMatchObject([
    { runId: 'whole', status: 'SUCCEEDED', unreadable: null },
    { runId: 'cut', status: null, unreadable: expect.stringContaining('cannot be read') },
  ]);
  const text = await list();
  expect(text).toMatchObject({ code: 0 });
  expect(text.stdout).toMatch(
    /^ACTIVE .* newer +cannot be read: .*\nSUCCEEDED .*\nENDED .* cut .*cannot be read: .*\n$/,
  );
  const dead = await list('--dead');
  expect(dead.code).toBe(0);
  expect(dead.stdout).toMatch(/rejected .* bad +invalid: no image\n/);
  expect(dead.stdout).toMatch(/rejected .* torn +cannot be read: /);
  expect(dead.stdout).toMatch(/rejected .* message m-3 +cannot be read: .*status/);
});

test('a run whose machines are not gone yet is shown once, as ended', async () => {
  putRecord(cloud.call, { state: 'SUCCEEDED' });
  put(cloud.call, activeObject(RUN), '');
  end(RUN, 1000);
  const { active, ended } = JSON.parse((await list('--json')).stdout);
  expect({ active, ended }).toMatchObject({ active: [], ended: [{ runId: RUN }] });
});

test('the list says where refused requests are', async () => {
  end('one', 1000);
  expect((await list()).stderr).toBe('refused requests and dead letters: mayfly list --dead\n');
  expect((await list('--json')).stderr).toBe('');
  expect((await list('--dead')).stderr).toContain('--since 7d');
});

test('what others wrote neither moves the cursor nor looks like a row', async () => {
  const detail = 'x\u001b[2K\u009b1A\u202e\nSUCCEEDED  fake';
  const rejection = { runId: 'bad', status: 'REJECTED', cause: 'invalid', detail };
  put(cloud.call, rejectedObject('bad', 'm-1'), JSON.stringify(rejection));
  const shown = 'invalid: x\\u001b[2K\\u009b1A\\u202e\\nSUCCEEDED  fake\n';
  expect((await list('--dead')).stdout.endsWith(shown)).toBe(true);
  const json = await list('--dead', '--json');
  expect(json.stdout).not.toMatch(/[\u009b\u202e]/);
  expect(JSON.parse(json.stdout).dead[0].reason).toBe(`invalid: ${detail}`);
});

test.each([
  { flags: ['--since', 'soon'] },
  { flags: ['--since', '2026-12-01T12:00:00'] },
  { flags: ['--since', '401d'] },
  { flags: ['--limit', '0'] },
  { flags: ['--limit', '1001'] },
])('$flags ends with 2', async ({ flags }) => {
  expect(await list(...flags)).toMatchObject({ code: 2, stdout: '' });
});

test('nothing to show is said, with where to look', async () => {
  const ended = await list();
  expect(ended).toMatchObject({ code: 0, stdout: '' });
  expect(ended.stderr).toContain('--since 7d');
});

test('the limit cuts active runs and dead letters too, newest first; a run without a record is ACCEPTED', async () => {
  let agoMs = 10_000;
  const world = { storage: { objectWriteGapMs: 0 } };
  await using slow = await startLocalCloud({ world, nowMs: () => Date.now() - agoMs });
  for (const id of ['b', 'c', 'a']) {
    put(slow.call, activeObject(id), '');
    put(
      slow.call,
      rejectedObject(id, 'm'),
      JSON.stringify({ status: 'REJECTED', cause: 'invalid', runId: id }),
    );
    put(slow.call, deadObject(id), 'no JSON');
    agoMs -= 3000;
  }
  const ask = (...flags: string[]) =>
    callMayfly(['list', ...flags], { environment: environmentOf(slow) });
  const gets = () => slow.world.calls.count({ method: 'storage.objects.get' });
  const before = gets();
  const active = JSON.parse((await ask('--limit', '2', '--json')).stdout);
  expect(gets() - before).toBe(2);
  expect(active).toMatchObject({
    active: [{ runId: 'a', state: null }, { runId: 'c' }],
    more: true,
  });
  expect((await ask()).stdout).toMatch(/^ACCEPTED +a\nACCEPTED +c\nACCEPTED +b\n$/);
  const { dead, more } = JSON.parse((await ask('--dead', '--limit', '5', '--json')).stdout);
  const shown = dead.map(({ kind, object }: DeadEntry) => [
    kind,
    object.split('/')[2]?.slice(0, 1),
  ]);
  expect(shown.slice(0, 4).map(([, id]: string[]) => id)).toEqual(['a', 'a', 'c', 'c']);
  expect({ count: dead.length, more }).toEqual({ count: 5, more: true });
  expect(dead.find(({ kind }: DeadEntry) => kind === 'dead').reason).toBe('cannot be read');
  expect(JSON.parse((await ask('--dead', '--limit', '6', '--json')).stdout).more).toBe(false);
});

/** Pages of names as the service gives them, with the times at which they were written. */
function pagesOf(pages: readonly (readonly (readonly [string, number])[])[], endless = false) {
  const asked: (string | null)[] = [];
  const list = async (_: string, token: string | null = null): Promise<ObjectPage> => {
    asked.push(token);
    const page = Number(token ?? 0);
    const objects = (pages[page] ?? []).map(([name, updatedMs]) => ({
      ...{ name, updatedMs, generation: '1', bytes: 0, metadata: {} },
    }));
    const last = !endless && page >= pages.length - 1;
    return { objects, nextPageToken: last ? null : String(page + 1) };
  };
  return { list, asked };
}

test('the newest of several pages come first, and none from before the time asked for', async () => {
  const { list: ask, asked } = pagesOf([
    [
      ['a', 5],
      ['b', 1],
    ],
    [['c', 9]],
    [['d', 7]],
  ]);
  const { objects, cut } = await newestObjects({ list: ask }, 'p/', 5);
  expect(objects.map(({ name }) => name)).toEqual(['c', 'd', 'a']);
  expect({ cut, asked }).toEqual({ cut: false, asked: [null, '1', '2'] });
});

test('of names without end 20 pages are looked at, and that this was not all is told', async () => {
  const { list: ask, asked } = pagesOf([[['a', 1]]], true);
  expect(await newestObjects({ list: ask }, 'p/', null)).toMatchObject({ cut: true });
  expect(asked).toHaveLength(20);
});
