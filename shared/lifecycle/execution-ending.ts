// How an execution of Cloud Run Jobs ended: its tasks' own markers where there are any, else what the
// platform says of each task. Rows of the one failure table, for all tasks together.
import { type Cause, endingOf } from '#shared/lifecycle/failures.ts';
import type { Marker, OutputObject, Step } from '#shared/lifecycle/marker.ts';
import type { MachineFacts } from '#shared/lifecycle/record.ts';
import { EXIT_FLUSHED, EXIT_NO_WORK } from '#shared/plan/bootstrap.ts';
import { BILLED_SECONDS_MIN } from '#shared/plan/limits.ts';

export const FAILED_TASKS_LISTED = 100;
export const OUTPUTS_LISTED = 1_000;

export interface TaskFailure {
  readonly index: number;
  readonly status: string;
  readonly cause: string;
  readonly exitCode: number | null;
}

export interface TaskSummary {
  readonly count: number;
  readonly succeeded: number;
  /** The first ones. */
  readonly failed: readonly TaskFailure[];
}

/** Of all tasks together: two that run side by side for a minute are two minutes. Null: not known. */
export interface TaskSeconds {
  readonly billed: number | null;
  readonly executed: number | null;
}

/** What the platform says of a task. */
export interface TaskReport {
  readonly index: number;
  readonly exitCode: number | null;
  readonly termSignal: number | null;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  readonly message: string;
}

export interface ExecutionReport {
  readonly taskCount: number;
  readonly cancelled: boolean;
  /** The platform's words about the whole. */
  readonly message: string;
  readonly endedMs: number;
  readonly tasks: readonly TaskReport[];
  /** Terminal, and of this attempt, by task index. */
  readonly markers: ReadonlyMap<number, Marker>;
}

export interface ExecutionEnding {
  readonly kind: 'execution';
  readonly cause: Cause;
  readonly succeeded: boolean;
  readonly step: Step | null;
  readonly exitCode: number | null;
  readonly transient: boolean;
  readonly detail: string;
  readonly endedMs: number;
  readonly tasks: TaskSummary;
  readonly facts: MachineFacts | null;
  readonly taskSeconds: TaskSeconds;
}

interface TaskEnd {
  readonly index: number;
  readonly cause: Cause;
  readonly succeeded: boolean;
  readonly step: Step | null;
  readonly exitCode: number | null;
  readonly transient: boolean;
  readonly detail: string;
}

/** Which task's end speaks for the whole: what the user's command did comes before what befell it. */
const TELLING_FIRST: readonly Cause[] = [
  'exit',
  'step-failed',
  'gpu-idle',
  'out-of-memory',
  'timeout',
  'ttl',
  'cancelled-outside',
  'interrupted',
  'machine-lost',
];

/** An execution has succeeded only if every one of its tasks says so itself. */
export function executionEnding(report: ExecutionReport): ExecutionEnding {
  const ends: TaskEnd[] = [];
  const byIndex = new Map(report.tasks.map((task) => [task.index, task]));
  for (let index = 0; index < report.taskCount; index++) {
    const marker = report.markers.get(index);
    ends.push(marker === undefined ? byPlatform(index, byIndex, report) : byMarker(index, marker));
  }
  const failed = ends.filter(({ succeeded }) => !succeeded);
  const worst =
    TELLING_FIRST.flatMap((cause) => failed.find((end) => end.cause === cause) ?? [])[0] ??
    failed[0];
  const told = worst ?? ends[0];
  if (told === undefined) throw new Error('an execution has at least one task');
  const { cause, step, exitCode, transient } = told;
  const which = report.taskCount > 1 && worst !== undefined ? `task ${told.index}: ` : '';
  return {
    kind: 'execution',
    cause,
    succeeded: worst === undefined,
    step,
    exitCode,
    transient,
    detail: `${which}${told.detail}`,
    endedMs: report.endedMs,
    tasks: {
      count: report.taskCount,
      succeeded: ends.length - failed.length,
      failed: failed.slice(0, FAILED_TASKS_LISTED).map((end) => ({
        index: end.index,
        status: endingOf(end.cause).status,
        cause: end.cause,
        exitCode: end.exitCode,
      })),
    },
    facts: factsOfTasks(report.markers),
    taskSeconds: secondsOfTasks(report, byIndex),
  };
}

/** Each task is billed for a minute at least; one that never started, for nothing. */
function secondsOfTasks(
  { taskCount, markers, endedMs }: ExecutionReport,
  tasks: ReadonlyMap<number, TaskReport>,
): TaskSeconds {
  const indices = [...Array(taskCount).keys()];
  const billed = indices.map((index) => {
    const task = tasks.get(index);
    if (task === undefined) return null;
    if (task.startedMs === null) return 0;
    const seconds = ((task.completedMs ?? endedMs) - task.startedMs) / 1000;
    return Math.max(BILLED_SECONDS_MIN, Math.ceil(seconds));
  });
  const executed = indices.map((index) => {
    const { execStartEpoch = null, endEpoch = null } = markers.get(index) ?? {};
    if (execStartEpoch !== null && endEpoch !== null) return Math.max(0, endEpoch - execStartEpoch);
    return tasks.get(index)?.startedMs === null ? 0 : null;
  });
  return { billed: total(billed), executed: total(executed) };
}

/** Null as soon as one is not known. */
const total = (values: readonly (number | null)[]) =>
  values.reduce<number | null>(
    (sum, value) => (sum === null || value === null ? null : Math.round((sum + value) * 10) / 10),
    0,
  );

const unseen = (index: number): TaskReport => ({
  index,
  exitCode: null,
  termSignal: null,
  startedMs: null,
  completedMs: null,
  message: '',
});

function byMarker(index: number, marker: Marker): TaskEnd {
  const succeeded = marker.status === 'SUCCEEDED';
  const unnamed: Cause = marker.exitCode === null ? 'step-failed' : 'exit';
  const cause = succeeded ? 'exit' : (marker.cause ?? unnamed);
  return {
    index,
    cause,
    succeeded,
    step: succeeded ? null : marker.step,
    exitCode: marker.exitCode,
    transient: cause === 'step-failed' && marker.permanent === false,
    detail: marker.detail,
  };
}

function byPlatform(
  index: number,
  tasks: ReadonlyMap<number, TaskReport>,
  report: ExecutionReport,
): TaskEnd {
  const task = tasks.get(index) ?? unseen(index);
  const text = task.message || report.message;
  const row = PLATFORM_ROWS.find(({ holds }) => holds(task, text, report)) ?? LOST_ROW;
  const said = text === '' ? '' : `: ${text}`;
  const own = row.cause === 'exit' || row.cause === 'timeout' || row.cause === 'out-of-memory';
  return {
    index,
    cause: row.cause,
    succeeded: false,
    step: row.step ?? null,
    exitCode: own ? (row.exitCode ?? task.exitCode) : null,
    transient: false,
    detail: `${row.says}${said}`,
  };
}

interface PlatformRow {
  readonly cause: Cause;
  readonly step?: Step;
  readonly exitCode?: number;
  readonly says: string;
  readonly holds: (task: TaskReport, text: string, report: ExecutionReport) => boolean;
}

const OUT_OF_MEMORY = {
  cause: 'out-of-memory',
  exitCode: 137,
  says: 'the task was killed for its memory',
} as const;
const OUT_OF_TIME = {
  cause: 'timeout',
  exitCode: 143,
  says: 'the platform ended the task at its time limit',
} as const;

/** A task without a last word, first match wins. Source: the task results that Cloud Run gives. */
const PLATFORM_ROWS: readonly PlatformRow[] = [
  {
    ...OUT_OF_MEMORY,
    holds: (_task, text) => /memory limit|out of memory/i.test(text),
  },
  {
    cause: 'cancelled-outside',
    says: 'the execution was cancelled, not by Mayfly',
    holds: (_task, _text, { cancelled }) => cancelled,
  },
  // The platform kills what does not heed its TERM: the text tells that from memory.
  {
    ...OUT_OF_TIME,
    holds: (_task, text) => /timed? ?out|timeout|deadline/i.test(text),
  },
  {
    ...OUT_OF_MEMORY,
    holds: ({ exitCode, termSignal }) => exitCode === 137 || termSignal === 9,
  },
  {
    ...OUT_OF_TIME,
    holds: ({ exitCode, termSignal }) => exitCode === 143 || termSignal === 15,
  },
  {
    cause: 'interrupted',
    says: 'the task was told to stop before its end',
    holds: ({ exitCode }) => exitCode === EXIT_FLUSHED,
  },
  {
    cause: 'machine-lost',
    says: 'the task found no work: its bootstrap was gone, or the claim was another’s',
    holds: ({ exitCode }) => exitCode === EXIT_NO_WORK,
  },
  {
    cause: 'step-failed',
    step: 'start',
    says: 'the container did not start',
    holds: ({ exitCode, termSignal }, text) =>
      exitCode === null && termSignal === null && /exec format|failed to start|image/i.test(text),
  },
  {
    cause: 'exit',
    says: 'the task ended without a report',
    holds: ({ exitCode }) => exitCode !== null && exitCode !== 0,
  },
];

const LOST_ROW: PlatformRow = {
  cause: 'machine-lost',
  says: 'the task ended without a report',
  holds: () => true,
};

/** What the tasks told of themselves, as one: first start, last end, all outputs up to a bound. */
function factsOfTasks(markers: ReadonlyMap<number, Marker>): MachineFacts | null {
  const all = [...markers].sort(([a], [b]) => a - b).map(([, marker]) => marker);
  const [first] = all;
  if (first === undefined) return null;
  const outputs: OutputObject[] = all.flatMap((marker) => marker.outputs);
  return {
    bootEpoch: extreme(Math.min, all, 'bootEpoch'),
    pullEndEpoch: null,
    execStartEpoch: extreme(Math.min, all, 'execStartEpoch'),
    endEpoch: extreme(Math.max, all, 'endEpoch'),
    imageDigest: null,
    peakMemoryBytes: extreme(Math.max, all, 'peakMemoryBytes'),
    gpuCount: first.gpuCount,
    logTail: first.detail,
    outputs: outputs.slice(0, OUTPUTS_LISTED),
  };
}

function extreme(
  pick: (...values: number[]) => number,
  markers: readonly Marker[],
  field: 'bootEpoch' | 'execStartEpoch' | 'endEpoch' | 'peakMemoryBytes',
): number | null {
  const values = markers.flatMap((marker) => marker[field] ?? []);
  return values.length === 0 ? null : pick(...values);
}
