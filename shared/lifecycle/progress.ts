// What is known of a running task by its events, for people to read: nothing is decided by it. A row is a
// pure function of the set of events, so that late, repeated and disordered ones come to the same.
import type { TaskEvent } from '#shared/lifecycle/task-event.ts';

export const PROGRESS_SCHEMA = 1;
export const HEARTBEAT_MS = 30_000;
/** Heartbeats are not among them. */
export const PROGRESS_EVENTS_MAX = 50;
/** Gaps are events that are on their way or lost; of more than this the oldest counts as lost. */
export const SEEN_RANGES_MAX = 200;
/** Without a word for so many heartbeats a running task is called stalled. */
const STALLED_HEARTBEATS = 3;

const PHASES = ['claimed', 'running', 'stopping', 'ended'] as const;
export type Phase = (typeof PHASES)[number];
type Range = readonly [from: number, to: number];

export interface TaskProgress {
  readonly schema: typeof PROGRESS_SCHEMA;
  readonly task: number;
  /** Of the newest event that began one; null while none has come. */
  readonly phase: Phase | null;
  readonly phaseSeq: number;
  /** The time of the newest event of any kind, by the task's clock. */
  readonly lastMs: number;
  readonly events: readonly Pick<TaskEvent, 'seq' | 'kind' | 'atMs' | 'data'>[];
  /** Numbers of all events that have come, ascending, with gaps between. */
  readonly seen: readonly Range[];
}

/** The row with one more event; null when that event is in it already. */
export function mergeEvent(before: TaskProgress | null, event: TaskEvent): TaskProgress | null {
  const row = before ?? emptyRow(event.task);
  const { seq, kind, atMs, data } = event;
  if (row.seen.some(([from, to]) => from <= seq && seq <= to)) return null;
  const phase = PHASES.find((name) => name === kind);
  const newPhase = phase !== undefined && seq > row.phaseSeq;
  const events = kind === 'heartbeat' ? row.events : [...row.events, { seq, kind, atMs, data }];
  return {
    ...row,
    ...(newPhase ? { phase, phaseSeq: seq } : {}),
    lastMs: Math.max(row.lastMs, atMs),
    events: [...events].sort((a, b) => a.seq - b.seq).slice(-PROGRESS_EVENTS_MAX),
    seen: withNumber(row.seen, seq),
  };
}

const emptyRow = (task: number): TaskProgress => ({
  schema: PROGRESS_SCHEMA,
  task,
  phase: null,
  phaseSeq: -1,
  lastMs: 0,
  events: [],
  seen: [],
});

function withNumber(seen: readonly Range[], number: number): readonly Range[] {
  const ranges: Range[] = [];
  for (const range of [...seen, [number, number] as const].sort((a, b) => a[0] - b[0])) {
    const last = ranges.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1) {
      ranges[ranges.length - 1] = [last[0], Math.max(last[1], range[1])];
    } else {
      ranges.push(range);
    }
  }
  const [first, second, ...rest] = ranges;
  const many = ranges.length > SEEN_RANGES_MAX && first !== undefined && second !== undefined;
  return many ? [[first[0], second[1]], ...rest] : ranges;
}

/** A word for people: whether the attempt is alive is the platform's to say. */
export function isStalled({ phase, lastMs }: TaskProgress, nowMs: number): boolean {
  const running = phase !== null && phase !== 'ended';
  return running && nowMs - lastMs >= STALLED_HEARTBEATS * HEARTBEAT_MS;
}

/** Reads a stored row; null when it is none of this version. */
export function readProgress(bytes: Uint8Array): TaskProgress | null {
  try {
    const row = JSON.parse(new TextDecoder().decode(bytes)) as TaskProgress | null;
    return row?.schema === PROGRESS_SCHEMA ? row : null;
  } catch {
    return null;
  }
}
