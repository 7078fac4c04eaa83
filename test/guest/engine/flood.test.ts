// Containers that print more than a machine can keep: disk and memory stay bounded, and the end is told.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { EngineMachine } from '#test/guest/engine/engine-machine.ts';
import { INSTANCE } from '#test/guest/intent.ts';

const MIB = 2 ** 20;
/** Two files of `containerLogSize`, 16m as set by default, and the message that passed it. */
const LOG_DISK_BYTES_MAX = 34 * MIB;
const WORK_DISK_BYTES_MAX = MIB;
/** bash, curl, tail and od, all together; docker's own client is counted apart. */
const SCRIPT_MEMORY_BYTES_MAX = 48 * MIB;
/** Half a gibibyte through docker's own log takes long on a busy machine. */
const FLOOD_MS_MAX = 300_000;
const LAST_WORDS = 'the last words';
const QUICKLY = { heartbeatSeconds: 1, callSeconds: 10 };

let engine: Engine;

/** The proportional share of memory of all processes of a group, by name of its programs. */
function memoryOf(group: number, counts: (program: string) => boolean): number {
  let bytes = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const program = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(fields[2]) !== group || !counts(program)) continue;
      const pss = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
      bytes += Number(pss?.[1] ?? 0) * 1024;
    } catch {
      // It has ended meanwhile.
    }
  }
  return bytes;
}

const diskOf = (...paths: string[]) =>
  Number(engine.inside('du', '-sbc', ...paths).match(/(\d+)\ttotal/)?.[1]);

/** Runs the flood and watches the script's memory meanwhile. */
async function runFlood(machine: EngineMachine): Promise<{ readonly peakBytes: number }> {
  const started = machine.start();
  let peakBytes = 0;
  const watch = setInterval(() => {
    const bytes = memoryOf(started.child.pid ?? 0, (program) => program !== 'docker');
    peakBytes = Math.max(peakBytes, bytes);
  }, 100);
  try {
    await started.exit;
  } finally {
    clearInterval(watch);
  }
  expect(started.output()).toHaveLength(0);
  return { peakBytes };
}

async function logFolder(): Promise<string> {
  const id = await engine.docker('inspect', '--format', '{{.Id}}', INSTANCE);
  return `${engine.folder}/data/containers/${id}`;
}

const FLOODS: readonly { readonly name: string; readonly container: string }[] = [
  { name: '512 MiB of lines', container: 'yes "$(printf %099d 0)" | head -c 536870912' },
  { name: 'one line of 100 MB', container: 'head -c 100000000 /dev/zero | tr "\\0" x; echo' },
  { name: '64 MiB of random bytes', container: 'head -c 67108864 /dev/urandom; echo' },
  {
    name: 'colours and broken characters',
    container:
      'yes "$(printf \'\\033[31mred\\033[0m \\377\\360\\237\\230 \\303\')" | head -c 16777216; echo',
  },
];

describe.skipIf(engineMissing() !== null)(`a flood of output${skipNote()}`, () => {
  beforeAll(async () => {
    engine = await Engine.start();
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  test.each(FLOODS)(
    'P58: $name: disk and memory are bounded, the end is kept',
    async (flood) => {
      await using machine = await EngineMachine.create(engine, {
        container: `${flood.container}; echo '${LAST_WORDS}'; exit 3`,
        guest: QUICKLY,
      });
      const { peakBytes } = await runFlood(machine);
      const marker = machine.guest.lastMarker();
      expect(marker).toMatchObject({ status: 'FAILED', cause: 'exit', exit_code: 3 });
      expect(marker.detail.endsWith(LAST_WORDS)).toBe(true);
      expect(marker.detail.length).toBeLessThanOrEqual(800);
      const log = machine.guest.google.objects.get(machine.guest.log)?.bytes;
      expect(log?.length).toBeLessThanOrEqual(65_536);
      expect(`${log}`.endsWith(`${LAST_WORDS}\n`)).toBe(true);
      expect(diskOf(await logFolder())).toBeLessThan(LOG_DISK_BYTES_MAX);
      const { work, run } = machine.folders;
      expect(diskOf(work, run)).toBeLessThan(WORK_DISK_BYTES_MAX);
      expect(peakBytes).toBeGreaterThan(MIB);
      expect(peakBytes).toBeLessThan(SCRIPT_MEMORY_BYTES_MAX);
    },
    FLOOD_MS_MAX,
  );
});
