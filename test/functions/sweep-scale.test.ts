// A pass over thousands of machines through the real clients: what it costs follows from the pages.
// Its memory is a figure of the benchmark: `npm run bench -- sweep`.
import { expect, test } from 'vitest';
import { SweepWorld } from '#scripts/bench/sweep.ts';

const MACHINES = 1_600;

test('list calls follow from the pages, reads are bounded', async () => {
  await using world = await SweepWorld.open(MACHINES);
  const { calls, outcome } = await world.sweep();
  expect(outcome.machines).toMatchObject({ seen: MACHINES, kept: MACHINES, reaped: 0, unknown: 0 });
  expect(outcome.disks).toMatchObject({ seen: MACHINES, kept: MACHINES });
  expect(outcome.runs).toMatchObject({ seen: MACHINES, left: 0 });
  // 1,600 machines and disks are four pages of 500 each, their runs two of 1,000.
  expect(calls['compute.instances.aggregatedList']).toBe(4);
  expect(calls['compute.disks.aggregatedList']).toBe(4);
  expect(calls['storage.objects.list']).toBe(2);
  expect(calls['compute.instances.get']).toBe(0);
  expect(calls['compute.instances.delete']).toBe(0);
  // A record and a marker for each run that is looked at, and one read before the pass.
  expect(calls['storage.objects.get']).toBe(2 * outcome.runs.seen + 1);
}, 180_000);
