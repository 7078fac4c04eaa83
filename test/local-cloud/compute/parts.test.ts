// What the parts of a new machine demand, by Compute Engine's own list ("Create and start a Compute Engine
// instance", required permissions): the expectations stand here as that page words them.
import { expect, test } from 'vitest';
import { instanceBody, PROJECT, TestWorld, ZONE } from '#test/local-cloud/fixtures.ts';

const CALLER = 'caller@local-project.iam.gserviceaccount.com';
const WORKER = 'worker@local-project.iam.gserviceaccount.com';
const OWN_IMAGE = `projects/${PROJECT}/global/images/own`;
const PUBLIC = 'projects/cos-cloud/global/images/family/cos-125-lts';
const SUBNETWORK = `projects/${PROJECT}/regions/us-central1/subnetworks/default`;
const HERE = `projects/${PROJECT}/zones/${ZONE}`;

const disk = (fields: object = {}) => ({
  boot: true,
  autoDelete: true,
  initializeParams: { sourceImage: PUBLIC, ...fields },
});
/** Only what a machine cannot be without. */
const BARE = {
  labels: undefined,
  metadata: undefined,
  serviceAccounts: undefined,
  disks: [disk()],
  networkInterfaces: [{ subnetwork: SUBNETWORK }],
};
const NEEDED = [
  ['compute.instances.create', `${HERE}/instances/m`],
  ['compute.disks.create', HERE],
  ['compute.subnetworks.use', SUBNETWORK],
] as const;

function insert(fields: object, grants: readonly (readonly [string, string])[]) {
  const world = new TestWorld({
    grants: grants.map(([permission, resourcePrefix]) => ({
      ...{ principal: CALLER, permissions: [permission], resourcePrefix },
    })),
  });
  const params = { project: PROJECT, zone: ZONE };
  const body = instanceBody('m', { ...BARE, ...fields });
  return world.call('compute.instances.insert', params, body, CALLER);
}

const PARTS = [
  ...NEEDED.map(([permission, on]) => ({ fields: {}, permission, on })),
  {
    fields: { disks: [disk({ sourceImage: OWN_IMAGE })] },
    permission: 'compute.images.useReadOnly',
    on: OWN_IMAGE,
  },
  {
    fields: { networkInterfaces: [{ subnetwork: SUBNETWORK, accessConfigs: [{}] }] },
    permission: 'compute.subnetworks.useExternalIp',
    on: SUBNETWORK,
  },
  {
    fields: { metadata: { items: [] } },
    permission: 'compute.instances.setMetadata',
    on: `${HERE}/instances/m`,
  },
  {
    fields: { tags: { items: ['a'] } },
    permission: 'compute.instances.setTags',
    on: `${HERE}/instances/m`,
  },
  {
    fields: { labels: { a: 'b' } },
    permission: 'compute.instances.setLabels',
    on: `${HERE}/instances/m`,
  },
  {
    fields: { disks: [disk({ labels: { a: 'b' } })] },
    permission: 'compute.disks.setLabels',
    on: `${HERE}/disks/`,
  },
] as const;

test.each(PARTS)('$permission is demanded by its part, on its resource', (part) => {
  const { fields, permission, on } = part;
  const others = NEEDED.filter(([needed]) => needed !== permission);
  const refused = insert(fields, others);
  expect(refused.status).toBe(403);
  expect(JSON.stringify(refused.body)).toContain(`does not have ${permission} access`);
  expect(insert(fields, [...others, [permission, `${on}elsewhere`]]).status).toBe(403);
  expect(insert(fields, [...others, [permission, on]]).status).toBe(200);
});

test('an account for the machine demands two: to set one, and to act as that one', () => {
  const fields = { serviceAccounts: [{ email: WORKER, scopes: ['cloud-platform'] }] };
  const set = ['compute.instances.setServiceAccount', `${HERE}/instances/`] as const;
  const act = ['iam.serviceAccounts.actAs', `projects/-/serviceAccounts/${WORKER}`] as const;
  expect(insert(fields, [...NEEDED, set]).status).toBe(403);
  expect(insert(fields, [...NEEDED, act]).status).toBe(403);
  const other = [act[0], 'projects/-/serviceAccounts/other@'] as const;
  expect(insert(fields, [...NEEDED, set, other]).status).toBe(403);
  expect(insert(fields, [...NEEDED, set, act]).status).toBe(200);
});

test.each([
  { name: 'a link', subnetwork: `https://www.googleapis.com/compute/v1/${SUBNETWORK}` },
  { name: 'within the project', subnetwork: 'regions/us-central1/subnetworks/default' },
])('a subnetwork that is named by $name is the same one', ({ subnetwork }) => {
  expect(insert({ networkInterfaces: [{ subnetwork }] }, NEEDED).status).toBe(200);
});

test('a subnetwork of another project is not the project’s', () => {
  const subnetwork = 'projects/host/regions/us-central1/subnetworks/shared';
  const inProject = ['compute.subnetworks.use', `projects/${PROJECT}`] as const;
  const fields = { networkInterfaces: [{ subnetwork }] };
  expect(insert(fields, [...NEEDED, inProject]).status).toBe(403);
  expect(insert(fields, [...NEEDED, ['compute.subnetworks.use', subnetwork]]).status).toBe(200);
});

test('what a project calls its own -cloud is no public image', () => {
  const sourceImage = 'projects/acme-cloud/global/images/cos-own';
  expect(insert({ disks: [disk({ sourceImage })] }, NEEDED).status).toBe(403);
});
