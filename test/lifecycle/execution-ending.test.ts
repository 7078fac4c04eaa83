import { describe, expect, test } from 'vitest';
import {
  type ExecutionReport,
  executionEnding,
  FAILED_TASKS_LISTED,
  type TaskReport,
} from '#shared/lifecycle/execution-ending.ts';
import type { Marker } from '#shared/lifecycle/marker.ts';
import { marker } from '#test/lifecycle/fixtures.ts';

const ENDED_MS = 1_000_000;

const task = (change: Partial<TaskReport> = {}): TaskReport => ({
  index: 0,
  exitCode: null,
  termSignal: null,
  startedMs: null,
  completedMs: null,
  message: '',
  ...change,
});

const report = (change: Partial<ExecutionReport> = {}): ExecutionReport => ({
  taskCount: 1,
  cancelled: false,
  message: '',
  endedMs: ENDED_MS,
  tasks: [],
  markers: new Map(),
  ...change,
});

const succeeded = marker({ status: 'SUCCEEDED', exitCode: 0, cause: 'exit' });
const failed = (change: Partial<Marker>) => marker({ status: 'FAILED', step: 'run', ...change });

describe('one task without a last word, by what the platform says of it', () => {
  // Exit codes and texts are those of the reference's table and of Cloud Run's own task results.
  const rows: readonly [string, Partial<TaskReport>, Partial<ExecutionReport>, object][] = [
    [
      'C65: exit 16 is a supervisor that was stopped and has flushed',
      { exitCode: 16 },
      {},
      { cause: 'interrupted', exitCode: null },
    ],
    [
      'C66: exit 137 is its memory',
      { exitCode: 137 },
      {},
      { cause: 'out-of-memory', exitCode: 137 },
    ],
    [
      'C66: so is the platform’s text, whatever the exit code',
      { exitCode: 1, message: 'Memory limit of 8192 MiB exceeded with 8400 MiB used' },
      {},
      { cause: 'out-of-memory' },
    ],
    [
      'C66: signal 9 is its memory',
      { termSignal: 9 },
      {},
      { cause: 'out-of-memory', exitCode: 137 },
    ],
    ['C67: exit 143 is the time limit', { exitCode: 143 }, {}, { cause: 'timeout', exitCode: 143 }],
    [
      'C67: signal 15 is the time limit',
      { termSignal: 15 },
      {},
      { cause: 'timeout', exitCode: 143 },
    ],
    [
      'C67: so is the platform’s text',
      { message: 'The configured timeout was reached.' },
      {},
      { cause: 'timeout', exitCode: 143 },
    ],
    [
      'C67: killed at its time limit, because it did not heed the TERM',
      { termSignal: 9, message: 'The configured timeout was reached.' },
      {},
      { cause: 'timeout', exitCode: 143 },
    ],
    [
      'C68: killed after a cancel, because it did not heed the TERM',
      { termSignal: 9 },
      { cancelled: true },
      { cause: 'cancelled-outside' },
    ],
    [
      'C68, P108: cancelled from outside is never a success, and never a time limit',
      { termSignal: 15 },
      { cancelled: true },
      { cause: 'cancelled-outside', exitCode: null },
    ],
    [
      'C64: exit 0 without a report is no success',
      { exitCode: 0 },
      {},
      { cause: 'machine-lost', exitCode: null },
    ],
    ['C64: no task at all is no success', {}, {}, { cause: 'machine-lost' }],
    ['C74: a task that found no work', { exitCode: 18 }, {}, { cause: 'machine-lost' }],
    [
      'an exit code of the command without a report',
      { exitCode: 3 },
      {},
      { cause: 'exit', exitCode: 3 },
    ],
    [
      'P55: an image for another architecture fails at its start, for good',
      { message: 'failed to start: exec format error' },
      {},
      { cause: 'step-failed', step: 'start', transient: false },
    ],
  ];
  test.each(rows)('%s', (_name, platform, whole, expected) => {
    const ending = executionEnding(report({ tasks: [task(platform)], ...whole }));
    expect(ending).toMatchObject({ succeeded: false, endedMs: ENDED_MS, ...expected });
  });
});

describe('several tasks', () => {
  test('C64, C103: all of them say so themselves: the execution has succeeded', () => {
    const markers = new Map([0, 1, 2].map((index) => [index, succeeded]));
    expect(executionEnding(report({ taskCount: 3, markers }))).toMatchObject({
      succeeded: true,
      cause: 'exit',
      exitCode: 0,
      tasks: { count: 3, succeeded: 3, failed: [] },
    });
  });

  test('C103: one that failed fails it, and is named', () => {
    const markers = new Map([
      [0, succeeded],
      [1, failed({ cause: 'exit', exitCode: 4, detail: 'no such column' })],
    ]);
    const ending = executionEnding(report({ taskCount: 2, markers }));
    expect(ending).toMatchObject({
      succeeded: false,
      cause: 'exit',
      exitCode: 4,
      detail: 'task 1: no such column',
      tasks: {
        count: 2,
        succeeded: 1,
        failed: [{ index: 1, status: 'FAILED', cause: 'exit', exitCode: 4 }],
      },
    });
  });

  test('the seconds of all of them together, each billed for a minute at least', () => {
    const at = (index: number, startedMs: number | null, completedMs: number | null) =>
      task({ index, startedMs, completedMs });
    const worked = (execStartEpoch: number, endEpoch: number) => ({
      ...succeeded,
      execStartEpoch,
      endEpoch,
    });
    // 300 s, a minute for 12.5 s, nothing for the one that never started, 100.2 s to the whole's end.
    const tasks = [
      at(0, 0, 300_000),
      at(1, 0, 12_500),
      at(2, null, null),
      at(3, ENDED_MS - 100_200, null),
    ];
    const markers = new Map([
      [0, worked(10, 290)],
      [1, worked(2, 12.5)],
      [3, worked(900, 1000)],
    ]);
    const whole = report({ taskCount: 4, tasks, markers });
    expect(executionEnding(whole).taskSeconds).toEqual({ billed: 461, executed: 390.5 });
    const silent = executionEnding({ ...whole, markers: new Map([[0, worked(10, 290)]]) });
    expect(silent.taskSeconds).toEqual({ billed: 461, executed: null });
    const unlisted = executionEnding({ ...whole, tasks: tasks.slice(0, 2) });
    expect(unlisted.taskSeconds.billed).toBeNull();
  });

  test('C103: one that never reported fails it, too', () => {
    const markers = new Map([[0, succeeded]]);
    const tasks = [task({ exitCode: 0 }), task({ index: 1, exitCode: 0 })];
    expect(executionEnding(report({ taskCount: 2, tasks, markers }))).toMatchObject({
      succeeded: false,
      cause: 'machine-lost',
      tasks: { succeeded: 1 },
    });
  });

  test('what the command did comes before what befell other tasks', () => {
    const tasks = [
      task({ exitCode: 137 }),
      task({ index: 1, exitCode: 16 }),
      task({ index: 2, exitCode: 5 }),
    ];
    const ending = executionEnding(report({ taskCount: 3, tasks }));
    expect(ending).toMatchObject({ cause: 'exit', exitCode: 5 });
    const two = executionEnding(report({ taskCount: 2, tasks: tasks.slice(0, 2) }));
    expect(two).toMatchObject({ cause: 'out-of-memory' });
  });

  test('failed tasks are listed up to a bound, and all counted', () => {
    const tasks = Array.from({ length: 150 }, (_, index) => task({ index, exitCode: 2 }));
    const ending = executionEnding(report({ taskCount: 150, tasks }));
    expect(ending.tasks).toMatchObject({ count: 150, succeeded: 0 });
    expect(ending.tasks.failed).toHaveLength(FAILED_TASKS_LISTED);
  });

  test('C102: outputs of all tasks, first start, last end', () => {
    const output = (index: number) => ({
      path: '/out/a',
      uri: `gs://b/p/tasks/${index}/a`,
      generation: '1',
      crc32c: 'AAAAAA==',
      bytes: 3,
    });
    const markers = new Map(
      [1, 0].map((index) => [
        index,
        marker({
          ...succeeded,
          execStartEpoch: 100 + index,
          endEpoch: 200 + index,
          peakMemoryBytes: 10 * (index + 1),
          outputs: [output(index)],
        }),
      ]),
    );
    expect(executionEnding(report({ taskCount: 2, markers })).facts).toMatchObject({
      execStartEpoch: 100,
      endEpoch: 201,
      peakMemoryBytes: 20,
      outputs: [output(0), output(1)],
    });
  });
});
