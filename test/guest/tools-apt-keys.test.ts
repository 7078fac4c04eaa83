// The tools step of images that have apt: which repositories, and which keys they are trusted by. The
// keys are real ones, and so is gpg.
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  DOCKER,
  listsOf,
  makeAptMachine,
  PHRASE,
  packagesAsked,
  runStep,
  TOOLKIT,
} from '#test/guest/apt-machine.ts';
import { fingerprintsIn, SigningKeys } from '#test/guest/signing-keys.ts';
import type { ToolsMachine } from '#test/guest/tools-machine.ts';

/** What `gpg --show-keys` says of the keys that Docker and NVIDIA publish. */
const DOCKER_KEY = '9DC858229FC7DD38854AE2D88D81803C0EBFCD88';
const NVIDIA_KEY = 'C95B321B61E88C1809C4F759DDCAE044F796ECB0';

let wanted: string;
/** What a server may offer, by what is in it. */
const offers: Record<'wanted' | 'both' | 'foreign' | 'adopter' | 'mixed', string | Uint8Array> = {
  ...{ wanted: '', both: '', foreign: '', adopter: '', mixed: '' },
};
/** One ordinary step; what only reads stands on it. */
let ordinary: ToolsMachine;

/** The step, with the wanted key in the place of those that are pinned: of those nobody can sign here. */
const WITH_WANTED = () => `DOCKER_KEY=${wanted} NVIDIA_KEY=${wanted}; install_tools`;

beforeAll(async () => {
  using keys = new SigningKeys();
  const key = keys.make('wanted');
  const foreign = keys.make('foreign');
  wanted = key.fingerprint;
  const exported = keys.export(key);
  offers.wanted = exported;
  offers.both = keys.export(foreign, key);
  offers.foreign = keys.export(foreign);
  const adopter = keys.export(keys.adopt('adopter', key));
  offers.adopter = adopter;
  offers.mixed = Buffer.concat([exported, adopter]);
  ordinary = makeAptMachine({ keys: [offers.both, offers.wanted] });
  expect(await ordinary.run(WITH_WANTED())).toMatchObject({ code: 0 });
});
afterAll(() => ordinary[Symbol.dispose]());

for (const { architecture, id, codename } of [
  { architecture: 'amd64', id: 'ubuntu', codename: 'jammy' },
  { architecture: 'arm64', id: 'debian', codename: 'bookworm' },
]) {
  test(`B8, B9, B23, B43: the repositories of ${id} ${codename} on ${architecture}, each with its own key`, async () => {
    using machine = makeAptMachine();
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

test('B18, B81: keys are downloaded with retries, refused connections among them', async () => {
  const calls = ordinary.calls('curl');
  expect(calls).toHaveLength(2);
  for (const call of calls) {
    expect(call[call.indexOf('--retry') + 1]).toBe('5');
    for (const flag of ['--retry-connrefused', '--fail', '--max-time', '--connect-timeout']) {
      expect(call).toContain(flag);
    }
    expect(call.at(-1)).toMatch(/^https:/);
  }
  using without = makeAptMachine();
  without.plan('curl.sh', 'echo "curl: (22) 503" >&2; exit 22');
  const { code, output } = await runStep(without);
  expect(code).toBe(1);
  expect(output).toContain(`${PHRASE}: https://download.docker.com/linux/ubuntu/gpg was not`);
});

test('B19: keys are imported into a private scratch folder, never into a keyring of the machine', () => {
  const homes = ordinary.environmentOf('gpg').map((told) => told.split('\n')[0]);
  expect(homes).toHaveLength(6);
  expect(new Set(homes)).toEqual(new Set([`GNUPGHOME=${ordinary.work}/gnupg`]));
  expect(statSync(join(ordinary.work, 'gnupg')).mode & 0o777).toBe(0o700);
});

test('B20, B81: of a file with two keys only the pinned one is exported, readable for apt', () => {
  const keyring = join(ordinary.apt, 'keyrings/docker.gpg');
  expect(fingerprintsIn(keyring)).toEqual([wanted]);
  expect(statSync(keyring).mode & 0o777).toBe(0o644);
});

for (const { what, offered } of [
  { what: 'another key', offered: () => offers.foreign },
  { what: 'no key at all', offered: () => '<html>503 for a moment</html>' },
  { what: 'a key that has the pinned one as its subkey', offered: () => offers.adopter },
  { what: 'the pinned key with such a key beside it', offered: () => offers.mixed },
]) {
  test(`B21, B22: ${what} in the place of the pinned one is refused, and nothing is trusted`, async () => {
    for (const [programs, host] of [
      [TOOLKIT, 'download.docker.com'],
      [DOCKER, 'nvidia.github.io'],
    ] as const) {
      using machine = makeAptMachine({ programs, keys: [offered(), offered()] });
      const { code, output } = await machine.run(WITH_WANTED());
      expect(code).toBe(1);
      expect(output).toMatch(RegExp(`${PHRASE}: https://${host}.*is not the key`));
      expect(packagesAsked(machine)).toEqual([]);
      expect(readdirSync(join(machine.apt, 'keyrings'))).toEqual([]);
    }
  });
}

for (const [tool, programs, fingerprint] of [
  ['B21: Docker', TOOLKIT, DOCKER_KEY],
  ['B22: the NVIDIA container toolkit', DOCKER, NVIDIA_KEY],
] as const) {
  test(`${tool} is trusted by its whole published fingerprint`, async () => {
    using machine = makeAptMachine({ programs, keys: [offers.wanted, offers.wanted] });
    expect((await runStep(machine)).output).toContain(`is not the key ${fingerprint}`);
    using obliging = makeAptMachine({ programs });
    await runStep(obliging);
    expect(obliging.calls('gpg').filter((call) => call.includes(fingerprint))).toHaveLength(1);
  });
}

test('B23: an older list of the same repository goes, or apt would refuse both; others stay', async () => {
  using machine = makeAptMachine();
  const folder = join(machine.apt, 'sources.list.d');
  mkdirSync(join(folder, 'folder'), { recursive: true });
  const url = 'https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /';
  writeFileSync(
    join(folder, 'nvidia.list'),
    `deb [signed-by=/usr/share/keyrings/old.gpg] ${url}\n`,
  );
  writeFileSync(join(folder, 'acme.list'), 'deb https://acme.example.com stable main\n');
  expect(await runStep(machine)).toMatchObject({ code: 0 });
  expect(listsOf(machine)).toEqual([
    ...['acme.list', 'docker.list', 'folder', 'nvidia-container-toolkit.list'],
  ]);
});
