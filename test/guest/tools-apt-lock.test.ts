// The tools step of images that have apt, while the updates at boot hold the locks.
import { expect, test } from 'vitest';
import {
  callsOfApt,
  makeAptMachine,
  PHRASE,
  packagesAsked,
  repairs,
  runStep,
} from '#test/guest/apt-machine.ts';

test('P43: the lock is held for 90 seconds from boot: the step waits and succeeds', async () => {
  using machine = makeAptMachine();
  machine.plan('locked-until', '90');
  const { code, output } = await runStep(machine);
  expect(code).toBe(0);
  expect(output).toContain('locked by another process with pid 4711');
  expect(machine.read('work/tools-ready')).toBe('');
});

test('P43, B16: the lock is held for 11 minutes: the repair gives up after 10, and names it', async () => {
  using machine = makeAptMachine();
  machine.plan('locked-until', '660');
  const { code, output } = await runStep(machine);
  expect(code).toBe(1);
  const said = output.trim().split('\n').slice(-2);
  expect(said[0]).toContain('dpkg frontend lock was locked by another process with pid 4711');
  expect(said[1]).toContain(`${PHRASE}: another process held the lock of dpkg or apt for 600 s`);
  // From an uptime of 5 s on, half a minute a try: the one that ends at 605 s is the last.
  expect(repairs(machine)).toHaveLength(20);
  expect(machine.calls('apt-get')).toEqual([]);
});

test("B16: what is not a lock is not waited for, and another package's fault is not ours", async () => {
  using machine = makeAptMachine();
  machine.plan(
    'dpkg.sh',
    '[[ $* != *--configure* ]] || { echo "dpkg: error processing package acme"; exit 1; }',
  );
  const { code, output } = await runStep(machine);
  expect(code).toBe(0);
  expect(output).toContain('dpkg could not repair everything');
  expect(repairs(machine)).toHaveLength(1);
});

for (const command of ['update', 'install']) {
  test(`P43: apt-get ${command} meets a lock that it does not wait for: it is tried again`, async () => {
    using machine = makeAptMachine();
    machine.plan(`apt-get-${command}.sh`, 'echo 65 >"$STUB/locked-until"');
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    expect(callsOfApt(machine, command)).toHaveLength(3);
  });
}

for (const { said, tries } of [
  { said: 'Error: Could not get lock /var/cache/apt/archives/lock.', tries: 20 },
  { said: 'Waiting for cache lock: Could not get lock /x... 9s\nE: no space left', tries: 1 },
]) {
  test(`P43: apt-get says “${said.replace('\n', ' ')}”: ${tries === 1 ? 'no lock is to blame' : 'apt 3 means a lock'}`, async () => {
    using machine = makeAptMachine();
    const clock = 'read -r now _ <"$STUB/uptime"; echo "$((now + 30)) 0" >"$STUB/uptime"';
    machine.plan('apt-get-install.sh', `${clock}; echo '${said}'; exit 100`);
    const { code, output } = await runStep(machine);
    expect(code).toBe(1);
    expect(packagesAsked(machine)).toHaveLength(tries);
    expect(output.includes('held the lock')).toBe(tries > 1);
  });
}

test('B27: every call of apt-get waits ten minutes for the lock of dpkg', async () => {
  using machine = makeAptMachine();
  await runStep(machine);
  const calls = machine.calls('apt-get');
  expect(calls).toHaveLength(2);
  for (const call of calls) {
    expect(call.slice(call.indexOf('DPkg::Lock::Timeout=600') - 1)[0]).toBe('-o');
  }
});
