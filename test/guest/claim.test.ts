// The claim: who may work, who may not, and what a second boot of a machine does.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { INSTANCE, NONCE } from '#test/guest/intent.ts';

const NONCE_SHA256 = createHash('sha256').update(NONCE).digest('hex');
const RUNNING_CONTAINER = ': >"$STUB/running"; sleep 60';

const claimOf = (fields: Record<string, string>) =>
  JSON.stringify({
    by: 'machine',
    instanceId: '4242',
    zone: 'europe-west1-b',
    bootId: 'boot-one',
    nonceSha256: NONCE_SHA256,
    ...fields,
  });

test('the claim names machine, boot and nonce hash, and precedes every other write and step', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  expect(machine.google.objects.get(machine.claim)?.bytes.toString()).toBe(claimOf({}));
  const [claim, marker] = machine.google.requestsAt('POST /upload/');
  expect(claim?.query.get('name')).toBe('runs/work/run-1/1/claim.json');
  expect(claim?.query.get('ifGenerationMatch')).toBe('0');
  expect(marker?.query.get('name')).toBe(`runs/gce-status/${INSTANCE}.json`);
});

for (const [name, claim] of [
  ['the control plane', JSON.stringify({ by: 'control' })],
  ['another machine', claimOf({ instanceId: '777' })],
  ['a machine whose id begins with ours', claimOf({ instanceId: '42420' })],
] as const) {
  test(`a claim of ${name} is left alone: nothing done, nothing written, the machine deletes itself`, async () => {
    await using machine = await GuestMachine.create();
    machine.google.put(machine.claim, claim);
    await machine.run();
    expect(machine.dockerCalls()).toEqual([]);
    expect(machine.markers()).toEqual([]);
    expect(machine.google.objects.get(machine.claim)?.bytes.toString()).toBe(claim);
    expect(machine.deletes()).toHaveLength(1);
  });
}

test('a machine that gets no answer about its claim does not work', async () => {
  await using machine = await GuestMachine.create({ request: { ttlSeconds: 2 } });
  machine.google.plant({ at: 'claim.json', kind: 503, times: 100_000 });
  await machine.run();
  expect(machine.google.requestsAt('claim.json').length).toBeGreaterThan(1);
  expect(machine.dockerCalls()).toEqual([]);
  expect(machine.markers()).toEqual([]);
});

test('E10: a claim whose reply was lost is read back as our own bytes and counts as won', async () => {
  await using machine = await GuestMachine.create();
  machine.google.plant({ at: 'claim.json', kind: 'lose-reply' });
  await machine.run();
  expect(machine.google.requestsAt('claim.json').map(({ status }) => status)).toEqual([
    200, 412, 200,
  ]);
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
});

test('E13: a machine that rebooted before its claim may claim and work once', async () => {
  await using machine = await GuestMachine.create({ guest: { callSeconds: 1 } });
  machine.google.plant({ at: 'claim.json', kind: 'hang', times: 1 });
  const first = machine.start();
  await machine.until(() => machine.google.requestsAt('claim.json').length > 0);
  first.child.kill('SIGTERM');
  await first.exit;
  expect(machine.deletes()).toEqual([]);
  machine.setBootId('boot-two');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', boot_id: 'boot-two' });
});

test('E13: a machine that rebooted after its claim reports interrupted and deletes itself', async () => {
  await using machine = await GuestMachine.create();
  machine.google.put(machine.claim, claimOf({ bootId: 'boot-zero' }));
  await machine.run();
  expect(machine.dockerCalls('run')).toEqual([]);
  expect(machine.markers()).toMatchObject([
    { status: 'FAILED', cause: 'interrupted', boot_id: 'boot-one', exit_code: null, nonce: NONCE },
  ]);
  expect(machine.deletes()).toHaveLength(1);
});

test('P42: after a reset the container does not run again, and the marker shows the new boot', async () => {
  await using machine = await GuestMachine.create({ container: RUNNING_CONTAINER });
  const first = machine.start();
  await machine.untilContainerRuns();
  // A reset: nothing gets a signal that it could handle.
  process.kill(-(first.child.pid ?? 0), 'SIGKILL');
  await first.exit;
  machine.setBootId('boot-two');
  await machine.run();
  expect(machine.dockerCalls('run')).toHaveLength(1);
  const marker = machine.lastMarker();
  expect(marker).toMatchObject({ status: 'FAILED', cause: 'interrupted', boot_id: 'boot-two' });
  expect(marker.detail).toContain('started again');
  expect(machine.deletes()).toHaveLength(1);
});

test('D12: a second boot leaves a terminal marker as it is and does not run the job again', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  const before = machine.google.objects.get(machine.marker);
  machine.setBootId('boot-two');
  await machine.run();
  expect(machine.google.objects.get(machine.marker)).toEqual(before);
  expect(machine.dockerCalls('run')).toHaveLength(1);
  expect(machine.deletes()).toHaveLength(2);
});

test('D12: RUNNING that comes late does not overwrite a terminal marker, and no work begins', async () => {
  await using machine = await GuestMachine.create();
  const sealed = JSON.stringify({ status: 'FAILED', sealed: true });
  machine.google.put(machine.marker, sealed);
  await machine.run();
  expect(machine.google.objects.get(machine.marker)?.bytes.toString()).toBe(sealed);
  expect(machine.dockerCalls()).toEqual([]);
  expect(machine.deletes()).toHaveLength(1);
});

test('D17: a failure in the first commands ends the machine too', async () => {
  await using machine = await GuestMachine.create({ guest: { bootIdFile: 'missing' } });
  await machine.run();
  expect(machine.dockerCalls()).toEqual([]);
  expect(machine.deletes()).toHaveLength(1);
});

test('D17: output goes to a file and the trap is set before anything else', async () => {
  await using machine = await GuestMachine.create();
  const [, code = ''] = machine.script().split('# --- end of blanks ---\n');
  const lines = code.split('\n');
  const trap = lines.indexOf('trap clean_up EXIT');
  const exec = lines.findIndex((line) => line.startsWith('exec >>"$RUN_DIR/steps.log"'));
  expect(trap).toBe(exec + 1);
  // Before it: one start a boot, and the unit; nothing of the work, and no function.
  expect(lines.findIndex((line) => line.includes('() {'))).toBeGreaterThan(trap);
});
