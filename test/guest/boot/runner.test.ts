// Google's own script runner with our scripts: what it hands over, what it takes amiss, and what happens
// when systemd ends it at a power-off.
import { expect, test } from 'vitest';
import { testsWith } from '#test/guest/boot/parts.ts';
import { RunnerMachine } from '#test/guest/boot/runner-machine.ts';
import { NONCE } from '#test/guest/intent.ts';

const RUNNING = ': >"$STUB/running"; sleep 60';
const LONG_LINE = "head -c 70000 /dev/zero | tr '\\0' x; echo";

if (testsWith('guest-agent')) {
  test("A9: Google's runner runs the planned script to SUCCEEDED and to its delete", async () => {
    await using machine = await RunnerMachine.boot({ container: 'echo done; exit 0' });
    const console = await machine.run();
    expect(machine.guest.markers().map(({ status, cause }) => [status, cause])).toEqual([
      ['RUNNING', null],
      ['SUCCEEDED', 'exit'],
    ]);
    expect(machine.guest.deletes()).toHaveLength(1);
    expect(console).toContain('startup-script exit status 0');
    expect(console).not.toContain('startup-script: ');
  });

  test("the container's own code is reported under Google's runner", async () => {
    await using machine = await RunnerMachine.boot({ container: 'exit 3' });
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({
      status: 'FAILED',
      cause: 'exit',
      exit_code: 3,
    });
    expect(machine.guest.deletes()).toHaveLength(1);
  });

  test('P41: a plain script with a line of 70,000 bytes chokes this runner', async () => {
    const script = `#!/bin/bash\n${LONG_LINE}\n`;
    await using machine = await RunnerMachine.boot({}, { 'startup-script': script });
    expect(await machine.run()).toContain('token too long');
  });

  test('P41: such lines of the container and of the pull never reach the runner', async () => {
    await using machine = await RunnerMachine.boot({ container: `${LONG_LINE}; exit 0` });
    machine.guest.plan('pull.sh', `${LONG_LINE}; ${LONG_LINE} >&2`);
    const console = await machine.run();
    expect(console).not.toContain('token too long');
    expect(machine.guest.lastMarker()).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 });
    const log = machine.guest.google.objects.get(machine.guest.log)?.bytes;
    expect(log?.length).toBe(65_536);
  });

  test('P42: the runner starts the script again at the next boot, and the container does not run again', async () => {
    await using machine = await RunnerMachine.boot({ container: RUNNING });
    machine.start('startup');
    await machine.guest.untilContainerRuns();
    await machine.reset();
    await machine.run();
    expect(machine.guest.dockerCalls('run')).toHaveLength(1);
    expect(machine.guest.lastMarker()).toMatchObject({
      status: 'FAILED',
      cause: 'interrupted',
      boot_id: machine.bootId,
    });
    expect(machine.guest.deletes()).toHaveLength(1);
  });

  for (const [preempted, cause] of [
    ['FALSE', 'interrupted'],
    ['TRUE', 'preempted'],
  ] as const) {
    test(`D1, P51: the script outlives its runner, and the shutdown script makes it report ${cause}`, async () => {
      await using machine = await RunnerMachine.boot({
        container: `trap 'exit 0' TERM; ${RUNNING} & wait`,
      });
      const startup = machine.start('startup');
      await machine.guest.untilContainerRuns();
      machine.guest.google.metadata.set('instance/preempted', preempted);
      // As systemd stops the unit (KillMode=process): the runner alone gets the signal.
      startup.child.kill('SIGTERM');
      await startup.exit;
      const console = await machine.run('shutdown');
      expect(console).not.toContain('startup-script exit status');
      expect(machine.guest.markers().at(-1)).toMatchObject({
        status: 'FAILED',
        cause,
        step: 'run',
        exit_code: null,
        nonce: NONCE,
      });
      await machine.guest.until(() => machine.guest.deletes().length > 0);
    });
  }
}
