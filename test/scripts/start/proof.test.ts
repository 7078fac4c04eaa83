import { expect, test } from 'vitest';
import { startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { countLeft, describeLeft, isNothing } from '#scripts/start/proof.ts';

const project = 'local-project';
const bucket = 'local-bucket';

test('what is left is really counted: machines, disks, executions and active entries, whatever their labels', async () => {
  await using cloud = await startLocalCloud({ world: { project, buckets: [bucket] } });
  const place = { baseUrl: cloud.baseUrl, project, bucket };
  expect(describeLeft(await countLeft(place))).toBe(
    '0 machines, 0 disks, 0 executions, 0 active entries left',
  );
  const insert = await fetch(
    `${cloud.baseUrl}/compute/v1/projects/${project}/zones/europe-west1-b/instances`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'not-ours',
        machineType: 'zones/europe-west1-b/machineTypes/e2-standard-2',
        disks: [
          {
            boot: true,
            initializeParams: { sourceImage: 'projects/cos-cloud/global/images/family/cos-stable' },
          },
        ],
        networkInterfaces: [{ network: 'global/networks/default' }],
      }),
    },
  );
  expect(insert.status).toBe(200);
  const entry = await fetch(
    `${cloud.baseUrl}/upload/storage/v1/b/${bucket}/o?uploadType=media&name=runs/active/x`,
    { method: 'POST', body: '' },
  );
  expect(entry.status).toBe(200);
  const job = { template: { template: { containers: [{ image: 'i' }] } } };
  const params = { project, location: 'europe-west1' };
  cloud.call('run.projects.locations.jobs.create', { ...params, jobId: 'j' }, job);
  cloud.call('run.projects.locations.jobs.run', { ...params, job: 'j' });
  const left = await countLeft(place);
  expect(left).toEqual({ machines: 1, disks: 1, executions: 1, activeEntries: 1 });
  expect(isNothing(left)).toBe(false);
});

test('a cloud that does not answer proves nothing', async () => {
  await using cloud = await startLocalCloud({ world: { project, buckets: [] } });
  await expect(countLeft({ baseUrl: cloud.baseUrl, project, bucket })).rejects.toThrow(
    /answered 404: nothing is proved/,
  );
});
