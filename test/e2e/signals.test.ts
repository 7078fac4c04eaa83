// A whole local deployment whose schedule is paused: what befalls a machine is told by the log sink alone.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import { LOCAL_BUCKET, LOCAL_DEPLOYMENT } from '#scripts/local-cloud/deployment/environment.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { sweepJobName } from '#scripts/local-cloud/deployment/layout.ts';
import { countLeft, isNothing } from '#scripts/start/proof.ts';
import { instanceName } from '#shared/plan/names.ts';
import { markerObject } from '#shared/plan/objects.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';

const LIMIT_MS = 240_000;
const POLL = { timeout: 60_000, interval: 50 };
/** The first attempt works for longer than the test; a further one is done at once. */
const PROGRAM = 'process.env.MAYFLY_ATTEMPT === "1" && setTimeout(() => {}, 600_000)';

let installation: Installation;
const swept: string[] = [];
beforeAll(async () => {
  const { env: environment } = process;
  installation = await openInstallation({
    port: 0,
    environment,
    objects: [],
    onLog: (name, line) => name === 'sweep' && line.includes('sweep-done') && swept.push(line),
  });
  const [, project = '', , location = '', , job = ''] = sweepJobName(installation.deployment).split(
    '/',
  );
  const paused = installation.cloud.call('cloudscheduler.jobs.pause', { project, location, job });
  expect(paused.status).toBe(200);
}, LIMIT_MS);
afterAll(() => installation[Symbol.asyncDispose](), LIMIT_MS);

function markerText(instance: string): string {
  const bucket = installation.cloud.world.storage.buckets.get(LOCAL_BUCKET);
  return Buffer.from(bucket?.objects.get(markerObject(instance))?.bytes ?? []).toString();
}

test.each([
  { name: 'preempted', control: 'local.compute.preempt', cause: 'preempted' },
  { name: 'lost with its host', control: 'local.compute.hostError', cause: 'host-error' },
])(
  'P67: a machine that is $name: the next attempt begins, and all is done, without one sweep',
  async ({ control, cause }) => {
    const { cloud, deployment } = installation;
    const runId = `told-${cause}`;
    const request = {
      runId,
      image: 'mayfly.local/examples/echo-args:1',
      command: ['node', '-e', PROGRAM],
      resources: { cpus: 2, memoryGiB: 4 },
      provisioning: 'spot',
      retry: { preempted: 1, infrastructure: 1 },
    };
    const ending = callMayfly(['submit', '-', '--wait', '--json'], {
      environment: clientEnvironment(deployment),
      stdin: JSON.stringify(request),
    });
    const first = instanceName(LOCAL_DEPLOYMENT, runId, 1);
    await vi.waitFor(() => expect(markerText(first)).toContain('"status":"RUNNING"'), POLL);
    const machine = [...cloud.world.compute.machines.values()].find((one) => one.name === first);
    expect(cloud.call(control, { id: machine?.id ?? '' }).status).toBe(200);
    const ended = await ending;
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    const result = JSON.parse(ended.stdout);
    expect(result.attempts).toMatchObject([{ cause }, { status: 'SUCCEEDED' }]);
    // The last of the run goes when the end of its machine's delete is told.
    const nothing = async () => expect(isNothing(await countLeft(deployment))).toBe(true);
    await vi.waitFor(nothing, POLL);
    expect(swept).toEqual([]);
  },
  LIMIT_MS,
);
