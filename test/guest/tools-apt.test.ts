// The tools step of images that have apt: what is installed, in which order, and when it is skipped.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  callsOfApt,
  DOCKER,
  DOCKER_PACKAGES,
  listsOf,
  makeAptMachine,
  PHRASE,
  packagesAsked,
  repairs,
  runStep,
  TOOLKIT,
  TOOLKIT_PACKAGES,
} from '#test/guest/apt-machine.ts';
import type { ToolsMachine } from '#test/guest/tools-machine.ts';

/** One ordinary step; what only reads stands on it. */
let ordinary: ToolsMachine;

beforeAll(async () => {
  ordinary = makeAptMachine();
  for (const call of ['systemctl-restart', 'docker-info']) {
    ordinary.plan(`${call}.sh`, '[[ ! -e $BIN/../work/tools-ready ]] || : >"$STUB/too-early"');
  }
  expect(await runStep(ordinary)).toMatchObject({ code: 0 });
});
afterAll(() => ordinary[Symbol.dispose]());

test('B10: an image that has neither tool gets both repositories and is asked for both', () => {
  expect(listsOf(ordinary)).toEqual(['docker.list', 'nvidia-container-toolkit.list']);
  expect(packagesAsked(ordinary)).toEqual([[...DOCKER_PACKAGES, ...TOOLKIT_PACKAGES]]);
});

for (const { has, programs, packages, lists } of [
  {
    has: 'Docker',
    programs: DOCKER,
    packages: [TOOLKIT_PACKAGES],
    lists: ['nvidia-container-toolkit.list'],
  },
  {
    has: 'the toolkit',
    programs: TOOLKIT,
    packages: [DOCKER_PACKAGES],
    lists: ['docker.list'],
  },
  { has: 'both', programs: [...DOCKER, ...TOOLKIT], packages: [], lists: [] },
]) {
  test(`B10: an image that has ${has}: only what is missing gets a repository and is asked for`, async () => {
    using machine = makeAptMachine({ programs });
    expect(await runStep(machine)).toMatchObject({ code: 0 });
    expect(listsOf(machine)).toEqual(lists);
    expect(packagesAsked(machine)).toEqual(packages);
    expect(machine.calls('curl')).toHaveLength(lists.length);
  });
}

test('B10: without a GPU the toolkit is neither looked for nor configured', async () => {
  using machine = makeAptMachine({ variables: { GPU_COUNT: '0' } });
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(listsOf(machine)).toEqual(['docker.list']);
  expect(packagesAsked(machine)).toEqual([DOCKER_PACKAGES]);
  expect(machine.calls('nvidia-ctk')).toEqual([]);
  // Nor does the next boot miss it.
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(repairs(machine)).toHaveLength(1);
});

test('B3: of a tool that is there in part every package is asked for, of the other none', async () => {
  for (const missing of [...DOCKER, ...TOOLKIT]) {
    using machine = makeAptMachine({
      programs: [...DOCKER, ...TOOLKIT].filter((program) => program !== missing),
    });
    await machine.run(`unlocked() { :; }; start_docker() { :; }; install_tools`);
    const list = DOCKER.includes(missing) ? 'docker.list' : 'nvidia-container-toolkit.list';
    expect([missing, listsOf(machine)]).toEqual([missing, [list]]);
  }
});

test('B2: where Docker cannot be had the step fails, and B7: its phrase is in what is said', async () => {
  using machine = makeAptMachine();
  machine.plan('apt-get-install.sh', 'echo "E: Unable to fetch some archives" >&2; exit 100');
  const { code, output } = await runStep(machine);
  expect(code).toBe(1);
  expect(output).toContain('E: Unable to fetch some archives');
  expect(output.trim().split('\n').at(-1)).toMatch(
    RegExp(`^\\[\\d+ s\\] ${PHRASE}: apt-get install docker-ce `),
  );
  expect(machine.read('work/tools-ready')).toBeUndefined();
});

for (const { id, what, spoil, isSkipped } of [
  { id: 'B11', what: 'all is as the last boot left it', spoil: ':', isSkipped: true },
  { id: 'B11', what: 'the marker file is gone', spoil: 'rm "$WORK_DIR/tools-ready"' },
  {
    id: 'B12',
    what: 'Docker is not active',
    spoil: 'echo "exit 3" >"$STUB/systemctl-is-active.sh"',
  },
  {
    id: 'B13',
    what: 'docker info does not list the nvidia runtime',
    spoil: 'rm "$STUB/with-nvidia"',
  },
]) {
  test(`${id}, B80: ${what}: the step ${isSkipped ? 'is skipped' : 'runs'}`, async () => {
    using machine = makeAptMachine({ programs: [...DOCKER, ...TOOLKIT] });
    await runStep(machine);
    expect(await machine.run(`${spoil}; install_tools`)).toMatchObject({ code: 0 });
    expect(repairs(machine)).toHaveLength(isSkipped ? 1 : 2);
    expect(machine.calls('nvidia-ctk')).toHaveLength(isSkipped ? 1 : 2);
  });
}

test('B15, B80, B81, B83: repair, keys, update, check, install, configure, restart, ask: in this order', () => {
  const deeds = ordinary.calls().map(([program = '', ...words]) => {
    const verb = words.find(
      (word) => /^(?:--)?[a-z][a-z-]+$/.test(word) && !/^--(?:yes|quiet|batch)$/.test(word),
    );
    return program === 'curl' ? program : `${program} ${verb}`;
  });
  const repository = ['curl', 'gpg --import', 'gpg --output', 'gpg --with-colons'];
  expect(deeds.filter((deed) => deed !== 'dpkg --print-architecture')).toEqual([
    'dpkg --configure',
    ...[...repository, ...repository],
    'apt-get update',
    ...['apt-cache policy', 'apt-cache policy', 'apt-cache policy', 'apt-cache policy'],
    ...['apt-get install', 'nvidia-ctk runtime', 'systemctl restart', 'docker info'],
  ]);
});

test('B28, B29: the runtime is configured for Docker, which is started again', () => {
  expect(ordinary.calls('nvidia-ctk', 'systemctl')).toEqual([
    ['nvidia-ctk', 'runtime', 'configure', '--runtime=docker'],
    ['systemctl', 'restart', 'docker'],
  ]);
});

test('B14, B83: the marker file is written after Docker was started again and asked', () => {
  expect(ordinary.read('stub/too-early')).toBeUndefined();
  expect(ordinary.read('work/tools-ready')).toBe('');
});

test('B30: a Docker that does not list the nvidia runtime fails the step, without a marker', async () => {
  using machine = makeAptMachine();
  machine.plan('nvidia-ctk-runtime.sh', 'exit 0');
  const { code, output } = await runStep(machine);
  expect(code).toBe(1);
  expect(output).toContain('runtimes: {"io.containerd.runc.v2":{"path":"runc"},"runc":');
  expect(output).toContain(PHRASE);
  expect(machine.read('work/tools-ready')).toBeUndefined();
});

for (const { what, plan, code } of [
  {
    what: 'that fails once is tried again',
    plan: '[[ -e $STUB/once ]] || { : >"$STUB/once"; exit 1; }',
    code: 0,
  },
  { what: 'that fails twice is given up: its unit has a limit of starts', plan: 'exit 1', code: 1 },
]) {
  test(`B29: a start of Docker ${what}`, async () => {
    using machine = makeAptMachine({ programs: [...DOCKER, ...TOOLKIT] });
    machine.plan('systemctl-restart.sh', plan);
    expect(await runStep(machine)).toMatchObject({ code });
    expect(machine.calls('systemctl')).toHaveLength(2);
  });
}

test('nothing asks a question: no front end, no restarts, old configuration files are kept', () => {
  const told = [ordinary.environmentOf('dpkg')[0], ...ordinary.environmentOf('apt-get')];
  for (const text of told) {
    expect(text).toContain('DEBIAN_FRONTEND=noninteractive\nNEEDRESTART_SUSPEND=1\n');
  }
  expect(ordinary.calls('dpkg')[0]).toEqual(['dpkg', '--configure', '-a', '--force-confold']);
  const [install] = callsOfApt(ordinary, 'install');
  for (const word of ['--yes', '--no-install-recommends', 'Dpkg::Options::=--force-confold']) {
    expect(install).toContain(word);
  }
});

test('B17: a step that was cut off in the middle of an installation is repaired by the next', async () => {
  using machine = makeAptMachine();
  machine.plan(
    'apt-get-install.sh',
    'bring docker; rm "$STUB/repaired"; : >"$STUB/half"; sleep 99',
  );
  const first = machine.start('install_tools');
  await machine.until(() => existsSync(join(machine.stub, 'half')));
  machine.kill(first.child);
  await first.exit;
  expect(machine.read('work/tools-ready')).toBeUndefined();
  const before = machine.calls().length;
  machine.plan('apt-get-install.sh', '[[ -e $STUB/repaired ]] || exit 100');
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(machine.calls()[before]?.slice(0, 3)).toEqual(['dpkg', '--configure', '-a']);
  expect(packagesAsked(machine).at(-1)).toEqual([...DOCKER_PACKAGES, ...TOOLKIT_PACKAGES]);
  expect(machine.read('work/tools-ready')).toBe('');
});

test('D8: an apt-get that never ends is cut off', async () => {
  using machine = makeAptMachine();
  machine.plan('apt-get-install.sh', 'exec sleep 99');
  const { code, output } = await machine.run(`APT_SECONDS=1; install_tools`);
  expect(code).toBe(1);
  expect(output).toContain(`${PHRASE}: apt-get install`);
});

test('B24, B82: errors of an update are tolerated where every package has its candidate', async () => {
  using machine = makeAptMachine();
  machine.plan('apt-get-update.sh', 'echo "E: Failed to fetch https://acme.example.com"; exit 100');
  const { code, output } = await runStep(machine);
  expect(code).toBe(0);
  expect(output).toContain('Failed to fetch https://acme.example.com');
  expect(callsOfApt(machine, 'update')).toHaveLength(1);
});

for (const { what, answer } of [
  { what: 'the candidate (none)', answer: 'printf "%s:\\n  Candidate: (none)\\n" "$2"' },
  { what: 'no such package', answer: ':' },
]) {
  test(`B25, B26, B82: apt knows ${what}: three tries, then the step fails and names it`, async () => {
    using machine = makeAptMachine();
    machine.plan('apt-cache.sh', `[[ $2 != containerd.io ]] || { ${answer}; exit 0; }`);
    const { code, output } = await runStep(machine);
    expect(code).toBe(1);
    expect(output).toContain('no candidate for containerd.io');
    expect(callsOfApt(machine, 'update')).toHaveLength(3);
    expect(packagesAsked(machine)).toEqual([]);
  });
}

test('B26: a candidate that is there at the third try is enough', async () => {
  using machine = makeAptMachine();
  machine.plan(
    'apt-cache.sh',
    'echo x >>"$STUB/asked"; [[ $(<"$STUB/asked") == x?x?x* ]] || exit 0',
  );
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(callsOfApt(machine, 'update')).toHaveLength(3);
});
