// Cloud Scheduler: cron slots, forced runs, pause and resume, and the request that an attempt is.
import { describe, expect, test } from 'vitest';
import { nextSlotMs, parseCron } from '#scripts/local-cloud/scheduler/cron.ts';
import { TestWorld } from '#test/local-cloud/fixtures.ts';

const MINUTE = 60_000;
const LOCATION = { project: 'local-project', location: 'us-central1' };
const JOB = { ...LOCATION, job: 'mayfly-sweep' };

function scheduled(fields: Record<string, unknown> = {}): TestWorld {
  const world = new TestWorld();
  const made = world.call('cloudscheduler.jobs.create', LOCATION, {
    name: 'projects/local-project/locations/us-central1/jobs/mayfly-sweep',
    schedule: '*/2 * * * *',
    timeZone: 'Etc/UTC',
    attemptDeadline: '300s',
    httpTarget: {
      uri: 'http://127.0.0.1:9/sweep',
      httpMethod: 'POST',
      body: 'e30=',
      headers: { 'Content-Type': 'application/json' },
      oidcToken: { serviceAccountEmail: 'push@p.iam.gserviceaccount.com' },
    },
    ...fields,
  });
  expect(made.body).toMatchObject({ state: 'ENABLED', scheduleTime: '2026-12-01T12:02:00.000Z' });
  return world;
}

function answer(world: TestWorld, status: number): void {
  const deliveryId = world.pushes().at(-1)?.deliveryId;
  world.call('local.push.result', {}, { deliveryId, status });
}

test('a slot is an HTTP request with the documented headers and an OIDC token', () => {
  const world = scheduled();
  world.pass(2 * MINUTE);
  expect(world.pushes()).toMatchObject([
    {
      source: 'scheduler',
      method: 'POST',
      url: 'http://127.0.0.1:9/sweep',
      timeoutMs: 300_000,
      token: { email: 'push@p.iam.gserviceaccount.com', audience: 'http://127.0.0.1:9/sweep' },
      headers: {
        'Content-Type': 'application/json',
        'x-cloudscheduler': 'true',
        'x-cloudscheduler-jobname': 'mayfly-sweep',
        'x-cloudscheduler-scheduletime': '2026-12-01T12:02:00.000Z',
      },
    },
  ]);
  expect(Buffer.from(world.pushes()[0]?.body as Uint8Array).toString()).toBe('{}');
});

test('scheduled runs never overlap; a forced one is made all the same, with the next slot as its time', () => {
  const world = scheduled();
  world.pass(5 * MINUTE);
  expect(world.pushes()).toHaveLength(1);
  world.call('cloudscheduler.jobs.run', JOB);
  expect(world.pushes()[1]?.headers['x-cloudscheduler-scheduletime']).toBe(
    '2026-12-01T12:06:00.000Z',
  );
  const [first] = world.pushes();
  world.call('local.push.result', {}, { deliveryId: first?.deliveryId, status: 200 });
  expect(world.pushes()[2]?.headers['x-cloudscheduler-scheduletime']).toBe(
    '2026-12-01T12:04:00.000Z',
  );
  world.pass(MINUTE);
  expect(world.pushes()).toHaveLength(3);
});

test('an attempt without an answer ends at its deadline', () => {
  const world = scheduled();
  world.pass(2 * MINUTE + 299_999);
  expect(world.call('cloudscheduler.jobs.get', JOB).body).not.toHaveProperty('status');
  expect(world.pushes()).toHaveLength(1);
  world.pass(1);
  expect(world.call('cloudscheduler.jobs.get', JOB).body).toMatchObject({ status: { code: 4 } });
  expect(world.pushes()).toHaveLength(2);
});

test('get tells the last attempt and what came of it', () => {
  const world = scheduled();
  world.pass(2 * MINUTE);
  answer(world, 500);
  expect(world.call('cloudscheduler.jobs.get', JOB).body).toMatchObject({
    lastAttemptTime: '2026-12-01T12:02:00.000Z',
    scheduleTime: '2026-12-01T12:04:00.000Z',
    status: { code: 13 },
  });
  world.pass(2 * MINUTE);
  answer(world, 204);
  expect(world.call('cloudscheduler.jobs.get', JOB).body?.status).toEqual({});
});

test('pause only from ENABLED, resume only from PAUSED; a paused job has no slots', () => {
  const world = scheduled();
  expect(world.call('cloudscheduler.jobs.resume', JOB)).toMatchObject({
    status: 400,
    body: { error: { status: 'FAILED_PRECONDITION' } },
  });
  expect(world.call('cloudscheduler.jobs.pause', JOB).body).toMatchObject({ state: 'PAUSED' });
  world.pass(10 * MINUTE);
  expect(world.pushes()).toEqual([]);
  expect(world.call('cloudscheduler.jobs.resume', JOB).body).toMatchObject({
    state: 'ENABLED',
    scheduleTime: '2026-12-01T12:12:00.000Z',
  });
  world.pass(2 * MINUTE);
  expect(world.pushes()).toHaveLength(1);
});

test.each([
  { name: 'a schedule of words', fields: { schedule: 'every 5 minutes' } },
  { name: 'a deadline above 30 minutes', fields: { attemptDeadline: '1801s' } },
  { name: 'another time zone', fields: { timeZone: 'Europe/Berlin' } },
  { name: 'no target', fields: { httpTarget: {} } },
  { name: 'a name of elsewhere', fields: { name: 'projects/p/locations/l/jobs/j' } },
])('refused: $name', ({ fields }) => {
  const body = {
    name: 'projects/local-project/locations/us-central1/jobs/j',
    schedule: '* * * * *',
    httpTarget: { uri: 'http://127.0.0.1:9/' },
    ...fields,
  };
  expect(new TestWorld().call('cloudscheduler.jobs.create', LOCATION, body).status).toBe(400);
});

describe('cron, in UTC', () => {
  test.each([
    ['*/2 * * * *', '2026-12-01T12:01:30Z', '2026-12-01T12:02:00Z'],
    ['*/2 * * * *', '2026-12-01T12:02:00Z', '2026-12-01T12:04:00Z'],
    ['0 9 * * 1-5', '2026-12-04T09:00:00Z', '2026-12-07T09:00:00Z'],
    ['30 6,18 * * *', '2026-12-31T18:30:00Z', '2027-01-01T06:30:00Z'],
    ['0 0 29 2 *', '2026-12-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    ['0 0 13 * 5', '2026-12-01T00:00:00Z', '2026-12-04T00:00:00Z'],
    ['5/20 * * * *', '2026-12-01T12:00:00Z', '2026-12-01T12:05:00Z'],
    ['0 0 * * 7', '2026-12-01T00:00:00Z', '2026-12-06T00:00:00Z'],
  ])('%s after %s', (text, after, expected) => {
    const schedule = parseCron(text);
    expect(schedule && nextSlotMs(schedule, Date.parse(after))).toBe(Date.parse(expected));
  });

  test.each(['', '* * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '5-1 * * * *', '*/0 * * * *'])(
    'no schedule: %j',
    (text) => expect(parseCron(text)).toBeNull(),
  );

  test('a date that never comes has no slot', () => {
    const schedule = parseCron('0 0 31 2 *');
    expect(schedule && nextSlotMs(schedule, 0)).toBeNull();
  });
});
