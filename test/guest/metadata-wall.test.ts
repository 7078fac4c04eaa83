// The metadata server is closed to the container unless the request opens it: which rules the machine
// sets, and what a container that ran into the wall is told. (What the rules do is seen with a real engine.)
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';

const rulesOf = (machine: GuestMachine) => machine.read('iptables').split('\n');

test('D29: TCP 80 and 443 of the metadata server are closed before the container starts, and nothing else', async () => {
  await using machine = await GuestMachine.create();
  machine.plan('run.sh', 'cp "$STUB/iptables" "$STUB/rules-at-start"');
  await machine.run();
  expect(machine.read('rules-at-start').split('\n')).toEqual(
    [80, 443].map(
      (port) =>
        `-w 10 -I DOCKER-USER -d 169.254.169.254 -p tcp --dport ${port} -j REJECT --reject-with tcp-reset`,
    ),
  );
});

test('metadataAccess leaves the metadata server open', async () => {
  await using machine = await GuestMachine.create({ request: { metadataAccess: true } });
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  expect(() => machine.read('iptables')).toThrow('ENOENT');
});

test('without docker’s own chain the rule stands in FORWARD; without the reset packets are dropped', async () => {
  await using machine = await GuestMachine.create();
  machine.installText(
    'iptables',
    `echo "$*" >>"$STUB/iptables"; [[ $* != *DOCKER-USER* && $* != *REJECT* ]]`,
  );
  await machine.run();
  expect(machine.lastMarker().status).toBe('SUCCEEDED');
  const worked = rulesOf(machine).filter((rule) => !/DOCKER-USER|REJECT/.test(rule));
  expect(worked).toEqual(
    [80, 443].map((port) => `-w 10 -I FORWARD -d 169.254.169.254 -p tcp --dport ${port} -j DROP`),
  );
});

test('D29: a wall that cannot be built ends the run before the container starts', async () => {
  await using machine = await GuestMachine.create();
  machine.installText('iptables', 'echo "no kernel support" >&2; exit 3');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ cause: 'step-failed', step: 'start' });
  expect(machine.lastMarker().detail).toContain('could not be closed');
  expect(machine.dockerCalls('run')).toEqual([]);
});

const MESSAGES = [
  'google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.',
  'Could not load the default credentials. Browse to https://cloud.google.com/docs',
  'dial tcp 169.254.169.254:80: connect: connection refused',
  'Failed to retrieve http://metadata.google.internal/computeMetadata/v1/',
];

test.each(MESSAGES)(
  'a failed container that says "%s" is told of metadataAccess',
  async (message) => {
    await using machine = await GuestMachine.create({ container: `echo '${message}'; exit 1` });
    await machine.run();
    const { detail } = machine.lastMarker();
    expect(detail.startsWith(message)).toBe(true);
    expect(detail).toMatch(/\nMayfly: .*metadataAccess in the request opens it$/);
  },
);

test.each([
  ['succeeded', `echo '${MESSAGES[0]}'; exit 0`, false],
  ['had access', `echo '${MESSAGES[0]}'; exit 1`, true],
  ['failed otherwise', 'echo "ZeroDivisionError"; exit 1', false],
] as const)(
  'a container that %s is not told of metadataAccess',
  async (_, container, metadataAccess) => {
    await using machine = await GuestMachine.create({ container, request: { metadataAccess } });
    await machine.run();
    expect(machine.lastMarker().detail).not.toContain('Mayfly');
  },
);
