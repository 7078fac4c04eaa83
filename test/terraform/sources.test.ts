// Terraform's text against the code: names that both use.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LOG_EVENTS } from '#shared/cloud/log-events.ts';
import { SETTINGS } from '#shared/cloud/settings-table.ts';
import { zonesOfRegion } from '#shared/plan/zones.ts';

const ROOT = new URL('../../terraform/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const sources = readdirSync(ROOT).filter((name) => name.endsWith('.tf'));

test('every variable that Terraform gives a function is a setting, and none that is needed is left out', () => {
  const given = [...read('functions.tf').matchAll(/\b(MAYFLY_\w+)\s*=\s/g)].map(([, name]) => name);
  const settings = Object.values(SETTINGS);
  expect(given.filter((name) => !settings.some((setting) => setting.name === name))).toEqual([]);
  const needed = settings.filter(({ initial }) => initial === null).map(({ name }) => name);
  expect(needed.length).toBeGreaterThan(3);
  const push = ['MAYFLY_PUSH_AUDIENCE', 'MAYFLY_PUSH_SERVICE_ACCOUNTS'];
  expect(given).toEqual(expect.arrayContaining([...needed, ...push]));
});

test('every event that metrics and alerts filter by is one that the code writes', () => {
  const text = sources.map(read).join('\n');
  const filters = [...text.matchAll(/jsonPayload\.event=(\\"[^\\]+\\"|\([^)]*\))/g)];
  const events = filters.flatMap(([, names = '']) =>
    [...names.matchAll(/\\"([a-z-]+)\\"/g)].map(([, name]) => name),
  );
  expect(events).toEqual(expect.arrayContaining(['leak-found', 'dead-letter', 'sweep-done']));
  expect(events.filter((name = '') => !Object.hasOwn(LOG_EVENTS, name))).toEqual([]);
});

test('the list of regions that ranges follow from has each region that the code knows, once', () => {
  const list = /known_regions = \[([^\]]*)\]/.exec(read('network.tf'))?.[1] ?? '';
  const names = [...list.matchAll(/"([a-z0-9-]+)"/g)].map(([, name = '']) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => zonesOfRegion(name) === null)).toEqual([]);
  const zones = readFileSync(new URL('../shared/plan/zones.ts', ROOT), 'utf8');
  const known = [...zones.matchAll(/^ {2}'([a-z]+-[a-z]+\d+)':/gm)].map(([, name = '']) => name);
  expect(known.length).toBeGreaterThan(40);
  expect(known.filter((name) => !names.includes(name))).toEqual([]);
});
