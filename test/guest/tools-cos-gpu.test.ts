// The tools step of Container-Optimized OS with GPUs: the driver's installation and what it proves.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ToolsMachine } from '#test/guest/tools-machine.ts';

/** What the installer of a machine without an account printed (GoogleCloudPlatform/cos-gpu-installer#80). */
const UNAUTHORIZED = [
  'I0825 16:07:31.626491    1007 utils.go:72] Downloading gpu_default_version from ' +
    'https://storage.googleapis.com/cos-tools/16108.403.51/gpu_default_version',
  'E0825 16:07:31.769160    1007 artifacts.go:106] Failed to download gpu_default_version from ' +
    'public GCS: failed to download gpu_default_version, status: 401 Unauthorized',
  'E0825 16:07:31.770506    1007 install.go:175] failed to get default driver version: failed to ' +
    'get default GPU driver version: failed to download artifact gpu_default_version',
].join('\n');

function makeMachine(cards: number, variables: Readonly<Record<string, string>> = {}) {
  const machine = new ToolsMachine({
    programs: ['cos-extensions', 'docker', 'mount'],
    pieces: ['gpu', 'tools-cos-gpu'],
    variables: { GPU_COUNT: '1', ...variables },
    folders: { DRIVER_DIR: 'driver' },
  });
  machine.plan('cards', String(cards));
  return machine;
}

const install = (machine: ToolsMachine) => machine.run('install_driver');

test('B4: the driver is installed, its folder made executable, then its cards are counted', async () => {
  using machine = makeMachine(1);
  expect(await install(machine)).toMatchObject({ code: 0 });
  const driver = join(machine.folder, 'driver');
  expect(machine.calls()).toEqual([
    ['cos-extensions', 'install', 'gpu'],
    ['mount', '--bind', driver, driver],
    ['mount', '-o', 'remount,exec', driver],
    ['nvidia-smi', '--list-gpus'],
  ]);
});

for (const { cards, count, code } of [
  { cards: 1, count: 1, code: 0 },
  { cards: 8, count: 8, code: 0 },
  { cards: 1, count: 2, code: 1 },
  { cards: 2, count: 1, code: 1 },
  { cards: 0, count: 1, code: 1 },
]) {
  test(`D15: a machine of ${count} cards whose driver finds ${cards}: exit code ${code}`, async () => {
    using machine = makeMachine(cards, { GPU_COUNT: String(count) });
    const result = await install(machine);
    expect(result.code).toBe(code);
    const says = `the GPU driver finds ${cards} cards of ${count}`;
    expect(result.output.includes(says)).toBe(code === 1);
  });
}

test("D20, P44: an installer that is refused leaves its own last lines in the step's log", async () => {
  using machine = makeMachine(1);
  machine.plan('cos-extensions.sh', `cat "$STUB/refusal" >&2; exit 1`);
  machine.plan('refusal', `${UNAUTHORIZED}\n`);
  const { code, output } = await install(machine);
  expect(code).toBe(1);
  expect(output.trim().split('\n').slice(-4)).toEqual([
    ...UNAUTHORIZED.split('\n'),
    expect.stringContaining('cos-extensions did not install the GPU driver'),
  ]);
  expect(machine.calls('cos-extensions')).toHaveLength(3);
  expect(machine.calls('mount')).toEqual([]);
});

test('D9: an installer that fails once is run again', async () => {
  using machine = makeMachine(1);
  machine.plan('cos-extensions.sh', '[[ -e $STUB/once ]] || { : >"$STUB/once"; exit 1; }');
  expect(await install(machine)).toMatchObject({ code: 0 });
  expect(machine.calls('cos-extensions')).toHaveLength(2);
});

test('D8: an installer that never ends is cut off, and what it left running is removed', async () => {
  using machine = makeMachine(1);
  machine.plan('cos-extensions.sh', '[[ -e $STUB/once ]] || { : >"$STUB/once"; exec sleep 99; }');
  expect(await machine.run('DRIVER_SECONDS=1; install_driver')).toMatchObject({ code: 0 });
  expect(machine.calls('docker')).toEqual([['docker', 'rm', '--force', 'cos-gpu-installer']]);
});

for (const at of ['--bind', 'remount,exec']) {
  test(`D20: a folder that cannot be made executable (${at}) fails the step by name`, async () => {
    using machine = makeMachine(1);
    machine.plan(
      'mount.sh',
      `[[ $* != *${at}* ]] || { echo "mount: permission denied"; exit 32; }`,
    );
    const { code, output } = await install(machine);
    expect(code).toBe(1);
    expect(output).toContain('mount: permission denied');
    expect(output).toContain('driver could not be made executable');
  });
}

test("D20: what the driver's program says when it fails is in the log", async () => {
  using machine = makeMachine(1);
  const words = 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.';
  machine.plan('nvidia-smi.sh', `echo '${words}'; exit 9`);
  const { code, output } = await install(machine);
  expect(code).toBe(1);
  expect(output).toContain(words);
});
