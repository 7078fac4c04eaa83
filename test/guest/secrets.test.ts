// Secrets and registry credentials: read on the machine, kept in memory, on no command line.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';

const TOKEN = 'projects/p/secrets/token/versions/3';
const KEY = 'projects/p/secrets/key/versions/1';
/** Every byte that a shell could lose or change. */
const HOSTILE = Buffer.from('a"b\\c $HOME `id` é\n\nline\n\n');

async function machineWith(secrets: Record<string, string>, user = ''): Promise<GuestMachine> {
  const machine = await GuestMachine.create({ request: { secrets } });
  machine.google.secrets.set(TOKEN, HOSTILE);
  machine.google.secrets.set(KEY, Buffer.from([0, 1, 2, 255, 10]));
  machine.plan('image.sh', `echo "amd64|${user}|r@sha256:${'ab'.repeat(32)} "; exit`);
  return machine;
}

test('B37: a secret is a variable of the container, byte for byte, and on no command line', async () => {
  await using machine = await machineWith({ TOKEN });
  machine.plan('run.sh', 'printenv -0 TOKEN >"$STUB/token"');
  machine.plan('wait.sh', 'printenv TOKEN >"$STUB/token-later"; true');
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.readBytes('token')).toEqual(Buffer.concat([HOSTILE, Buffer.from([0])]));
  const [run = []] = machine.dockerCalls('run');
  expect(run[run.indexOf('TOKEN') - 1]).toBe('--env');
  expect(machine.dockerCalls().flat().join('\n')).not.toContain('line');
  // Of our own programs only the start gets it.
  expect(machine.read('token-later')).toBe('');
});

test('P105: secrets with names of the script’s own variables change nothing but the container', async () => {
  const names = ['TOKEN', 'IMAGE', 'RUN_DIR', 'SECRET_EXPORTS', 'code', 'value', 'seconds', 'file'];
  await using machine = await machineWith(Object.fromEntries(names.map((name) => [name, KEY])));
  machine.google.secrets.set(KEY, Buffer.from('secret'));
  machine.plan(
    'run.sh',
    `for name in ${names.join(' ')}; do printenv "$name"; done >"$STUB/values"`,
  );
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.read('values').split('\n')).toEqual(names.map(() => 'secret'));
  expect(machine.deletes()).toHaveLength(1);
});

test('B37: a secret is a file in memory that only root can read, mounted read-only', async () => {
  await using machine = await machineWith({ '/etc/key': KEY });
  machine.plan(
    'run.sh',
    'stat -c "%a %U" "$RUN/secrets/0" >"$STUB/mode"; cat "$RUN/secrets/0" >"$STUB/key"',
  );
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.readBytes('key')).toEqual(machine.google.secrets.get(KEY));
  expect(machine.read('mode')).toMatch(/^600 /);
  const [run = []] = machine.dockerCalls('run');
  expect(run).toContain(`type=bind,source=${machine.small}/secrets/0,target=/etc/key,readonly`);
  expect(existsSync(`${machine.small}/secrets`)).toBe(false);
});

test('B37: an image whose user has a name can read the file, inside a folder that only root can enter', async () => {
  await using machine = await machineWith({ '/etc/key': KEY }, 'app');
  machine.plan('run.sh', 'stat -c %a "$RUN/secrets/0" "$RUN/secrets" >"$STUB/modes"');
  await machine.run();
  expect(machine.read('modes')).toBe('444\n700');
});

test.skipIf(process.getuid?.() !== 0)(
  'B37: an image whose user is a number owns the file',
  async () => {
    await using machine = await machineWith({ '/etc/key': KEY }, '1234:5');
    machine.plan('run.sh', 'stat -c "%a %u" "$RUN/secrets/0" >"$STUB/mode"');
    await machine.run();
    expect(machine.read('mode')).toBe('600 1234');
  },
);

test.each([
  [404, 'HTTP 404', true],
  [403, 'HTTP 403', true],
  [503, 'HTTP 503', false],
] as const)(
  'a secret that answers %i for long ends the run in step credentials',
  async (status, words, permanent) => {
    await using machine = await machineWith({ TOKEN });
    machine.google.plant({ at: ':access', kind: status, times: 1000 });
    await machine.run();
    expect(machine.lastMarker()).toMatchObject({
      cause: 'step-failed',
      step: 'credentials',
      permanent,
    });
    expect(machine.lastMarker().detail).toContain(`secret ${TOKEN}: ${words}`);
    expect(machine.dockerCalls('run')).toEqual([]);
  },
);

test('a secret is asked for again after an answer that may pass', async () => {
  await using machine = await machineWith({ TOKEN });
  machine.google.plant({ at: ':access', kind: 503 }, { at: ':access', kind: 'cut' });
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
});

test('imageCredentials are docker’s configuration for the pull, and gone before the container runs', async () => {
  const config = '{"auths":{"quay.io":{"auth":"dTpw"}}}';
  await using machine = await GuestMachine.create({
    request: { image: 'quay.io/o/a:1', imageCredentials: KEY },
    container: 'ls -A "$RUN/home/.docker" >"$STUB/during-run"',
  });
  machine.google.secrets.set(KEY, Buffer.from(config));
  machine.plan(
    'pull.sh',
    'cat "$DOCKER_CONFIG/config.json" >"$STUB/config"; stat -c %a "$DOCKER_CONFIG/config.json" >"$STUB/mode"',
  );
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(machine.read('config')).toBe(config);
  expect(machine.read('mode')).toBe('600');
  expect(machine.read('during-run')).toBe('');
  expect(machine.dockerCalls('login')).toEqual([]);
});
