// The functions and guests of the virtual clock with no more rights than the table gives: whoever lacks one
// is refused, and its run does not end as it should. MAYFLY_TEST_TABLE=1 prints what was made use of.
import { expect, test } from 'vitest';
import { GRANT_ROWS, grantsOf } from '#scripts/local-cloud/deployment/grants.ts';
import { GOOD_GUEST } from '#test/simulation/guest.ts';
import { Kernel } from '#test/simulation/kernel.ts';
import { REQUEST, SETTINGS } from '#test/simulation/layout.ts';

const { bucket, project, deployment } = SETTINGS.plan;
const PLACE = {
  project,
  bucket,
  deployment,
  emailOf: (account: string) => `${account}@${project}.iam.gserviceaccount.com`,
  data: [`gs://${bucket}/data/`],
};
const HOUR_MS = 3_600_000;

function start(exitCode: number, lacking: string | null = null): Kernel {
  const grants = GRANT_ROWS.flatMap((row) => grantsOf(row, PLACE)).map((grant) => ({
    ...grant,
    permissions: grant.permissions.filter((permission) => permission !== lacking),
  }));
  return new Kernel({ world: { grants }, guest: () => ({ ...GOOD_GUEST, exitCode }) });
}

function print(kernel: Kernel): void {
  if (process.env.MAYFLY_TEST_TABLE !== '1') return;
  for (const [grant, used] of kernel.world.iam.used) {
    console.log(grant.principal, grant.resourcePrefix, [...used].join(' '));
  }
}

test.each([
  { name: 'a machine', exitCode: 0, status: 'SUCCEEDED' },
  { name: 'a machine that fails', exitCode: 7, status: 'FAILED' },
])('a run on $name needs no more than the table grants', async ({ exitCode, status }) => {
  const kernel = start(exitCode);
  kernel.request({ ...REQUEST, runId: 'r1' });
  await kernel.run(2 * HOUR_MS);
  print(kernel);
  expect(kernel.result('r1')).toMatchObject({ status });
  expect(kernel.machines()).toEqual([]);
  const reply = kernel.call({ method: 'local.permissions', params: {} });
  expect(reply.body?.permissions).toContainEqual({
    principal: PLACE.emailOf('notify'),
    permission: 'pubsub.topics.publish',
    on: `projects/${project}/topics/${deployment}-run-events`,
  });
});

test.each([
  'compute.instances.create',
  'compute.instances.setLabels',
  'compute.instances.setMetadata',
  'compute.instances.setServiceAccount',
  'compute.disks.create',
  'compute.disks.setLabels',
  'compute.subnetworks.use',
  'iam.serviceAccounts.actAs',
])('without %s there is no machine', async (permission) => {
  const kernel = start(0, permission);
  kernel.request({ ...REQUEST, runId: 'r1' });
  await kernel.run(HOUR_MS);
  expect(kernel.works).toEqual([]);
  expect(kernel.result('r1')).toMatchObject({ status: 'FAILED', cause: 'refused' });
  expect(kernel.result('r1')?.detail).toContain(permission);
});
