// What bounds the container's memory, and what the kernel counted: cgroup v1 and v2 by recorded files.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GuestMachine } from '#test/guest/guest-machine.ts';

const flag = (machine: GuestMachine, name: string) => {
  const [run = []] = machine.dockerCalls('run');
  return run[run.indexOf(name) + 1];
};

/** A machine whose kernel tells these files; `driver`: docker's way of naming groups. */
async function machineWith(
  files: Record<string, string>,
  driver = 'systemd',
  container = 'exit 0',
) {
  const machine = await GuestMachine.create({
    container,
    guest: { memoryFile: 'meminfo', cgroupDir: 'cgroup' },
  });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(machine.folder, name, '..'), { recursive: true });
    writeFileSync(join(machine.folder, name), text);
  }
  machine.plan('info.sh', `echo ${driver}; exit`);
  return machine;
}

const MEMORY = (kib: number) => ({
  meminfo: `MemTotal:       ${kib} kB\nMemFree:  1 kB\nMemAvailable:  1 kB\n`,
});

test.each([
  // e2-standard-4 as Linux sees it: a twentieth is 820 MiB and more than the least.
  [16_384_000, 16_384_000 - 819_200],
  // 4 GB: the least, 384 MiB.
  [4_000_000, 4_000_000 - 393_216],
  // 512 MB: half.
  [500_000, 250_000],
])('D29: of %i KiB the container gets %i and no swap', async (total, limit) => {
  await using machine = await machineWith(MEMORY(total));
  await machine.run();
  expect(flag(machine, '--memory')).toBe(`${limit}k`);
  expect(flag(machine, '--memory-swap')).toBe(`${limit}k`);
});

// docs.kernel.org, cgroup-v2: memory.peak is one number, memory.events has `oom_kill N`.
test('the peak of memory is what cgroup v2 counted for the container’s group', async () => {
  await using machine = await machineWith({ 'cgroup/mayfly.slice/memory.peak': '734003200\n' });
  await machine.run();
  expect(flag(machine, '--cgroup-parent')).toBe('mayfly.slice');
  expect(machine.lastMarker().peak_memory_bytes).toBe(734_003_200);
});

test('the peak of memory is what cgroup v1 counted for the container’s group', async () => {
  const name = 'cgroup/memory/mayfly/memory.max_usage_in_bytes';
  await using machine = await machineWith({ [name]: '16777216\n' }, 'cgroupfs');
  await machine.run();
  expect(flag(machine, '--cgroup-parent')).toBe('/mayfly');
  expect(machine.lastMarker().peak_memory_bytes).toBe(16_777_216);
});

test('a peak that cannot be read is null', async () => {
  await using machine = await machineWith({}, 'none');
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', peak_memory_bytes: null });
});

const EVENTS = (kills: number) =>
  `low 0\nhigh 0\nmax 12\noom 3\noom_kill ${kills}\noom_group_kill 0\n`;

test.each([
  [2, 137, 'out-of-memory'],
  [1, 1, 'out-of-memory'],
  [0, 137, 'exit'],
] as const)('%i kills for memory and exit code %i are the cause %s', async (kills, code, cause) => {
  const file = { 'cgroup/mayfly.slice/memory.events': EVENTS(kills) };
  await using machine = await machineWith(file, 'systemd', `exit ${code}`);
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'FAILED', cause, exit_code: code });
});

test('a container that succeeded did not run out of memory, whatever was killed in it', async () => {
  await using machine = await machineWith({ 'cgroup/mayfly.slice/memory.events': EVENTS(1) });
  await machine.run();
  expect(machine.lastMarker()).toMatchObject({ status: 'SUCCEEDED', cause: 'exit' });
});
