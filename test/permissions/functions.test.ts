// Each part of a machine demands a permission of its own: without it there is no machine, and the run says why.
import { expect, test } from 'vitest';
import { GRANT_ROWS, grantsOf } from '#scripts/local-cloud/deployment/grants.ts';
import { play, SCENARIOS } from '#test/permissions/scenarios.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const { bucket, project, deployment } = SETTINGS.plan;
const PLACE = {
  ...{ project, bucket, deployment },
  emailOf: (account: string) => `${account}@${project}.iam.gserviceaccount.com`,
  data: [],
};
/** With every part that a machine may have. */
const TAGGED = SCENARIOS.find(({ name }) => name === 'network tags') ?? { name: '', status: '' };

const grantsWithout = (lacking: string | null) =>
  GRANT_ROWS.flatMap((row) => grantsOf(row, PLACE)).map((grant) => ({
    ...grant,
    permissions: grant.permissions.filter((permission) => permission !== lacking),
  }));

test.each([
  'compute.instances.create',
  'compute.instances.setLabels',
  'compute.instances.setMetadata',
  'compute.instances.setServiceAccount',
  'compute.instances.setTags',
  'compute.disks.create',
  'compute.disks.setLabels',
  'compute.subnetworks.use',
  'iam.serviceAccounts.actAs',
])('without %s there is no machine', async (permission) => {
  const kernel = await play(TAGGED, grantsWithout(permission));
  expect(kernel.works).toEqual([]);
  expect(kernel.result('r1')).toMatchObject({ status: 'FAILED', cause: 'refused' });
  expect(kernel.result('r1')?.detail).toContain(permission);
});

test('what was made use of, and what was refused, can be read', async () => {
  const kernel = await play(TAGGED, grantsWithout('compute.zoneOperations.get'));
  const reply = kernel.call({ method: 'local.permissions', params: {} });
  expect(reply.body?.permissions).toContainEqual({
    principal: PLACE.emailOf('notify'),
    permission: 'pubsub.topics.publish',
    on: `projects/${project}/topics/${deployment}-run-events`,
  });
  const refused = reply.body?.refused as readonly string[];
  expect(refused.join('\n')).toContain(`${PLACE.emailOf('submit')} compute.zoneOperations.get `);
});
