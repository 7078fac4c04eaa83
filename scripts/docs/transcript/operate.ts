// A deployment as doctor sees one, on a clock that stands still, and a program in Terraform's place.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Place } from '#scripts/docs/transcript/place.ts';
import { localAccount } from '#scripts/local-cloud/deployment/environment.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import { systemEntropy } from '#shared/cloud/clock.ts';
import { type LaidOut, layOut } from '#test/scripts/mayfly/laid-out.ts';

const START_MS = Date.UTC(2026, 11, 1, 12, 0, 0);
const clock = { nowMs: () => START_MS, sleep: async () => {} };

/** Knows two resources, and says of itself what it is. Its output has the shape of Terraform's own. */
const TERRAFORM = `
const value = (value) => ({ value });
const SAID = {
  plan: '(here stands what terraform plan prints)',
  show: JSON.stringify({
    resource_changes: ['google_storage_bucket.this', 'google_pubsub_topic.this["dead"]'].map(
      (address) => ({ address, change: { actions: ['create'] } }),
    ),
  }),
  output: JSON.stringify({
    project: value('my-project'), bucket: value('my-project-mayfly'), deployment: value('mayfly'),
    region: value('europe-west1'), regions: value(['europe-west1']),
    worker_service_accounts: value(['mayfly-worker@my-project.iam.gserviceaccount.com']),
  }),
};
console.log(SAID[process.argv[3]] ?? '');
`;

export async function openOperate(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-transcript-'));
  const program = join(folder, 'terraform.mjs');
  await writeFile(program, TERRAFORM);
  const laidOut = await layOut(clock.nowMs);
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    ...laidOut.environment,
    MAYFLY_TERRAFORM: `${process.execPath} ${program}`,
  };
  return {
    ...{ folder, environment },
    cloud: (target) => ({
      ...openCloud(target, { environment }),
      ...{ clock, entropy: systemEntropy },
    }),
    pass: async () => {},
    happen: (what) => HAPPENINGS[what as keyof typeof HAPPENINGS](laidOut),
    async [Symbol.asyncDispose]() {
      await laidOut[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

const HAPPENINGS = {
  'submit may create no machine': ({ cloud }: LaidOut) => {
    const principal = localAccount('submit');
    const reply = cloud.call(
      'local.iam.revoke',
      {},
      {
        ...{ principal, permission: 'compute.instances.create' },
      },
    );
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  },
  'nobody may publish': ({ cloud }: LaidOut) => {
    const message = 'User not authorized to perform this action.';
    const fault = { effect: 'before', kind: 'status', status: 403, times: 'always', message };
    const match = { method: 'pubsub.topics.publish' };
    cloud.call('local.faults.plant', {}, { match, ...fault });
  },
};
