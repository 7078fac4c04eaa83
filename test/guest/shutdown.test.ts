// The shutdown script: it makes the startup script end and report, and reports where that one is gone.
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { NONCE } from '#test/guest/intent.ts';

const RUNNING = ': >"$STUB/running"; sleep 60';

test('the shutdown script makes the startup script report the interruption, once', async () => {
  await using machine = await GuestMachine.create({ container: RUNNING });
  const started = machine.start();
  await machine.untilContainerRuns();
  await machine.run('shutdown');
  await started.exit;
  expect(machine.markers().map(({ status, cause }) => [status, cause])).toEqual([
    ['RUNNING', null],
    ['FAILED', 'interrupted'],
  ]);
});

for (const [preempted, cause] of [
  ['FALSE', 'interrupted'],
  ['TRUE', 'preempted'],
] as const) {
  test(`when the startup script is dead the shutdown script itself reports ${cause} and deletes`, async () => {
    await using machine = await GuestMachine.create({ container: RUNNING });
    const started = machine.start();
    await machine.untilContainerRuns();
    process.kill(-(started.child.pid ?? 0), 'SIGKILL');
    await started.exit;
    machine.google.metadata.set('instance/preempted', preempted);
    await machine.run('shutdown');
    expect(machine.lastMarker()).toMatchObject({
      status: 'FAILED',
      cause,
      step: 'run',
      exit_code: null,
      exec_start_epoch: expect.any(Number),
      boot_id: 'boot-one',
      nonce: NONCE,
    });
    expect(machine.deletes()).toHaveLength(1);
  });
}

test('the shutdown script never overwrites a terminal marker', async () => {
  await using machine = await GuestMachine.create({ container: RUNNING });
  const started = machine.start();
  await machine.untilContainerRuns();
  process.kill(-(started.child.pid ?? 0), 'SIGKILL');
  await started.exit;
  machine.google.put(
    machine.marker,
    JSON.stringify({ ...machine.lastMarker(), status: 'SUCCEEDED' }),
  );
  const before = machine.google.objects.get(machine.marker);
  await machine.run('shutdown');
  expect(machine.google.objects.get(machine.marker)).toEqual(before);
});

test('after an accepted report the shutdown script neither waits nor says anything', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  const requests = machine.google.requests.length;
  await machine.run('shutdown');
  expect(machine.google.requests).toHaveLength(requests);
});

test('without the claim in this boot the shutdown script says and deletes nothing', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  const requests = machine.google.requests.length;
  machine.setBootId('boot-two');
  await machine.run('shutdown');
  expect(machine.google.requests).toHaveLength(requests);
});

test('a machine that never began is left alone by its shutdown script', async () => {
  await using machine = await GuestMachine.create();
  const { output } = await machine.run('shutdown');
  expect(machine.google.requests).toEqual([]);
  expect(output.toString()).toBe('');
});
