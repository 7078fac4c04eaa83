import { expect, test } from 'vitest';
import { describeLoad, loadJobs } from '#scripts/bench/jobs.ts';

test('C169, C170, C171, C172, C173, C174: 100 fits at once, late and doubled pushes, 429s, lost replies', async () => {
  const load = await loadJobs(100);
  expect(load).toMatchObject({ executions: 100, succeeded: 100, outputs: 100 });
  // Three were refused, and no lost reply was answered by a second call.
  expect(load.calls).toBe(103);
  expect(load.coolDowns).toHaveLength(3);
  expect(load.waits).toHaveLength(100);
  expect(describeLoad(load).join('\n')).toMatch(/p95 \d+\.\d s .*\n.*bound .* ratio \d/);
});
