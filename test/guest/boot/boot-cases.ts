// What can happen to a machine, and the only truth that its marker may tell about it.
import { expect } from 'vitest';
import type { BootChoices, BootedRun } from '#test/guest/boot/booted-run.ts';

export interface BootCase extends BootChoices {
  /** The test's title. */
  readonly name: string;
  /** What happens from the boot on until the machine is off. */
  readonly happen: (run: BootedRun) => Promise<void>;
  /** Fields of the last marker. */
  readonly marker: Readonly<Record<string, unknown>>;
  /** As BootedRun.story. */
  readonly story: readonly string[];
  readonly containerStarts: number;
  /** A power-off comes before the report: it is made while docker is still there. */
  readonly endsWithPowerOff?: boolean;
}

const ENDED = ['claim', 'RUNNING', 'FAILED', 'delete'];
/** A container may have spoken before docker has told the script that it runs. */
const step = expect.stringMatching(/^(start|run)$/);
const INTERRUPTED = { status: 'FAILED', cause: 'interrupted', step, exit_code: null };
const onTerm = (answer: string) =>
  `trap '${answer}' TERM; sleep 1000 & while :; do wait "$!"; done`;

async function powerOffWhileRunning(run: BootedRun): Promise<void> {
  await run.boot();
  await run.untilContainerRuns();
  run.hardware.pressPowerButton();
  await run.hardware.off();
}

async function runToTheEnd(run: BootedRun): Promise<void> {
  await run.boot();
  await run.hardware.off();
}

/** A title as a first argument: there it is read as a test's. */
function bootCase(name: string, parts: Omit<BootCase, 'name'>): BootCase {
  return { name, ...parts };
}

export const BOOT_CASES: readonly BootCase[] = [
  bootCase('A9: a container that exits with 0 is SUCCEEDED, and its machine goes', {
    container: 'exit 0',
    happen: runToTheEnd,
    marker: { status: 'SUCCEEDED', cause: 'exit', exit_code: 0, detail: 'up' },
    story: ['claim', 'RUNNING', 'SUCCEEDED', 'delete'],
    containerStarts: 1,
  }),
  bootCase('a container that exits with 3 is FAILED with its code', {
    container: 'exit 3',
    happen: runToTheEnd,
    marker: { status: 'FAILED', cause: 'exit', exit_code: 3, step: 'run' },
    story: ENDED,
    containerStarts: 1,
  }),
  bootCase('D1: a power-off during the pull is interrupted, and no container starts', {
    container: 'exit 0',
    happen: async (run) => {
      run.front.registry.holdBlobs = true;
      await run.boot();
      await run.front.registry.pulling;
      run.hardware.pressPowerButton();
      await run.hardware.off();
    },
    marker: { ...INTERRUPTED, step: 'pull' },
    story: ENDED,
    containerStarts: 0,
    endsWithPowerOff: true,
  }),
  bootCase(
    'D1, P42: a container that a power-off stops and that exits with 0 is interrupted; the next boot runs nothing',
    {
      container: onTerm('exit 0'),
      happen: async (run) => {
        await powerOffWhileRunning(run);
        await run.boot();
        await run.hardware.off();
      },
      marker: INTERRUPTED,
      story: [...ENDED, 'delete'],
      containerStarts: 1,
      endsWithPowerOff: true,
    },
  ),
  bootCase('D1: a container that a power-off stops and that exits with 7 is interrupted', {
    container: onTerm('exit 7'),
    happen: powerOffWhileRunning,
    marker: INTERRUPTED,
    story: ENDED,
    containerStarts: 1,
    endsWithPowerOff: true,
  }),
  bootCase('D1: a container that ignores TERM, and so is killed at a power-off, is interrupted', {
    container: onTerm(''),
    happen: powerOffWhileRunning,
    marker: INTERRUPTED,
    story: ENDED,
    containerStarts: 1,
    endsWithPowerOff: true,
  }),
  bootCase('D24: a power-off after a notice of preemption is preempted', {
    container: onTerm('exit 0'),
    happen: async (run) => {
      await run.boot();
      await run.untilContainerRuns();
      run.front.preempt();
      run.hardware.pressPowerButton();
      await run.hardware.off();
    },
    marker: { ...INTERRUPTED, cause: 'preempted' },
    story: ENDED,
    containerStarts: 1,
    endsWithPowerOff: true,
  }),
  bootCase(
    'P42, P51: a reset leaves RUNNING, and the second boot reports interrupted and runs nothing',
    {
      container: onTerm('exit 0'),
      happen: async (run) => {
        await run.boot();
        await run.untilContainerRuns();
        await run.hardware.cutPower();
        if (run.markers().at(-1)?.status !== 'RUNNING')
          throw new Error('more than RUNNING was told');
        await run.boot();
        await run.hardware.off();
      },
      marker: { ...INTERRUPTED, step: 'boot' },
      story: ENDED,
      containerStarts: 1,
    },
  ),
];
