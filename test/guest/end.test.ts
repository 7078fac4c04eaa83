// How a run ends: signals, power-off, preemption, limits; the report before the delete, and the delete.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';

const RUNNING = ': >"$STUB/running"; sleep 60';
const MARKER_UPLOAD = 'uploadType=media&name=runs%2Fgce-status';

for (const code of [0, 5]) {
  test(`A9: the machine deletes itself after a container that exits with ${code}`, async () => {
    await using machine = await GuestMachine.create({ container: `exit ${code}` });
    await machine.run();
    expect(machine.lastMarker().exit_code).toBe(code);
    expect(machine.deletes().map(({ status }) => status)).toEqual([200]);
  });
}

test('A52: the delete names this machine by REST and carries its token', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  const [call] = machine.deletes();
  expect(call?.path).toBe(
    '/compute/v1/projects/p1/zones/europe-west1-b/instances/mayfly-run-1-0123456789ab-1',
  );
  expect(call?.headers.authorization).toBe('Bearer token-1');
});

for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
  test(`D1: ${signal} while the container runs is never SUCCEEDED, and the container is stopped`, async () => {
    await using machine = await GuestMachine.create({
      container: `trap 'echo stopped; exit 0' TERM; ${RUNNING} & wait`,
    });
    const started = machine.start();
    await machine.untilContainerRuns();
    started.child.kill(signal);
    await started.exit;
    expect(machine.lastMarker()).toMatchObject({
      status: 'FAILED',
      cause: 'interrupted',
      step: 'run',
      exit_code: null,
    });
    expect(machine.dockerCalls('stop')).toHaveLength(1);
    expect(machine.deletes()).toHaveLength(1);
  });
}

test('D1: TERM during the pull is interrupted at once, and no container is started', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('pull.sh', ': >"$STUB/pulling"; exec sleep 60');
  const started = machine.start();
  await machine.until(() => existsSync(`${machine.stub}/pulling`));
  started.child.kill('SIGTERM');
  await started.exit;
  expect(machine.lastMarker()).toMatchObject({
    status: 'FAILED',
    cause: 'interrupted',
    step: 'pull',
  });
  expect(machine.dockerCalls('run')).toEqual([]);
});

for (const [name, container] of [
  ['exits with 0 on TERM', 'exit 0'],
  ['exits with 7', 'exit 7'],
  ['was killed', 'exit 137'],
] as const) {
  test(`D1: a container that ${name} while the machine is going down is interrupted, nothing else`, async () => {
    await using machine = await GuestMachine.create({
      container: `echo stopping >"$STUB/system-state"; ${container}`,
    });
    machine.plan('oom-killed', 'true');
    await machine.run();
    expect(machine.lastMarker()).toMatchObject({
      status: 'FAILED',
      cause: 'interrupted',
      exit_code: null,
    });
  });
}

test('D1: with docker gone and the machine going down the run is interrupted', async () => {
  await using machine = await GuestMachine.create({ container: RUNNING });
  machine.plan('wait.sh', 'echo stopping >"$STUB/system-state"; exit 1');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause: 'interrupted' });
});

test('a stop of a preempted machine is reported as preempted', async () => {
  await using machine = await GuestMachine.create({ container: RUNNING });
  const started = machine.start();
  await machine.untilContainerRuns();
  machine.google.metadata.set('instance/preempted', 'TRUE');
  started.child.kill('SIGTERM');
  await started.exit;
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause: 'preempted' });
});

test('an interrupted run is reported before its container has ended', async () => {
  await using machine = await GuestMachine.create({
    container: `trap 'until [[ -e "$STUB/go" ]]; do sleep 0.02; done; exit 0' TERM; ${RUNNING} & wait`,
    guest: { interruptGraceSeconds: 30 },
  });
  const started = machine.start();
  await machine.untilContainerRuns();
  started.child.kill('SIGTERM');
  await machine.until(() => machine.lastMarker().status === 'FAILED');
  expect(existsSync(`${machine.stub}/exit`)).toBe(false);
  machine.plan('go', '');
  await started.exit;
});

test('D19: further signals during the clean-up end neither the report nor the delete', async () => {
  await using machine = await GuestMachine.create({
    container: RUNNING,
    guest: { callSeconds: 2 },
  });
  const started = machine.start();
  await machine.untilContainerRuns();
  machine.google.plant({ at: MARKER_UPLOAD, kind: 'hang' });
  const uploads = () => machine.google.requestsAt(MARKER_UPLOAD).length;
  const before = uploads();
  started.child.kill('SIGTERM');
  await machine.until(() => uploads() > before);
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGTERM'] as const)
    started.child.kill(signal);
  await started.exit;
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause: 'interrupted' });
  expect(machine.deletes()).toHaveLength(1);
});

test('A54: a clean-up whose parts fail runs once to its end', async () => {
  await using machine = await GuestMachine.create({ guest: { tries: 2 } });
  machine.plan('fail-logs', '1000');
  machine.google.plant({ at: 'log.txt', kind: 500, times: 1000 });
  machine.installText('rm', 'exit 1');
  await machine.run();
  expect(machine.markers().map(({ status }) => status)).toEqual(['RUNNING', 'SUCCEEDED']);
  expect(machine.deletes()).toHaveLength(1);
});

test('D2: a delete that fails for a while is repeated until it is taken', async () => {
  await using machine = await GuestMachine.create();
  machine.google.plant(
    { at: 'DELETE', kind: 503, times: 3 },
    { at: 'DELETE', kind: 'cut', times: 1 },
  );
  await machine.run();
  expect(machine.deletes().map(({ status }) => status)).toEqual([503, 503, 503, 0, 200]);
});

test('a machine that is gone already for Compute counts as deleted', async () => {
  await using machine = await GuestMachine.create();
  machine.google.plant({ at: 'DELETE', kind: 404 });
  await machine.run();
  expect(machine.deletes()).toHaveLength(1);
  expect(machine.steps()).not.toContain('refused');
});

test('A53: a refused delete leaves the machine running: it is never shut down', async () => {
  await using machine = await GuestMachine.create({ guest: { deleteTries: 3 } });
  for (const tool of ['shutdown', 'poweroff', 'halt', 'reboot']) {
    machine.installText(tool, `echo ${tool} >>"$STUB/power"`);
  }
  machine.google.plant({ at: 'DELETE', kind: 403, times: 1000 });
  await machine.run();
  expect(machine.deletes()).toHaveLength(3);
  expect(existsSync(`${machine.stub}/power`)).toBe(false);
  expect(machine.script()).not.toMatch(/shutdown -h|poweroff|halt\b/);
});

test('P50: a refused delete goes to a guest attribute and the log, and the marker stands', async () => {
  await using machine = await GuestMachine.create({ guest: { deleteTries: 2 } });
  machine.google.plant({ at: 'DELETE', kind: 403, times: 1000 });
  await machine.run();
  expect(machine.markers().map(({ status }) => status)).toEqual(['RUNNING', 'SUCCEEDED']);
  expect(machine.google.guestAttributes.get('mayfly/detail')).toBe('self-delete refused: HTTP 403');
  expect(machine.steps()).toContain('the delete was refused');
});

test('the machine waits for the delete by the control plane before it deletes itself', async () => {
  await using machine = await GuestMachine.create({ guest: { selfDeleteDelaySeconds: 7 } });
  machine.installText('sleep', 'echo "$1" >>"$STUB/sleeps"; [[ $1 == 7 ]] || exec /bin/sleep "$1"');
  machine.plan('container.sh', 'exit 0');
  await machine.run();
  expect(machine.read('sleeps').split('\n')).toContain('7');
  expect(machine.deletes()).toHaveLength(1);
});

test('a container past its time limit gets TERM, then KILL, and the run is a timeout', async () => {
  await using machine = await GuestMachine.create({
    request: { timeoutSeconds: 2 },
    container: `trap 'echo got TERM' TERM; : >"$STUB/running"; while :; do sleep 0.05; done`,
    guest: { stopGraceSeconds: 1 },
  });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    status: 'FAILED',
    cause: 'timeout',
    exit_code: null,
    detail: expect.stringContaining('got TERM'),
  });
  expect(machine.dockerCalls('stop')[0]).toEqual(['stop', '-t', '1', expect.any(String)]);
});

test('a container that ends with 0 at its time limit is still a timeout', async () => {
  await using machine = await GuestMachine.create({
    request: { timeoutSeconds: 2 },
    container: `trap 'exit 0' TERM; ${RUNNING} & wait`,
  });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    status: 'FAILED',
    cause: 'timeout',
    exit_code: null,
  });
});

test("the machine's own end, counted from its boot, is a ttl whatever step it meets", async () => {
  await using machine = await GuestMachine.create({
    request: { ttlSeconds: 700 },
    // Booted 579 s ago: 121 s are left, and the work must have ended 120 s before.
    guest: { uptimeFile: 'uptime', endMarginSeconds: 120 },
  });
  machine.plan('pull.sh', ': >"$STUB/pulling"; exec sleep 60');
  machine.setUptime('579.00 1');
  const started = machine.start();
  await machine.until(() => existsSync(`${machine.stub}/pulling`));
  expect(machine.markers()).toHaveLength(1);
  machine.setUptime('580.00 1');
  await started.exit;
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause: 'ttl', step: 'pull' });
});

test('docker that says nothing certain about the end is a failed step, never a success', async () => {
  await using machine = await GuestMachine.create({ container: RUNNING, guest: { tries: 3 } });
  machine.plan('wait.sh', 'echo ""; exit 0');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    cause: 'step-failed',
    step: 'run',
    exit_code: null,
  });
  expect(machine.dockerCalls('stop')).toHaveLength(1);
});

test('a Spot machine’s notice ends the run as preempted before anything is powered off', async () => {
  await using machine = await GuestMachine.create({
    container: RUNNING,
    provisioningModel: 'SPOT',
  });
  const started = machine.start();
  await machine.untilContainerRuns();
  machine.google.metadata.set('instance/preempted', 'TRUE');
  await started.exit;
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause: 'preempted', step: 'run' });
  expect(machine.dockerCalls('stop')).toHaveLength(1);
});

test('a machine on demand asks nobody whether it is being preempted', async () => {
  await using machine = await GuestMachine.create();
  await machine.run();
  expect(machine.google.requestsAt('instance/preempted')).toEqual([]);
});

test('keepOnFailureSeconds: a failed machine stays so long after its report, then deletes itself', async () => {
  await using machine = await GuestMachine.create({
    container: 'exit 3',
    request: { keepOnFailureSeconds: 7000 },
  });
  machine.installText('sleep', '[[ $1 != 7000 ]] || echo "$1" >"$STUB/kept"; exec /bin/sleep 0.01');
  await machine.run();
  expect(machine.read('kept')).toBe('7000');
  const order = machine.google.requests.map(({ method }) => method);
  expect(order.at(-1)).toBe('DELETE');
  expect(machine.deletes()).toHaveLength(1);
});

test('keepOnFailureSeconds: a machine whose run succeeded does not stay', async () => {
  await using machine = await GuestMachine.create({ request: { keepOnFailureSeconds: 7000 } });
  machine.installText('sleep', '[[ $1 != 7000 ]] || : >"$STUB/kept"; exec /bin/sleep 0.01');
  await machine.run();
  expect(existsSync(`${machine.stub}/kept`)).toBe(false);
  expect(machine.deletes()).toHaveLength(1);
});

test('a claim that was sent when the machine was stopped is looked up, and the end is reported', async () => {
  await using machine = await GuestMachine.create();
  const started = machine.start.bind(machine);
  let child: ReturnType<GuestMachine['start']> | null = null;
  // The claim is written; its reply never comes, and the power goes.
  machine.google.plant({
    at: 'claim.json&ifGenerationMatch=0',
    kind: 'lose-reply',
    whenPlayed: () => child?.child.kill('SIGTERM'),
  });
  child = started();
  await child.exit;
  expect(machine.lastMarker()).toMatchObject({
    status: 'FAILED',
    cause: 'interrupted',
    step: 'boot',
  });
  expect(machine.dockerCalls()).toEqual([]);
});
