// Real boots in seconds: systemd, docker, Google's guest agent and our scripts, under systemd-nspawn.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GUEST_DEFAULTS } from '#shared/plan/guest-settings.ts';
import { testBoots } from '#test/guest/boot/boot-tests.ts';
import { BootedRun } from '#test/guest/boot/booted-run.ts';
import { NspawnHardware } from '#test/guest/boot/nspawn-hardware.ts';
import { testsWith } from '#test/guest/boot/parts.ts';
import { ROOT_TIMEOUT_MS, removeRoot, unpackRoot } from '#test/guest/boot/root.ts';

const TIMEOUT_MS = 300_000;

if (testsWith('nspawn')) {
  let template = '';
  beforeAll(async () => {
    template = await unpackRoot('container');
  }, ROOT_TIMEOUT_MS);
  afterAll(() => removeRoot(template));
  testBoots('systemd-nspawn', async () => new NspawnHardware(template), TIMEOUT_MS);

  test('D2: a machine whose delete is refused stays on, so that its time limit still holds', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const hardware = new NspawnHardware(template);
    const choices = { container: 'exit 0', guest: { deleteTries: 2 } };
    await using run = await BootedRun.open(choices, async () => hardware);
    run.google.plant({ at: 'DELETE /compute/v1/', kind: 403, times: 1000 });
    await run.boot();
    await run.until(() => run.google.guestAttributes.has('mayfly/detail'));
    while ((await hardware.systemctl('is-active', GUEST_DEFAULTS.workUnit)) === 'active');
    expect(await hardware.systemctl('is-system-running')).toMatch(/^(running|degraded)$/);
    expect(run.story()).toEqual(['claim', 'RUNNING', 'SUCCEEDED']);
  });

  test('D16: what a container prints is bounded, on the disk and in the log object', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const container = 'seq 1 600000';
    const choices = { container, guest: { containerLogSize: '1m' } };
    const hardware = new NspawnHardware(template);
    await using run = await BootedRun.open(choices, async () => hardware);
    await run.boot();
    await run.hardware.off();
    expect(run.markers().at(-1)?.status).toBe('SUCCEEDED');
    expect(run.log()?.toString()).toMatch(/^600000$/m);
    expect(run.log()?.length).toBeLessThanOrEqual(GUEST_DEFAULTS.logBytes);
    // 4 MB were printed; docker keeps two files of 1 MB.
    expect(bytesIn(join(hardware.root, 'var/lib/docker/containers'))).toBeLessThan(2.2e6);
  });
}

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return files
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
