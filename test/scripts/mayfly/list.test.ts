// `mayfly list` on the local cloud: what it shows, and that what it asks follows what it shows.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
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
