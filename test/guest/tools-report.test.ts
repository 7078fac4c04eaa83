// What a failed tools step says of itself in the marker, through the whole startup script.
import { expect, test } from 'vitest';
import { GuestMachine, type MachineChoices } from '#test/guest/guest-machine.ts';
import { REQUEST } from '#test/guest/intent.ts';

async function fail(
  bootImage: 'cos' | 'deep-learning',
  programs: Readonly<Record<string, string>>,
  choices: MachineChoices = {},
) {
  await using machine = await GuestMachine.create({
    ...choices,
    request: { resources: { ...REQUEST.resources, bootImage } },
    guest: { uptimeFile: 'uptime', ...choices.guest },
  });
  machine.setUptime('5');
  // Nothing of this computer's own package manager.
  for (const program of ['apt-get', 'apt-cache', 'dpkg', 'gpg', 'mount', 'nvidia-smi']) {
    machine.installText(program, `echo "${program} is not to be called"; exit 1`);
  }
  for (const [program, text] of Object.entries(programs)) machine.installText(program, text);
  await machine.run();
  expect(machine.dockerCalls('pull')).toEqual([]);
  return machine.lastMarker();
}

test('P43, B51: a lock that is held for 11 minutes ends the run in step tools, and the detail names it', async () => {
  const marker = await fail('deep-learning', {
    dpkg: `
      read -r now _ <"$STUB/../uptime"
      ((now < 660)) || exit 0
      echo "$((now + 30))" >"$STUB/../uptime"
      echo "dpkg: error: dpkg frontend lock was locked by another process with pid 4711" >&2
      exit 2`,
  });
  expect(marker).toMatchObject({ status: 'FAILED', cause: 'step-failed', step: 'tools' });
  expect(marker.detail).toContain('dpkg frontend lock was locked by another process with pid 4711');
  expect(marker.detail).toContain(
    'install Docker and the NVIDIA container toolkit: another process',
  );
});

test('P44, D20: a driver installer that gets 401 ends the run in step tools, with its own last lines', async () => {
  const words = 'failed to download gpu_default_version, status: 401 Unauthorized';
  const marker = await fail(
    'cos',
    { 'cos-extensions': `echo "${words}" >&2; exit 1` },
    { gpuCount: 1 },
  );
  expect(marker).toMatchObject({ status: 'FAILED', cause: 'step-failed', step: 'tools' });
  expect(marker.detail).toContain(words);
  expect(marker.detail).toContain('cos-extensions did not install the GPU driver');
});
