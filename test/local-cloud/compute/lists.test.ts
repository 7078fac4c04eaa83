// Lists of Compute: scopes, warnings, unreachable zones, pages and both styles of filter.
import { describe, expect, test } from 'vitest';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { PROJECT, reasonOf, TestWorld } from '#test/local-cloud/fixtures.ts';

const ZONES = { 'r-a': {}, 'r-b': {}, 's-a': {} };

function listed(world: TestWorld, params: Record<string, string> = {}, kind = 'instances') {
  const all = { project: PROJECT, returnPartialSuccess: 'true', ...params };
  return world.call(`compute.${kind}.aggregatedList`, all);
}

function names(body: Record<string, unknown> | undefined): string[] {
  const scopes = Object.values(
    (body?.items ?? {}) as Record<string, { instances?: { name: string }[] }>,
  );
  return scopes.flatMap(({ instances = [] }) => instances.map(({ name }) => name));
}

function filled(): TestWorld {
  const world = new TestWorld({ compute: { zones: ZONES } });
  for (const [name, zone, app] of [
    ['vm-1', 'r-a', 'x'],
    ['vm-2', 'r-a', 'y'],
    ['vm-3', 's-a', 'x'],
  ] as const) {
    world.insert(name, { labels: { app } }, { zone });
  }
  return world;
}

test('every zone is a scope, an empty one with the warning NO_RESULTS_ON_PAGE', () => {
  const { body } = listed(filled());
  const items = body?.items as Record<string, unknown>;
  expect(Object.keys(items)).toEqual(['zones/r-a', 'zones/r-b', 'zones/s-a']);
  expect(names(body)).toEqual(['vm-1', 'vm-2', 'vm-3']);
  expect(items['zones/r-b']).toEqual({
    warning: {
      code: 'NO_RESULTS_ON_PAGE',
      message: expect.any(String),
      data: [{ key: 'scope', value: 'zones/r-b' }],
    },
  });
  expect(body).not.toHaveProperty('unreachables');
});

test('P75: a zone that cannot be listed is a warning or an unreachable, and never empty', () => {
  const world = filled();
  world.call('local.compute.unreachable', { zone: 'r-a', how: 'warning' });
  world.call('local.compute.unreachable', { zone: 's-a', how: 'unreachables' });
  const { body } = listed(world);
  expect(body).toMatchObject({
    items: {
      'zones/r-a': { warning: { code: 'UNREACHABLE' } },
      'zones/r-b': { warning: { code: 'NO_RESULTS_ON_PAGE' } },
    },
    unreachables: ['zones/s-a'],
  });
  expect(body?.items).not.toHaveProperty('zones/s-a');
  expect(listed(world, {}, 'disks').body).toMatchObject({ unreachables: ['zones/s-a'] });
  expect(listed(world, { returnPartialSuccess: 'false' }).status).toBe(503);
  world.call('local.compute.unreachable', { zone: 'r-a' });
  world.call('local.compute.unreachable', { zone: 's-a' });
  expect(names(listed(world).body)).toHaveLength(3);
});

test('pages go over all zones, and what vanishes meanwhile moves nothing', () => {
  const world = filled();
  const first = listed(world, { maxResults: '1' }).body;
  world.call('compute.instances.delete', { project: PROJECT, zone: 'r-a', instance: 'vm-1' });
  world.pass(60_000);
  const pageToken = String(first?.nextPageToken);
  const second = listed(world, { maxResults: '1', pageToken }).body;
  const third = listed(world, { maxResults: '1', pageToken: String(second?.nextPageToken) }).body;
  expect([first, second, third].map(names)).toEqual([['vm-1'], ['vm-2'], ['vm-3']]);
  expect(third).not.toHaveProperty('nextPageToken');
  expect(listed(world, { maxResults: '501' }).status).toBe(400);
  expect(reasonOf(listed(world, { pageToken: 'made-up' }))).toBe('invalid');
});

test('a young machine may be missing from lists and from get', () => {
  const compute = { zones: ZONES, listLagMs: 9000, getLagMs: 2000 };
  const world = new TestWorld({ compute });
  world.insert('vm', {}, { zone: 'r-a' });
  const get = () =>
    world.call('compute.instances.get', { project: PROJECT, zone: 'r-a', instance: 'vm' });
  expect([get().status, names(listed(world).body)]).toEqual([404, []]);
  world.pass(2000);
  expect([get().status, names(listed(world).body)]).toEqual([200, []]);
  world.pass(7000);
  expect(names(listed(world).body)).toEqual(['vm']);
});

describe('filters', () => {
  const resource = {
    name: 'vm-1',
    status: 'RUNNING',
    labels: { app: 'x', deadline: '1780000000' },
  };
  test.each([
    ['labels.app=x', true],
    ['labels.app = "x"', true],
    ['labels.app=y', false],
    ['labels.app!=y', true],
    ['labels.app:*', true],
    ['labels.none:*', false],
    ['labels.deadline < 1790000000', true],
    ['labels.deadline > 1790000000', false],
    ['(labels.app = y) OR (status = RUNNING)', true],
    ['labels.app=x AND status=STOPPING', false],
    ['labels.app=x labels.deadline:*', true],
    ['NOT labels.app=y', true],
    ['labels.app eq x', true],
    ['labels.app eq "x|y"', true],
    ['name eq vm-.*', true],
    ['name eq vm', false],
    ['name ne vm-2', true],
  ])('%s', (filter, expected) => {
    const matches = compileFilter(filter);
    expect(typeof matches === 'function' && matches(resource)).toBe(expected);
  });

  test.each([
    'labels.app',
    'labels.app = ',
    '(labels.app = x',
    'labels.app = x)',
    'name eq "("',
    '= x',
  ])('unreadable: %s', (filter) => {
    expect(typeof compileFilter(filter)).toBe('string');
    expect(reasonOf(listed(filled(), { filter }))).toBe('invalid');
  });

  test('only what matches is listed', () => {
    expect(names(listed(filled(), { filter: 'labels.app=x' }).body)).toEqual(['vm-1', 'vm-3']);
  });
});

describe('fields', () => {
  const aggregated = (fields: string) => listed(filled(), { fields });

  test('a page of a list holds what is asked for and nothing else', () => {
    const fields = 'nextPageToken,items/*/warning/code,items/*/instances(name,labels/app)';
    expect(aggregated(fields).body).toEqual({
      items: {
        'zones/r-a': {
          instances: [
            { name: 'vm-1', labels: { app: 'x' } },
            { name: 'vm-2', labels: { app: 'y' } },
          ],
        },
        'zones/r-b': { warning: { code: 'NO_RESULTS_ON_PAGE' } },
        'zones/s-a': { instances: [{ name: 'vm-3', labels: { app: 'x' } }] },
      },
    });
  });

  test('a field that is named whole keeps all below it', () => {
    const { body } = aggregated('items/*/instances(scheduling,name)');
    expect(body).toMatchObject({
      items: {
        'zones/s-a': {
          instances: [{ name: 'vm-3', scheduling: { provisioningModel: 'STANDARD' } }],
        },
      },
    });
  });

  test.each(['items(', 'items/', 'a b', '(x)', ''])('%j is no selection: 400', (fields) => {
    expect(aggregated(fields).status).toBe(400);
  });
});

test('pages follow each other while machines come and go, each machine once', () => {
  const world = filled();
  const first = listed(world, { maxResults: '1' }).body;
  expect(names(first)).toEqual(['vm-1']);
  world.insert('vm-0', {}, { zone: 'r-a' });
  world.insert('vm-9', {}, { zone: 'r-a' });
  const next = { maxResults: '500', pageToken: String(first?.nextPageToken) };
  // In the order of zone and name: what sorts before the token is not given out any more.
  expect(names(listed(world, next).body)).toEqual(['vm-2', 'vm-9', 'vm-3']);
});
