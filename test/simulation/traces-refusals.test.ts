// What organisation policies refuse, from Compute Engine's reply to the result, with the real handlers.
import { expect, test } from 'vitest';
import { INSERT, MINUTE_MS, start, verifyEnd } from '#test/simulation/trace.ts';

const SHIELDED =
  "Constraint constraints/compute.requireShieldedVm violated for project projects/p. Secure Boot is not enabled in the 'shielded_instance_config' field.";

test('a policy that holds everywhere ends the run at its first machine, with the constraint in the result', async () => {
  const kernel = start();
  kernel.world.faults.plant({
    ...{ match: INSERT, times: Number.POSITIVE_INFINITY, effect: 'before', kind: 'status' },
    ...{ status: 412, reason: 'conditionNotMet', message: SHIELDED },
  });
  await kernel.run(10 * MINUTE_MS);
  verifyEnd(kernel, 'FAILED');
  expect(kernel.inserts).toHaveLength(1);
  expect(kernel.result('r1')).toMatchObject({
    cause: 'refused',
    detail: expect.stringContaining('constraints/compute.requireShieldedVm'),
    placesCount: 1,
  });
});
