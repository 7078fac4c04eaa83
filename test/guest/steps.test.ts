// The steps before the container runs: calls, credentials, image, start; and how each may fail.
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';
import { INSTANCE } from '#test/guest/intent.ts';

const IMAGE = 'europe-docker.pkg.dev/p/r/app:v1';
const TOKEN = '/instance/service-accounts/default/token';

let ordinary: GuestMachine;

/** One ordinary run; what only reads stands on it. */
beforeAll(async () => {
  ordinary = await GuestMachine.create({
    threads: 4,
    request: {
      command: ['python', '-m', 'job'],
      args: ['--n', '1'],
      env: { OMP_NUM_THREADS: '9', A: 'b' },
      workingDir: '/srv',
      capabilities: ['SYS_PTRACE'],
    },
  });
  ordinary.plan('pull.sh', 'echo "$(<"$RUN/steps.log")" >"$STUB/steps-at-pull"');
  await ordinary.run();
});
afterAll(() => ordinary[Symbol.asyncDispose]());

const runCall = (machine: GuestMachine) => machine.dockerCalls('run')[0] ?? [];
const valuesOf = (call: readonly string[], flag: string) =>
  call.flatMap((word, index) => (call[index - 1] === flag ? [word] : []));

test('A36: docker run has our flags, the environment, the mounts, the image, then the arguments', () => {
  const call = runCall(ordinary);
  expect(call.slice(0, 4)).toEqual(['run', '--detach', '--name', INSTANCE]);
  expect(call.slice(call.indexOf(IMAGE))).toEqual([IMAGE, '-m', 'job', '--n', '1']);
  expect(valuesOf(call, '--entrypoint')).toEqual(['python']);
  expect(valuesOf(call, '--workdir')).toEqual(['/srv']);
  expect(valuesOf(call, '--security-opt')).toEqual(['no-new-privileges']);
  expect(valuesOf(call, '--cap-drop')).toEqual(['ALL']);
  expect(valuesOf(call, '--cap-add')).toEqual([
    ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID', 'KILL', 'NET_BIND_SERVICE'],
    'SYS_PTRACE',
  ]);
  expect(call).toContain('--init');
  expect(call).not.toContain('--rm');
  expect(Number(valuesOf(call, '--pids-limit')[0])).toBeGreaterThan(1000);
  expect(
    valuesOf(call, '--mount').map((mount) => mount.replace(/source=[^,]*/, 'source=…')),
  ).toEqual([
    'type=bind,source=…,target=/mayfly/package,readonly',
    'type=bind,source=…,target=/mayfly/scratch',
  ]);
});

test("A32: the environment begins with the run's own variables", () => {
  const env = valuesOf(runCall(ordinary), '--env');
  expect(env.slice(0, 5)).toEqual([
    ...['MAYFLY_RUN_ID=run-1', 'MAYFLY_ATTEMPT=1', 'MAYFLY_RUNTIME=gce'],
    ...['MAYFLY_TASK_INDEX=0', 'MAYFLY_TASK_COUNT=1'],
  ]);
  const { boot_epoch } = ordinary.lastMarker();
  const deadline = new Date((Number(boot_epoch) + 7200) * 1000).toISOString();
  expect(env.slice(5, 8)).toEqual([
    `MAYFLY_DEADLINE=${deadline.replace('.000Z', 'Z')}`,
    'MAYFLY_PACKAGE_DIR=/mayfly/package',
    'MAYFLY_SCRATCH_DIR=/mayfly/scratch',
  ]);
});

test("A33: the five thread variables follow, sorted by name, then the request's own environment", () => {
  expect(valuesOf(runCall(ordinary), '--env').slice(8)).toEqual([
    ...['MKL_NUM_THREADS=4', 'NUMEXPR_NUM_THREADS=4', 'OMP_NUM_THREADS=4'],
    ...['OPENBLAS_NUM_THREADS=4', 'VECLIB_MAXIMUM_THREADS=4'],
    ...['OMP_NUM_THREADS=9', 'A=b'],
  ]);
});

test("docker bounds the container's log on disk", () => {
  const call = runCall(ordinary);
  expect(valuesOf(call, '--log-driver')).toEqual(['local']);
  expect(valuesOf(call, '--log-opt')).toEqual(['max-size=16m', 'max-file=2']);
});

test('A44: every call to the metadata server carries Metadata-Flavor: Google', () => {
  const calls = ordinary.google.requestsAt('/computeMetadata/');
  expect(calls.length).toBeGreaterThan(0);
  expect(calls.every(({ headers }) => headers['metadata-flavor'] === 'Google')).toBe(true);
});

test('A56: docker login gets the user oauth2accesstoken and the token on standard input', () => {
  expect(ordinary.dockerCalls('login')).toEqual([
    [
      ...['login', '--username', 'oauth2accesstoken', '--password-stdin'],
      'https://europe-docker.pkg.dev',
    ],
  ]);
  expect(ordinary.read('password')).toBe('token-1');
});

test('A57: the image is pulled before the run, and the step stands in the log', () => {
  const commands = ordinary.dockerCalls().map(([command]) => command);
  expect(commands.indexOf('pull')).toBeGreaterThan(commands.indexOf('login'));
  expect(commands.indexOf('run')).toBeGreaterThan(commands.indexOf('pull'));
  expect(ordinary.dockerCalls('pull')).toEqual([['pull', '--quiet', IMAGE]]);
  expect(ordinary.read('steps-at-pull')).toContain('step pull');
});

test('P46: credentials live in a private folder that is gone at the end', () => {
  expect(ordinary.read('docker-config')).toMatch(/\/run\/home\//);
  expect(ordinary.read('home-mode')).toBe('700');
  expect(existsSync(`${ordinary.small}/home`)).toBe(false);
});

test('A40: HOME and DOCKER_CONFIG are in a private folder', () => {
  expect(ordinary.read('docker-config')).toBe(`${ordinary.small}/home/.docker`);
});

test('D22: the token stands on no command line, and the log-in is undone once the image is there', async () => {
  await using machine = await GuestMachine.create({
    container: 'ls -A "$RUN/home/.docker" >"$STUB/config-during-run"',
  });
  const record =
    'printf "%s\\n" "$*" >>"$STUB/command-lines"; exec /usr/bin/env -i PATH=/usr/bin:/bin HOME=/ curl "$@"';
  machine.installText('curl', record);
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.read('command-lines')).not.toMatch(/token-\d/);
  expect(machine.dockerCalls().flat().join(' ')).not.toMatch(/token-\d/);
  expect(machine.read('config-during-run')).toBe('');
});

for (const [form, text] of [
  [
    'compact',
    (token: string) => `{"access_token":"${token}","expires_in":3599,"token_type":"Bearer"}`,
  ],
  [
    'pretty',
    (token: string) =>
      `{\n  "token_type": "Bearer",\n  "expires_in" : 3599,\n  "access_token" : "${token}"\n}\n`,
  ],
] as const) {
  test(`A45: the token is read from ${form} JSON without Python or jq`, async () => {
    await using machine = await GuestMachine.create();
    for (const tool of ['python3', 'python', 'jq', 'node', 'perl']) {
      machine.installText(tool, `echo ${tool} >>"$STUB/forbidden"; exit 127`);
    }
    machine.google.tokenText = text;
    await machine.run();
    expect(machine.lastMarker().status).toBe('SUCCEEDED');
    expect(existsSync(`${machine.stub}/forbidden`)).toBe(false);
  });
}

test('A42: the log of an earlier run of the script is gone', async () => {
  await using machine = await GuestMachine.create();
  await machine.run(
    'startup',
    `mkdir -p run && echo 'old words' >run/steps.log\n${machine.script()}`,
  );
  expect(machine.steps()).toContain('step report');
  expect(machine.steps()).not.toContain('old words');
});

test('A39: a failing command ends the script, and nothing after it runs', async () => {
  await using machine = await GuestMachine.create();
  const script = machine.script().replace('  step start\n', '  false\n  step start\n');
  await machine.run('startup', script);
  expect(machine.dockerCalls('run')).toEqual([]);
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause: 'step-failed' });
});

test('D9: one 503 of metadata, log-in and registry is repeated and does not fail the run', async () => {
  await using machine = await GuestMachine.create();
  machine.google.plant({ at: TOKEN, kind: 503 }, { at: 'instance/id', kind: 503 });
  machine.plan('fail-login', '1');
  machine.plan('fail-pull', '2');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 });
});

for (const [command, step] of [
  ['login', 'credentials'],
  ['pull', 'pull'],
  ['run', 'start'],
] as const) {
  test(`D21: a failure of docker ${command} is step ${step}, without an exit code that could be the job's`, async () => {
    await using machine = await GuestMachine.create({ guest: { tries: 2 } });
    machine.plan(`fail-${command}`, '1000');
    await machine.run();
    const marker = machine.lastMarker();
    expect(marker).toMatchObject({ status: 'FAILED', cause: 'step-failed', step, exit_code: null });
    expect(marker.detail).toContain(`docker ${command}: planted failure`);
    expect(machine.dockerCalls(command)).toHaveLength(command === 'run' ? 1 : 2);
    expect(machine.deletes()).toHaveLength(1);
  });
}

test('D21: a machine without docker says so in step tools', async () => {
  await using machine = await GuestMachine.create();
  const script = machine.script().replace('command -v docker', 'command -v no-docker-here');
  await machine.run('startup', script);
  expect(machine.lastMarker()).toMatchObject({ cause: 'step-failed', step: 'tools' });
  expect(machine.lastMarker().detail).toContain('has no docker');
});

test('D21: an out-of-memory kill is told from an ordinary 137', async () => {
  await using machine = await GuestMachine.create({ container: 'exit 137' });
  machine.plan('oom-killed', 'true');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ cause: 'out-of-memory', exit_code: 137 });
});

for (const at of [
  TOKEN,
  'name=runs%2Fgce-status',
  'GET /storage/v1/b/b1/o/runs%2Fgce-status',
  'DELETE /compute',
]) {
  test(`D8: a call that never answers is cut off and repeated: ${at}`, async () => {
    await using machine = await GuestMachine.create({ guest: { callSeconds: 1 } });
    machine.google.plant({ at, kind: 'hang' });
    await machine.run();
    expect(machine.lastMarker().status).toBe('SUCCEEDED');
    expect(machine.deletes().at(-1)?.status).toBe(200);
  });
}

test('D8: a docker command that hangs is cut off', async () => {
  await using machine = await GuestMachine.create({ guest: { pullSeconds: 1, tries: 2 } });
  machine.plan('pull.sh', 'exec sleep 60');
  await machine.run();
  expect(machine.dockerCalls('pull')).toHaveLength(2);
  expect(machine.lastMarker()).toMatchObject({ step: 'pull', cause: 'step-failed' });
});

test('D14: with a registry that planning does not allow there is no log-in at all', async () => {
  await using machine = await GuestMachine.create({ request: { image: 'ghcr.io/acme/app:1' } });
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.dockerCalls('login')).toEqual([]);
  expect(machine.dockerCalls('logout')).toEqual([]);
});

test('B31: an image that cannot be pulled is a failure of step pull, with docker’s words', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('pull.sh', 'echo "manifest unknown: no tag v1" >&2; exit 1');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({
    cause: 'step-failed',
    step: 'pull',
    permanent: true,
  });
  expect(machine.lastMarker().detail).toContain('no tag v1');
  // The same again would end the same way.
  expect(machine.dockerCalls('pull')).toHaveLength(1);
});

test('B32: a pull that fails twice for a cause that may pass is repeated', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('fail-pull', '2');
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.dockerCalls('pull')).toHaveLength(3);
});
