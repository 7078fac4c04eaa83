// The whole script with a real engine: how a container ends, and what the marker says of it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';
import { INSTANCE } from '#test/guest/intent.ts';

let engine: Engine;

/** docker's own word on the container, after the script. */
const inspect = (format: string) => engine.docker('inspect', '--format', format, INSTANCE);

/** A machine of 48 MiB: half of it is the container's, as the script's own reserve would not fit. */
const SMALL_MACHINE = { memoryFile: 'meminfo' };
const MEMORY = 'MemTotal:          49152 kB\n';
const EATS_MEMORY = 'x=$(head -c 200000000 /dev/zero | tr "\\0" a)';

describe.skipIf(engineMissing() !== null)(`a container of a real engine${skipNote()}`, () => {
  beforeAll(async () => {
    engine = await Engine.start();
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  test('A9: one that ends with 0 is a success, with the digest that the registry names', async () => {
    await using machine = await EngineMachine.create(engine, { container: 'echo all is well' });
    const { output } = await machine.run();
    const { guest } = machine;
    expect(guest.markers().map(({ status }) => status)).toEqual(['RUNNING', 'SUCCEEDED']);
    expect(guest.lastMarker()).toMatchObject({ exit_code: 0, cause: 'exit', step: 'report' });
    expect(guest.lastMarker().image_digest).toBe(await engine.registry.digestOf('tests/job', '1'));
    expect(guest.deletes().map(({ status }) => status)).toEqual([200]);
    expect(guest.google.objects.get(guest.log)?.bytes.toString()).toBe('all is well\n');
    expect(`${output}`).toBe('');
  });

  test.each([1, 125, 126, 127, 137])(
    "D21: the container's own exit code %i is reported as such, whatever docker means by it",
    async (code) => {
      await using machine = await EngineMachine.create(engine, {
        container: `echo last words; exit ${code}`,
      });
      await machine.run();
      expect(machine.guest.lastMarker()).toMatchObject({
        ...{ status: 'FAILED', cause: 'exit', step: 'run', exit_code: code },
        detail: 'last words',
      });
    },
  );

  test('D21: a container that the kernel kills for its memory is out of memory', async () => {
    await using machine = await EngineMachine.create(engine, {
      container: EATS_MEMORY,
      guest: SMALL_MACHINE,
    });
    writeFileSync(join(machine.guest.folder, 'meminfo'), MEMORY);
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({
      ...{ status: 'FAILED', cause: 'out-of-memory', exit_code: 137 },
    });
    expect(await inspect('{{.HostConfig.Memory}}')).toBe(`${24 * 2 ** 20}`);
  });

  test('a container that outlives the loss of a process to memory and ends with 0 is a success', async () => {
    await using machine = await EngineMachine.create(engine, {
      container: `sh -c '${EATS_MEMORY}'; echo "the child: $?"; exit 0`,
      guest: SMALL_MACHINE,
    });
    writeFileSync(join(machine.guest.folder, 'meminfo'), MEMORY);
    await machine.run();
    expect(machine.guest.google.objects.get(machine.guest.log)?.bytes.toString()).toContain(
      'the child: 137',
    );
    expect(machine.guest.lastMarker()).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 });
  });

  test('a container that somebody kills is a failure with 137, not out of memory', async () => {
    await using machine = await EngineMachine.create(engine, {
      container: 'touch /mayfly/scratch/running; sleep 60',
    });
    const started = machine.start();
    await machine.untilContainerRuns();
    await engine.docker('kill', INSTANCE);
    await started.exit;
    expect(machine.guest.lastMarker()).toMatchObject({ cause: 'exit', exit_code: 137 });
  });

  test('a container that ignores TERM is killed after the grace of its time limit', async () => {
    await using machine = await EngineMachine.create(engine, {
      container: 'trap "echo got TERM" TERM; while :; do sleep 0.1; done',
      request: { timeoutSeconds: 2 },
      guest: { stopGraceSeconds: 1 },
    });
    await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({
      ...{ status: 'FAILED', cause: 'timeout', exit_code: null },
      detail: 'got TERM',
    });
    expect(await inspect('{{.State.Running}} {{.State.ExitCode}}')).toBe('false 137');
  });

  test.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)(
    'D1: %s to the script is never a success, though the container then ends with 0',
    async (signal) => {
      await using machine = await EngineMachine.create(engine, {
        container: 'trap "exit 0" TERM; touch /mayfly/scratch/running; sleep 60 & wait',
      });
      const started = machine.start();
      await machine.untilContainerRuns();
      started.child.kill(signal);
      await started.exit;
      expect(machine.guest.lastMarker()).toMatchObject({
        ...{ status: 'FAILED', cause: 'interrupted', step: 'run', exit_code: null },
      });
      expect(await inspect('{{.State.Running}} {{.State.ExitCode}}')).toBe('false 0');
      expect(machine.guest.deletes()).toHaveLength(1);
    },
  );

  test('P41: a line of 200,000 bytes ends nothing, and no byte of it reaches the runner', async () => {
    await using machine = await EngineMachine.create(engine, {
      container: "head -c 200000 /dev/zero | tr '\\0' x; echo; exit 0",
    });
    const { output } = await machine.run();
    expect(machine.guest.lastMarker()).toMatchObject({ status: 'SUCCEEDED', exit_code: 0 });
    expect(`${output}`).toBe('');
    const log = machine.guest.google.objects.get(machine.guest.log)?.bytes.toString() ?? '';
    // Some versions of docker lose the end of a line that they keep in parts.
    expect(/^x+\n?$/.test(log)).toBe(true);
    expect(log.length).toBe(65_536);
  });

  test.each([
    [0, 'SUCCEEDED'],
    [3, 'FAILED'],
  ] as const)(
    'P57: stray bytes in the last line and exit %i make a valid marker: %s',
    async (code, status) => {
      // 1B, 09 and 00 as they are; FF, FE, and C3 without its second byte as U+FFFD.
      const detail = '\u001b[31m\ufffd\ufffd\ufffd"\\\t\u0000';
      await using machine = await EngineMachine.create(engine, {
        container: `printf '\\033[31m\\377\\376\\303"\\134\\t\\000'; exit ${code}`,
      });
      await machine.run();
      expect(machine.guest.lastMarker()).toMatchObject({ status, exit_code: code, detail });
    },
  );
});
