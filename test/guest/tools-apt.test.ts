// The tools step of images that have apt, with stand-ins for apt's programs and real gpg.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { fingerprintsIn, type SigningKey, SigningKeys } from '#test/guest/signing-keys.ts';
import { ToolsMachine } from '#test/guest/tools-machine.ts';

const DOCKER = ['docker', 'dockerd', 'containerd'];
const TOOLKIT = ['nvidia-ctk', 'nvidia-container-runtime-hook', 'nvidia-container-cli'];
const PHRASE = 'install Docker and the NVIDIA container toolkit';
/** What any user who installs by hand is told to trust (gpg --show-keys of the published keys). */
const DOCKER_KEY = '9DC858229FC7DD38854AE2D88D81803C0EBFCD88';
const NVIDIA_KEY = 'C95B321B61E88C1809C4F759DDCAE044F796ECB0';
const PIECE = readFileSync(
  join(import.meta.dirname, '../../shared/guest/pieces/tools-apt.sh'),
  'utf8',
);

let wanted: SigningKey;
/** What a key server may offer, by what is in it. */
const offers = { wanted: Buffer.of(), both: Buffer.of(), foreign: Buffer.of(), adopter: Buffer.of() };

beforeAll(() => {
  using keys = new SigningKeys();
  wanted = keys.make('wanted');
  const foreign = keys.make('foreign');
  offers.wanted = keys.export(wanted);
  offers.both = keys.export(foreign, wanted);
  offers.foreign = offers.foreign;
  offers.adopter = keys.export(keys.adopt('adopter', wanted));
});

interface Choices {
  readonly programs?: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

/** An image whose repositories are signed with the wanted key, which is pinned in both products' place. */
function makeMachine(choices: Choices = {}): ToolsMachine {
  const machine = new ToolsMachine({ pieces: ['gpu', 'tools-apt'], ...choices });
  for (const name of ['keys-of-gpg', 'keys-of-gpgkey']) machine.plan(name, offers.wanted);
  return machine;
}

const STEP = () =>
  `DOCKER_KEY=${wanted.fingerprint} NVIDIA_KEY=${wanted.fingerprint}; install_tools; echo done`;
const runStep = (machine: ToolsMachine) => machine.run(STEP());
const listsOf = (machine: ToolsMachine) => {
  const folder = join(machine.apt, 'sources.list.d');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
};
const packagesAsked = (machine: ToolsMachine) =>
  machine
    .calls('apt-get')
    .filter((call) => call.includes('install'))
    .map((call) => call.slice(call.indexOf('install') + 1).filter((word) => !word.startsWith('-')));
/** Calls as `program command`, each once, without what only asks. */
const deeds = (machine: ToolsMachine) =>
  machine
    .calls()
    .filter(([program, first]) => program !== 'gpg' && first !== '--print-architecture')
    .map((call) => {
      const words = call.filter((word, index) => !/^-|=/.test(word) || index === 0);
      return call.includes('--configure') ? 'dpkg --configure' : words.slice(0, 2).join(' ');
    });

const ALL_PACKAGES = ['docker-ce', 'docker-ce-cli', 'containerd.io', 'nvidia-container-toolkit'];

for (const { has, programs, packages, lists } of [
  {
    has: 'neither',
    programs: [],
    packages: [ALL_PACKAGES],
    lists: ['docker.list', 'nvidia-container-toolkit.list'],
  },
  {
    has: 'Docker',
    programs: DOCKER,
    packages: [ALL_PACKAGES.slice(3)],
    lists: ['nvidia-container-toolkit.list'],
  },
  {
    has: 'the toolkit',
    programs: TOOLKIT,
    packages: [ALL_PACKAGES.slice(0, 3)],
    lists: ['docker.list'],
  },
  { has: 'both', programs: [...DOCKER, ...TOOLKIT], packages: [], lists: [] },
]) {
  test(`B10: an image that has ${has}: only what is missing gets a repository and is asked for`, async () => {
    using machine = makeMachine({ programs });
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    expect(listsOf(machine)).toEqual(lists);
    expect(packagesAsked(machine)).toEqual(packages);
    expect(machine.calls('curl')).toHaveLength(lists.length);
  });
}

for (const missing of [...DOCKER, ...TOOLKIT]) {
  test(`B3: ${missing} alone is missing: its tool's packages are asked for, the other's are not`, async () => {
    using machine = makeMachine({
      programs: [...DOCKER, ...TOOLKIT].filter((program) => program !== missing),
    });
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    expect(packagesAsked(machine)).toEqual([
      DOCKER.includes(missing) ? ALL_PACKAGES.slice(0, 3) : ALL_PACKAGES.slice(3),
    ]);
  });
}

test('B10: without a GPU the toolkit is neither looked for nor configured', async () => {
  using machine = makeMachine({ variables: { GPU_COUNT: '0' } });
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(listsOf(machine)).toEqual(['docker.list']);
  expect(packagesAsked(machine)).toEqual([ALL_PACKAGES.slice(0, 3)]);
  expect(machine.calls('nvidia-ctk')).toEqual([]);
  expect(machine.read('work/tools-ready')).toBe('');
});

test('B2: where Docker cannot be had the step fails, and B7: its phrase is in what is said', async () => {
  using machine = makeMachine();
  machine.plan('apt-get-install.sh', 'echo "E: Unable to fetch some archives" >&2; exit 100');
  const { code, output } = await runStep(machine);
  expect(code).toBe(1);
  expect(output).toContain('E: Unable to fetch some archives');
  expect(output.trim().split('\n').at(-1)).toMatch(
    RegExp(`^\\[\\d+ s\\] ${PHRASE}: apt-get install docker-ce `),
  );
  expect(machine.read('work/tools-ready')).toBeUndefined();
});

for (const { architecture, id, codename } of [
  { architecture: 'amd64', id: 'ubuntu', codename: 'jammy' },
  { architecture: 'arm64', id: 'ubuntu', codename: 'noble' },
  { architecture: 'amd64', id: 'debian', codename: 'bookworm' },
]) {
  test(`B8, B9, B23, B43: the repositories of ${id} ${codename} on ${architecture}, each by its own key`, async () => {
    using machine = makeMachine();
    machine.plan('architecture', architecture);
    machine.plan('os-release', `VERSION_CODENAME='${codename}'\nID_LIKE=other\nID="${id}"\n`);
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    const options = (name: string) =>
      `[arch=${architecture} signed-by=${machine.apt}/keyrings/${name}.gpg]`;
    expect(machine.read('apt/sources.list.d/docker.list')).toBe(
      `deb ${options('docker')} https://download.docker.com/linux/${id} ${codename} stable\n`,
    );
    expect(machine.read('apt/sources.list.d/nvidia-container-toolkit.list')).toBe(
      `deb ${options('nvidia-container-toolkit')} ` +
        'https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /\n',
    );
    expect(machine.calls('curl').map((call) => call.at(-1))).toEqual([
      `https://download.docker.com/linux/${id}/gpg`,
      'https://nvidia.github.io/libnvidia-container/gpgkey',
    ]);
  });
}

for (const { id, what, spoil, isSkipped } of [
  { id: 'B11', what: 'all is as it was left', spoil: () => undefined, isSkipped: true },
  {
    id: 'B11',
    what: 'the marker file is gone',
    spoil: (machine: ToolsMachine) => machine.plan('../work/before.sh', 'rm "$WORK_DIR/tools-ready"'),
    isSkipped: false,
  },
  {
    id: 'B12',
    what: 'Docker is not active',
    spoil: (machine: ToolsMachine) => machine.plan('systemctl-is-active.sh', 'exit 3'),
    isSkipped: false,
  },
  {
    id: 'B13',
    what: 'docker info does not list the nvidia runtime',
    spoil: (machine: ToolsMachine) => machine.plan('../work/before.sh', 'rm "$STUB/with-nvidia"'),
    isSkipped: false,
  },
] as const) {
  test(`${id}: ${what}: the step ${isSkipped ? 'is skipped' : 'runs'}`, async () => {
    using machine = makeMachine();
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    const before = machine.calls().length;
    spoil(machine);
    const { code } = await machine.run(
      `[[ ! -e $WORK_DIR/before.sh ]] || source "$WORK_DIR/before.sh"\n${STEP()}`,
    );
    expect(code).toBe(0);
    const repairs = machine.calls().slice(before);
    expect(repairs.filter((call) => call.includes('--configure'))).toHaveLength(isSkipped ? 0 : 1);
    expect(machine.calls('nvidia-ctk')).toHaveLength(isSkipped ? 1 : 2);
  });
}

test('B13: without a GPU no nvidia runtime is needed to skip the step', async () => {
  using machine = makeMachine({ variables: { GPU_COUNT: '0' } });
  await runStep(machine);
  await runStep(machine);
  expect(machine.calls('dpkg').filter((call) => call.includes('--configure'))).toHaveLength(1);
});

test('B15, B80, B83: repair, update, install, configure, restart, check, in this order', async () => {
  using machine = makeMachine();
  await runStep(machine);
  expect(deeds(machine)).toEqual([
    'dpkg --configure',
    ...['curl', 'curl'].map(() => expect.stringMatching(/^curl /)),
    'apt-get update',
    ...['apt-cache policy', 'apt-cache policy', 'apt-cache policy', 'apt-cache policy'],
    'apt-get install',
    ...['nvidia-ctk runtime', 'systemctl restart', 'docker info'],
  ]);
  expect(machine.calls('nvidia-ctk')).toEqual([
    ['nvidia-ctk', 'runtime', 'configure', '--runtime=docker'],
  ]);
  expect(machine.calls('systemctl')).toEqual([['systemctl', 'restart', 'docker']]);
});

test('B14, B29: the marker file is written after Docker was started again and asked', async () => {
  using machine = makeMachine();
  machine.plan('docker-info.sh', 'ls "$BIN/../work" >>"$STUB/seen"');
  machine.plan('systemctl-restart.sh', 'ls "$BIN/../work" >>"$STUB/seen"');
  symlink(machine, 'ls');
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(machine.read('stub/seen')).toContain('apt.log');
  expect(machine.read('stub/seen')).not.toContain('tools-ready');
  expect(machine.read('work/tools-ready')).toBe('');
});

test('B30: a Docker that does not list the nvidia runtime fails the step, without a marker', async () => {
  using machine = makeMachine();
  machine.plan('nvidia-ctk-runtime.sh', 'exit 0');
  const { code, output } = await runStep(machine);
  expect(code).toBe(1);
  expect(output).toContain('runtimes: {"io.containerd.runc.v2":{"path":"runc"},"runc":');
  expect(output).toContain(PHRASE);
  expect(machine.read('work/tools-ready')).toBeUndefined();
});

test('B29: a start of Docker that failed once is tried again, no more: its unit has a limit', async () => {
  using machine = makeMachine();
  machine.plan('systemctl-restart.sh', '[[ -e $STUB/once ]] || { : >"$STUB/once"; exit 1; }');
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  using other = makeMachine();
  other.plan('systemctl-restart.sh', 'exit 1');
  expect(await runStep(other)).toMatchObject({ code: 1 });
  expect(other.calls('systemctl')).toHaveLength(2);
});

test('P43: the lock is held for 90 seconds from boot: the step waits and succeeds', async () => {
  using machine = makeMachine();
  machine.plan('locked-until', '90');
  const { code, output } = await runStep(machine);
  expect(code).toBe(0);
  expect(output).toContain('locked by another process with pid 4711');
  expect(machine.read('work/tools-ready')).toBe('');
});

test('P43, B16: the lock is held for 11 minutes: the repair gives up after 10, and names it', async () => {
  using machine = makeMachine();
  machine.plan('locked-until', '660');
  const { code, output } = await runStep(machine);
  expect(code).toBe(1);
  const said = output.trim().split('\n').slice(-2);
  expect(said[0]).toContain('dpkg frontend lock was locked by another process with pid 4711');
  expect(said[1]).toContain(`${PHRASE}: another process held the lock of dpkg or apt for 600 s`);
  // Uptime 5 s, and half a minute a try: the first try past 605 s is the last.
  expect(machine.calls('dpkg')).toHaveLength(20);
  expect(machine.calls('apt-get')).toEqual([]);
});

test("B16: what is not a lock is not waited for, and another package's fault not ours", async () => {
  using machine = makeMachine();
  machine.plan(
    'dpkg.sh',
    '[[ $* != *--configure* ]] || { echo "dpkg: error processing package acme"; exit 1; }',
  );
  const { code, output } = await runStep(machine);
  expect(code).toBe(0);
  expect(output).toContain('dpkg could not repair everything');
  expect(machine.calls('dpkg').filter((call) => call.includes('--configure'))).toHaveLength(1);
});

for (const command of ['update', 'install'] as const) {
  test(`P43: apt-get ${command} finds a lock that it does not wait for itself: it is tried again`, async () => {
    using machine = makeMachine();
    machine.plan(`apt-get-${command}.sh`, 'echo 120 >"$STUB/locked-until"');
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    expect(machine.calls('apt-get').filter((call) => call.includes(command))).toHaveLength(5);
  });
}

test('P43: apt 3 says Error where apt 2 says E', async () => {
  using machine = makeMachine();
  machine.plan(
    'apt-get-install.sh',
    '[[ -e $STUB/once ]] || { : >"$STUB/once"; echo "Error: Could not get lock /x"; exit 100; }',
  );
  expect(await runStep(machine)).toMatchObject({ code: 0 });
});

test('an installation that fails after a wait for the lock has not failed because of it', async () => {
  using machine = makeMachine();
  machine.plan(
    'apt-get-install.sh',
    'echo "Waiting for cache lock: Could not get lock /x... 9s"; echo "E: no space"; exit 100',
  );
  expect(await runStep(machine)).toMatchObject({ code: 1 });
  expect(packagesAsked(machine)).toHaveLength(1);
});

test('B27: every call of apt-get waits ten minutes for the lock of dpkg', async () => {
  using machine = makeMachine();
  await runStep(machine);
  const calls = machine.calls('apt-get');
  expect(calls).toHaveLength(2);
  for (const call of calls) {
    expect(call.slice(call.indexOf('DPkg::Lock::Timeout=600') - 1)[0]).toBe('-o');
  }
});

test('nothing asks a question: no front end, no restarts, old configuration files are kept', async () => {
  using machine = makeMachine();
  await runStep(machine);
  for (const told of [...machine.environmentOf('apt-get'), machine.environmentOf('dpkg')[0]]) {
    expect(told).toContain('DEBIAN_FRONTEND=noninteractive\nNEEDRESTART_SUSPEND=1\n');
  }
  const install = machine.calls('apt-get').find((call) => call.includes('install'));
  expect(install).toContain('--yes');
  expect(install).toContain('Dpkg::Options::=--force-confold');
  expect(install).toContain('--no-install-recommends');
  expect(machine.calls('dpkg')[0]).toEqual(['dpkg', '--configure', '-a', '--force-confold']);
});

test('B17: a step that was cut off in the middle of an installation is repaired by the next', async () => {
  using machine = makeMachine();
  machine.plan('apt-get-install.sh', 'bring docker; : >"$STUB/half"; rm -f "$STUB/repaired"; sleep 99');
  const first = machine.start(STEP());
  await machine.until(() => existsSync(join(machine.stub, 'half')));
  machine.kill(first.child);
  await first.exit;
  expect(machine.read('work/tools-ready')).toBeUndefined();
  const before = machine.calls().length;
  machine.plan('apt-get-install.sh', '[[ -e $STUB/repaired ]] || exit 100');
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(machine.calls()[before]?.slice(0, 3)).toEqual(['dpkg', '--configure', '-a']);
  expect(packagesAsked(machine).at(-1)).toEqual(ALL_PACKAGES);
  expect(machine.read('work/tools-ready')).toBe('');
});

test('a command that never ends is cut off', async () => {
  using machine = makeMachine();
  machine.plan('apt-get-install.sh', 'exec sleep 99');
  const { code, output } = await machine.run(`APT_SECONDS=1; ${STEP()}`);
  expect(code).toBe(1);
  expect(output).toContain(`${PHRASE}: apt-get install`);
});

test('B18, B81: keys are downloaded with retries, refused connections among them', async () => {
  using machine = makeMachine();
  await runStep(machine);
  for (const call of machine.calls('curl')) {
    expect(call[call.indexOf('--retry') + 1]).toBe('5');
    for (const flag of ['--retry-connrefused', '--fail', '--max-time', '--connect-timeout']) {
      expect(call).toContain(flag);
    }
    expect(call.at(-1)).toMatch(/^https:/);
  }
  using without = makeMachine();
  without.plan('curl.sh', 'echo "curl: (22) 503" >&2; exit 22');
  const { code, output } = await runStep(without);
  expect(code).toBe(1);
  expect(output).toContain(`${PHRASE}: https://download.docker.com/linux/ubuntu/gpg was not`);
});

test('B19: keys are imported into a private scratch folder, never into a keyring of the machine', async () => {
  using machine = makeMachine();
  await runStep(machine);
  const homes = machine.environmentOf('gpg').map((told) => told.split('\n')[0]);
  expect(homes.length).toBeGreaterThan(0);
  expect(new Set(homes)).toEqual(new Set([`GNUPGHOME=${machine.work}/gnupg`]));
  expect(statSync(join(machine.work, 'gnupg')).mode & 0o777).toBe(0o700);
});

test('B20, B81: of a file with two keys only the pinned one is exported, readable for apt', async () => {
  using machine = makeMachine();
  machine.plan('keys-of-gpg', offers.both);
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  const keyring = join(machine.apt, 'keyrings/docker.gpg');
  expect(fingerprintsIn(keyring)).toEqual([wanted.fingerprint]);
  expect(statSync(keyring).mode & 0o777).toBe(0o644);
  const verbs = machine.calls('gpg').map((call) => call.find((word) => /^--(im|ex|sh)/.test(word)));
  expect(verbs.slice(0, 3)).toEqual(['--import', '--export', '--show-keys']);
});

for (const { what, offered } of [
  { what: 'another key', offered: () => offers.foreign },
  { what: 'no key at all', offered: () => '<html>503 for a moment</html>' },
  { what: 'a key that has the pinned one as a subkey', offered: () => offers.adopter },
]) {
  test(`B21, B22: ${what} in the place of the pinned one: refused, and nothing is trusted`, async () => {
    for (const [name, host] of [
      ['keys-of-gpg', 'download.docker.com'],
      ['keys-of-gpgkey', 'nvidia.github.io'],
    ] as const) {
      using machine = makeMachine();
      machine.plan(name, offered());
      const { code, output } = await runStep(machine);
      expect(code).toBe(1);
      expect(output).toMatch(RegExp(`${PHRASE}: https://${host}.*is not the key`));
      expect(packagesAsked(machine)).toEqual([]);
      const trusted = name === 'keys-of-gpg' ? [] : ['docker.gpg'];
      expect(readdirSync(join(machine.apt, 'keyrings'))).toEqual(trusted);
    }
  });
}

test('B21, B22: the keys of Docker and of NVIDIA are pinned by their whole fingerprints', async () => {
  expect(PIECE).toContain(`\nDOCKER_KEY=${DOCKER_KEY}\n`);
  expect(PIECE).toContain(`\nNVIDIA_KEY=${NVIDIA_KEY}\n`);
  using machine = makeMachine();
  const { code, output } = await machine.run('install_tools');
  expect(code).toBe(1);
  expect(output).toContain(`is not the key ${DOCKER_KEY}`);
  using withDocker = makeMachine({ programs: DOCKER });
  expect((await withDocker.run('install_tools')).output).toContain(`is not the key ${NVIDIA_KEY}`);
});

test('B23: an older list of the same repository goes, or apt would refuse both; others stay', async () => {
  using machine = makeMachine();
  const folder = join(machine.apt, 'sources.list.d');
  mkdirSync(join(folder, 'folder'), { recursive: true });
  const url = 'https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /';
  writeFileSync(join(folder, 'nvidia.list'), `deb [signed-by=/usr/share/keyrings/old.gpg] ${url}\n`);
  writeFileSync(join(folder, 'acme.list'), 'deb https://acme.example.com stable main\n');
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(listsOf(machine)).toEqual([
    ...['acme.list', 'docker.list', 'folder', 'nvidia-container-toolkit.list'],
  ]);
});

test('B24, B82: errors of an update are tolerated where every package has its candidate', async () => {
  using machine = makeMachine();
  machine.plan('apt-get-update.sh', 'echo "E: Failed to fetch https://acme.example.com"; exit 100');
  const { code, output } = await runStep(machine);
  expect(code).toBe(0);
  expect(output).toContain('Failed to fetch https://acme.example.com');
  expect(machine.calls('apt-get').filter((call) => call.includes('update'))).toHaveLength(1);
});

for (const { what, answer } of [
  { what: 'the candidate (none)', answer: 'printf "%s:\\n  Candidate: (none)\\n" "$2"' },
  { what: 'not the package', answer: ':' },
]) {
  test(`B25, B26: apt knows ${what}: three tries, then the step fails and names it`, async () => {
    using machine = makeMachine();
    machine.plan('apt-cache.sh', `[[ $2 != containerd.io ]] || { ${answer}; exit 0; }`);
    const { code, output } = await runStep(machine);
    expect(code).toBe(1);
    expect(output).toContain('no candidate for containerd.io');
    expect(machine.calls('apt-get').map((call) => call.find((word) => /^[a-z]+$/.test(word)))).toEqual(
      ['update', 'update', 'update'],
    );
  });
}

test('B26: a candidate that is there at the third try is enough', async () => {
  using machine = makeMachine();
  machine.plan(
    'apt-cache.sh',
    'echo x >>"$STUB/asked"; [[ $(<"$STUB/asked") == x?x?x* ]] || exit 0',
  );
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(machine.calls('apt-get').filter((call) => call.includes('update'))).toHaveLength(3);
});

function symlink(machine: ToolsMachine, program: string): void {
  writeFileSync(join(machine.bin, program), `#!/bin/bash\nexec /bin/${program} "$@"\n`, {
    mode: 0o755,
  });
}
