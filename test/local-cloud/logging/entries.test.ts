// Cloud Logging as a machine writes to it and as a person reads it. Shapes: the REST reference (v2).
import { describe, expect, test } from 'vitest';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { PROJECT, TestWorld } from '#test/local-cloud/fixtures.ts';

const WORKER = 'worker@local-project.iam.gserviceaccount.com';
const LOG = `projects/${PROJECT}/logs/mayfly-container`;
const AT = '2026-12-01T12:00:00.123456789Z';

const batch = (entries: readonly object[], fields: object = {}) => ({
  logName: LOG,
  labels: { run_id: 'r1', attempt: '1' },
  resource: { type: 'gce_instance', labels: { instance_id: '7' } },
  entries,
  ...fields,
});
const line = (number: number, fields: object = {}) => ({
  insertId: `vm-${number}`,
  timestamp: AT,
  textPayload: `line ${number}`,
  ...fields,
});

function opened(choices: WorldChoices = {}) {
  const world = new TestWorld(choices);
  const write = (body: object, principal: string | null = null) =>
    world.call('logging.entries.write', {}, body, principal);
  const list = (body: object = {}) => {
    const reply = world.call(
      'logging.entries.list',
      {},
      { resourceNames: [`projects/${PROJECT}`], ...body },
    );
    const { entries = [], nextPageToken } = reply.body as {
      entries?: Record<string, unknown>[];
      nextPageToken?: string;
    };
    return { status: reply.status, entries, nextPageToken };
  };
  const texts = (body: object = {}) => list(body).entries.map(({ textPayload }) => textPayload);
  return { world, write, list, texts };
}

describe('written entries', () => {
  test('have the fields of their batch, their own labels over them, and are read as they were sent', () => {
    const { write, list } = opened();
    const own = line(1, { labels: { attempt: '2' }, severity: 'ERROR' });
    expect(write(batch([own])).body).toEqual({});
    expect(list().entries).toEqual([
      {
        logName: LOG,
        resource: { type: 'gce_instance', labels: { instance_id: '7' } },
        labels: { run_id: 'r1', attempt: '2' },
        severity: 'ERROR',
        insertId: 'vm-1',
        timestamp: AT,
        receiveTimestamp: '2026-12-01T12:00:00.000Z',
        textPayload: 'line 1',
      },
    ]);
  });

  test('what a batch repeats after a lost reply is one entry; another time or id is another', () => {
    const { write, texts } = opened();
    write(batch([line(1), line(2)]));
    write(batch([line(1), line(2), line(3)]));
    expect(texts()).toEqual(['line 1', 'line 2', 'line 3']);
    write(batch([line(1, { timestamp: '2026-12-01T12:00:01Z' })]));
    expect(texts()).toHaveLength(4);
  });

  const refused = [
    { name: 'no log name', body: batch([line(1)], { logName: 'mayfly' }) },
    { name: 'no resource', body: batch([line(1)], { resource: undefined }) },
    { name: 'two payloads', body: batch([line(1, { jsonPayload: {} })]) },
    { name: 'a time that is none', body: batch([line(1, { timestamp: 'now' })]) },
    {
      name: 'an entry above 256 KiB',
      body: batch([line(1, { textPayload: 'x'.repeat(262_144) })]),
    },
    { name: 'nothing', body: batch([]) },
  ];
  test.each(refused)('$name: 400, and nothing of the batch is kept', ({ body }) => {
    const { write, list } = opened();
    const good = body.entries.length === 0 ? [] : [line(9)];
    expect(write({ ...body, entries: [...good, ...body.entries] }).status).toBe(400);
    expect(list().entries).toEqual([]);
  });

  test('with partialSuccess the good ones are kept, and the refusal is told', () => {
    const { write, texts } = opened();
    const bad = line(1, { textPayload: 'x'.repeat(262_144) });
    expect(write(batch([bad, line(2)], { partialSuccess: true })).status).toBe(400);
    expect(texts()).toEqual(['line 2']);
  });

  test('only who may write there is heard', () => {
    const permissions = ['logging.logEntries.create'];
    const resourcePrefix = `projects/${PROJECT}`;
    const { write, texts } = opened({
      grants: [{ principal: WORKER, permissions, resourcePrefix }],
    });
    expect(write(batch([line(1)]), 'stranger@p.iam.gserviceaccount.com')).toMatchObject({
      status: 403,
      body: { error: { status: 'PERMISSION_DENIED' } },
    });
    expect(write(batch([line(2)], { logName: 'projects/other/logs/l' }), WORKER).status).toBe(403);
    expect(write(batch([line(3)]), WORKER).status).toBe(200);
    expect(texts()).toEqual(['line 3']);
  });

  test('the oldest give way to the newest beyond the bytes of the world', () => {
    const { write, texts } = opened({ logging: { bytesMax: 5000 } });
    for (let number = 0; number < 100; number += 1) write(batch([line(number)]));
    const kept = texts({ pageSize: 1000 });
    expect(kept.at(-1)).toBe('line 99');
    expect(kept.length).toBeGreaterThan(5);
    expect(kept.length).toBeLessThan(20);
  });
});

describe('a list', () => {
  function filled() {
    const made = opened();
    made.write(batch([line(1), line(2, { timestamp: '2026-12-01T12:00:05Z' })]));
    made.write(batch([line(3)], { labels: { run_id: 'r2', attempt: '1' } }));
    made.write(batch([line(4)], { logName: `projects/${PROJECT}/logs/other` }));
    return made;
  }

  test('the filter of a result finds the lines of its run, oldest first, or newest', () => {
    const filter = `logName="${LOG}" AND labels.run_id="r1" AND labels.attempt="1"`;
    expect(filled().texts({ filter })).toEqual(['line 1', 'line 2']);
    expect(filled().texts({ filter, orderBy: 'timestamp desc' })).toEqual(['line 2', 'line 1']);
    const later = `${filter} AND timestamp>="2026-12-01T12:00:05Z"`;
    expect(filled().texts({ filter: later })).toEqual(['line 2']);
  });

  test('comes in pages', () => {
    const { list } = filled();
    const first = list({ pageSize: 3 });
    expect(first.entries).toHaveLength(3);
    const { nextPageToken } = first;
    const second = list({ pageSize: 3, pageToken: nextPageToken });
    expect(second.entries).toHaveLength(1);
    expect(second.nextPageToken).toBeUndefined();
  });

  test('needs a resource and a filter that can be read', () => {
    expect(filled().list({ resourceNames: [] }).status).toBe(400);
    expect(filled().list({ filter: '=(' }).status).toBe(400);
    expect(filled().list({ resourceNames: ['projects/other'] }).entries).toEqual([]);
  });
});

test('over REST: written and read by the paths of the API', async () => {
  await using cloud = await startLocalCloud();
  const post = async (verb: string, body: object) => {
    const url = `${cloud.baseUrl}/v2/entries:${verb}`;
    return await (await fetch(url, { method: 'POST', body: JSON.stringify(body) })).json();
  };
  expect(await post('write', batch([line(1)]))).toEqual({});
  const listed = await post('list', { resourceNames: [`projects/${PROJECT}`] });
  expect(listed).toMatchObject({ entries: [{ textPayload: 'line 1' }] });
});
