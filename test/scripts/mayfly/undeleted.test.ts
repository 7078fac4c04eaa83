// What `show` and `watch` say about machines that should be gone: only of those whose delete was refused.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { activeObject } from '#shared/plan/objects.ts';
import { INSTANCE, NOW_MS } from '#test/lifecycle/fixtures.ts';
import { callMayfly } from '#test/scripts/mayfly/run-mayfly.ts';
import {
  BUCKET,
  environmentOf,
  makeMachine,
  PROJECT,
  putEnded,
  RUN,
  ZONE,
} from '#test/scripts/mayfly/stored-run.ts';

const END = {
  status: 'FAILED',
  cause: 'exit',
  step: 'run',
  exitCode: 3,
  detail: 'boom',
  atMs: NOW_MS,
} as const;
const PLACE = { project: PROJECT, zone: ZONE, instance: INSTANCE };
const SERIAL = `gcloud compute instances get-serial-port-output ${INSTANCE} --zone=${ZONE} --project=${PROJECT}`;

let cloud: LocalCloud;
beforeEach(async () => {
  const compute = { provisioningMs: 0, stagingMs: 0, operationPendingMs: 0 };
  cloud = await startLocalCloud({ world: { compute, storage: { objectWriteGapMs: 0 } } });
});
afterEach(() => cloud[Symbol.asyncDispose]());

/** What both verbs print, together. */
async function told(): Promise<string> {
  const options = { environment: environmentOf(cloud) };
  const shown = await callMayfly(['show', RUN], options);
  const watched = await callMayfly(['watch', RUN], options);
  expect(shown, shown.stderr).toMatchObject({ code: 0 });
  expect(watched, watched.stderr).toMatchObject({ code: 3 });
  const said = [shown.stdout, watched.stderr];
  expect(new Set(said.map((text) => text.includes(SERIAL))).size).toBe(1);
  return said.join('\n');
}

test('B59: a machine that is there, with no delete under way: its zone, project, cost and console', async () => {
  makeMachine(cloud.call);
  putEnded(cloud.call, END);
  const text = await told();
  expect(text).toContain(`VM ${INSTANCE} in ${ZONE} of project ${PROJECT} was not deleted`);
  expect(text).toContain(`may still run and bill in ${ZONE}`);
  expect(text).toContain('each pass of the sweep sends the delete again');
  expect(text).toContain(SERIAL);
});

test('B58: nothing of it when the machine is gone', async () => {
  putEnded(cloud.call, END);
  expect(await told()).not.toMatch(/serial|bill/);
});

test('B58: nothing of it when the delete was taken, also while the machine does not show it yet', async () => {
  const id = makeMachine(cloud.call);
  putEnded(cloud.call, END);
  cloud.call('compute.instances.delete', PLACE);
  expect(await told()).not.toMatch(/serial|bill/);
  const machine = cloud.world.compute.machinesById.get(id);
  if (machine === undefined) throw new Error('no machine');
  machine.status = 'RUNNING';
  expect(await told()).not.toMatch(/serial|bill/);
});

test('B59: a delete that was taken and came to nothing is told like one that was refused', async () => {
  const id = makeMachine(cloud.call);
  putEnded(cloud.call, END);
  cloud.world.compute.reluctant.set(INSTANCE, 1);
  cloud.call('compute.instances.delete', PLACE);
  expect(await told()).not.toMatch(/serial|bill/);
  cloud.call('local.machine.poweredOff', { id });
  const text = await told();
  expect(text).toContain(`may still run and bill in ${ZONE}`);
  expect(text).toContain(SERIAL);
});

test('nothing of it when nothing of the run is left, or when nobody may look', async () => {
  makeMachine(cloud.call);
  putEnded(cloud.call, END);
  const fault = { match: { method: 'compute.*' }, effect: 'before', kind: 'status', status: 403 };
  cloud.call('local.faults.plant', {}, { ...fault, times: 'always' });
  expect(await told()).not.toMatch(/serial|bill/);
  cloud.call('local.faults.clear');
  cloud.call('storage.objects.delete', { bucket: BUCKET, object: activeObject(RUN) });
  expect(await told()).not.toMatch(/serial|bill/);
});

test('a machine that is kept for a look is no refused delete, and both say until when it stays', async () => {
  makeMachine(cloud.call);
  const untilMs = Date.now() + 600_000;
  putEnded(cloud.call, END, { kept: { zone: ZONE, untilMs } });
  expect(await told()).not.toMatch(/serial|bill/);
  const until = new Date(untilMs).toISOString();
  const words = `${INSTANCE} in ${ZONE} stays for a look until ${until}`;
  for (const verb of ['show', 'watch']) {
    const { stdout } = await callMayfly([verb, RUN], { environment: environmentOf(cloud) });
    expect(stdout, verb).toContain(words);
  }
});
