// Jobs, their executions and tasks as the world keeps them (Cloud Run Admin API v2).
import type { JsonObject } from '#scripts/local-cloud/json.ts';

export interface JobState {
  /** `projects/P/locations/R/jobs/J`. */
  readonly name: string;
  readonly project: string;
  readonly region: string;
  readonly shortName: string;
  readonly uid: string;
  /** The body as it was sent. */
  readonly body: JsonObject;
  readonly createdMs: number;
  /** Oldest first, by full name. */
  readonly executions: string[];
  /** In the order in which they ended. */
  readonly ended: string[];
}

export type TaskStatus = 'pending' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** Why the platform has told a task to end; null: it has not. */
export type TaskOrder = 'cancel' | 'timeout';

/** How an attempt of a task ended. Exit code and signal exclude each other; both may be missing. */
export interface AttemptResult {
  readonly exitCode: number | null;
  readonly termSignal: number | null;
  readonly message: string;
}

export interface TaskState {
  readonly index: number;
  /** Counts from 0. */
  attempt: number;
  status: TaskStatus;
  order: TaskOrder | null;
  startedMs: number | null;
  completedMs: number | null;
  result: AttemptResult | null;
}

/** What is planted for the next executions of a Job. */
export interface PlantedStart {
  readonly match: { readonly region?: string; readonly job?: string };
  readonly times: number;
  /** So much later than the world's options say. */
  readonly delayMs: number;
  /** Does not start at all: what its conditions say. Null: it starts. */
  readonly stuck: string | null;
  /** With `stuck`: the execution fails with that instead of waiting for ever. */
  readonly fails: boolean;
}

export interface ExecutionState {
  /** `projects/P/locations/R/jobs/J/executions/E`. */
  readonly name: string;
  readonly shortName: string;
  readonly job: JobState;
  readonly uid: string;
  readonly operation: string;
  readonly creator: string;
  readonly createdMs: number;
  /** The task template, with the overrides in it. */
  readonly template: JsonObject;
  readonly taskCount: number;
  readonly parallelism: number;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly tasks: readonly TaskState[];
  /** Tasks before this one have begun. */
  nextTask: number;
  /** How many tasks have ended for good. */
  overCount: number;
  startedMs: number | null;
  completedMs: number | null;
  cancelledMs: number | null;
  deletedMs: number | null;
  /** Why it does not start, or did not. */
  stuck: string | null;
  retried: number;
}

export interface RunState {
  /** By full name, as are executions. */
  readonly jobs: Map<string, JobState>;
  readonly executions: Map<string, ExecutionState>;
  /** Operation → execution. */
  readonly operations: Map<string, string>;
  /** `projects/P/locations/R` → when executions were started within the last minute. */
  readonly startsMs: Map<string, number[]>;
  readonly planted: { readonly start: PlantedStart; used: number }[];
}

export function createRun(): RunState {
  return {
    jobs: new Map(),
    executions: new Map(),
    operations: new Map(),
    startsMs: new Map(),
    planted: [],
  };
}

export const placeName = (project: string, region: string) =>
  `projects/${project}/locations/${region}`;

export const isOver = (task: TaskState) => task.status !== 'pending' && task.status !== 'running';

/** The first container of a task: the one that does the work. */
export const containerOf = (template: JsonObject): JsonObject => {
  const [container] = Array.isArray(template.containers) ? template.containers : [];
  return typeof container === 'object' && container !== null ? (container as JsonObject) : {};
};

/** Variables of a container that are given as plain values. */
export function variablesOf(container: JsonObject): Record<string, string> {
  const entries = Array.isArray(container.env) ? (container.env as JsonObject[]) : [];
  return Object.fromEntries(entries.map(({ name, value }) => [String(name), String(value ?? '')]));
}

export const hasGpu = (container: JsonObject) => {
  const { limits } = (container.resources ?? {}) as { limits?: JsonObject };
  return Number(limits?.['nvidia.com/gpu'] ?? 0) > 0;
};
