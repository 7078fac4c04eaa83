// What a request may say to its container reaches no tool of the machine: those run with an environment
// of their own.
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';

/** For the stub: what docker itself is given. */
const RECORD =
  '{ echo "$HOME"; printenv DOCKER_HOST || echo unset; printenv LD_PRELOAD || echo unset; echo "$PATH"; }';

test('P105: variables that would steer the machine’s own tools reach the container alone', async () => {
  const env = { LD_PRELOAD: '/x.so', PATH: '/evil', DOCKER_HOST: 'tcp://h:1', HOME: '/evil' };
  await using machine = await GuestMachine.create({ request: { env } });
  machine.plan('run.sh', `${RECORD} >"$STUB/run-environment"`);
  machine.plan('wait.sh', `${RECORD} >"$STUB/wait-environment"`);
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  for (const name of ['run-environment', 'wait-environment']) {
    const [home, dockerHost, preload, path] = machine.read(name).split('\n');
    expect([home, dockerHost, preload]).toEqual([`${machine.small}/home`, 'unset', 'unset']);
    expect(path).toMatch(/\/stub\/bin:/);
  }
  const [call = []] = machine.dockerCalls('run');
  const pairs = call.filter((_, index) => call[index - 1] === '--env');
  expect(pairs.slice(-4)).toEqual(Object.entries(env).map(([name, value]) => `${name}=${value}`));
});

test.each([
  ['has none of its own', {}, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ['has one of its own', { TRACEPARENT: 'mine' }, 'mine'],
])('the trace of a request that %s', async (_, env, value) => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  await using machine = await GuestMachine.create({ request: { env }, traceparent });
  await machine.run();
  const [call = []] = machine.dockerCalls('run');
  const pairs = call.filter((_, index) => call[index - 1] === '--env');
  expect(pairs.filter((pair) => pair.startsWith('TRACEPARENT'))).toEqual([`TRACEPARENT=${value}`]);
});

test('A40: every call of docker has HOME and its configuration in the private folder', async () => {
  await using machine = await GuestMachine.create();
  for (const command of ['login', 'pull', 'run']) {
    machine.plan(`${command}.sh`, `echo "$HOME $DOCKER_CONFIG" >"$STUB/folders-${command}"`);
  }
  await machine.run();
  for (const command of ['login', 'pull', 'run']) {
    const folder = `${machine.small}/home`;
    expect(machine.read(`folders-${command}`)).toBe(`${folder} ${folder}/.docker`);
  }
});
