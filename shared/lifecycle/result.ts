// The result of a run (contract §3): a pure function of its ended record, so that whoever comes first
// can write it and everybody writes the same bytes. Unknown is null, never 0.
import {
  attemptCost,
  billedSeconds,
  executeSeconds,
  wasteSeconds,
} from '#shared/lifecycle/attempt-cost.ts';
import type { OutputObject } from '#shared/lifecycle/marker.ts';
import {
  type Attempt,
  type AttemptEnd,
  type Place,
  type RunRecord,
  workingIntent,
} from '#shared/lifecycle/record.ts';
import type { Fault } from '#shared/plan/model.ts';

export interface AttemptResult {
  readonly attempt: number;
  readonly instance: string;
  /** Of Cloud Run Jobs, short; null on a machine. */
  readonly execution: string | null;
  readonly region: string | null;
  readonly zone: string | null;
  readonly machineType: string | null;
  readonly provisioningModel: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly status: string | null;
  readonly cause: string | null;
  /** Until when a failed machine is left for a look (`keepOnFailureSeconds`). */
  readonly keptUntil: string | null;
  readonly costUsd: number | null;
  /** Of it the seconds that are billed, and those in which the container ran. */
  readonly billedSeconds: number | null;
  readonly executeSeconds: number | null;
}

export interface RunResult {
  readonly schema: 1;
  readonly runId: string;
  readonly status: string;
  readonly cause: string;
  readonly step: string | null;
  readonly exitCode: number | null;
  readonly detail: string;
  readonly runtime: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly imageDigest: string | null;
  readonly peakMemoryBytes: number | null;
  readonly gpuCount: number | null;
  readonly attempts: readonly AttemptResult[];
  readonly places: readonly Place[];
  readonly placesCount: number;
  readonly phases: Readonly<
    Record<
      'acceptedAt' | 'placedAt' | 'bootedAt' | 'pulledAt' | 'startedAt' | 'endedAt',
      string | null
    >
  >;
  readonly seconds: Readonly<
    Record<'queue' | 'provision' | 'boot' | 'pull' | 'execute' | 'total', number | null>
  >;
  readonly costUsd: number | null;
  /** Billed in all attempts without a running container. */
  readonly wasteSeconds: number | null;
  /** The publisher's trace (W3C), when there was one. */
  readonly traceparent?: string;
  readonly log: { readonly tail: string | null; readonly query: string | null };
  readonly outputs: readonly OutputObject[];
  readonly tasks: {
    readonly count: number;
    readonly succeeded: number;
    readonly failed: readonly {
      readonly index: number;
      readonly status: string;
      readonly cause: string;
      readonly exitCode: number | null;
    }[];
  };
}

/** A request that never became a run: the result's shape with the faults and no attempts. */
export interface Rejection {
  readonly schema: 1;
  readonly runId: string | null;
  readonly status: 'REJECTED';
  readonly cause: 'invalid' | 'conflict' | 'budget' | 'not-allowed';
  readonly detail: string;
  readonly errors: readonly Fault[];
  readonly attempts: readonly never[];
  readonly rejectedAt: string;
  readonly traceparent?: string;
}

export function buildResult(
  record: RunRecord,
  settings: { readonly project: string; readonly fullLog: 'logging' | 'none' },
): RunResult {
  const end = record.end;
  if (end === null) throw new Error(`run ${record.runId} has not ended`);
  const last = record.attempts.at(-1);
  const facts = last?.facts ?? null;
  const attempts = record.attempts.map((attempt) => attemptResult(attempt, record));
  const count = record.terms.tasks ?? 1;
  const succeeded = end.status === 'SUCCEEDED';
  const failure = { index: 0, status: end.status, cause: end.cause, exitCode: end.exitCode };
  return {
    schema: 1,
    runId: record.runId,
    status: end.status,
    cause: end.cause,
    step: end.step,
    exitCode: end.exitCode,
    detail: end.detail,
    runtime: record.runtime,
    labels: record.terms.labels,
    annotations: record.terms.annotations,
    imageDigest: facts?.imageDigest ?? null,
    peakMemoryBytes: facts?.peakMemoryBytes ?? null,
    gpuCount: facts?.gpuCount ?? null,
    attempts,
    places: record.places,
    placesCount: record.placesCount,
    phases: phasesOf(record, end),
    seconds: secondsOf(record, end),
    costUsd: sum(attempts.map((attempt) => attempt.costUsd)),
    wasteSeconds: sum(record.attempts.map((attempt) => wasteSeconds(attempt, record))),
    ...(record.terms.traceparent ? { traceparent: record.terms.traceparent } : {}),
    log: { tail: facts?.logTail ?? null, query: logQuery(record, settings) },
    outputs: facts?.outputs ?? [],
    tasks: end.tasks ?? {
      count,
      succeeded: succeeded ? count : 0,
      failed: succeeded ? [] : [failure],
    },
  };
}

function attemptResult(attempt: Attempt, record: RunRecord): AttemptResult {
  const { runtime } = record;
  const intent = workingIntent(attempt);
  const candidate = intent?.candidate ?? null;
  return {
    attempt: attempt.number,
    instance: attempt.instance,
    execution: runtime === 'gce' ? null : (intent?.instanceId ?? null),
    region: candidate?.region ?? null,
    zone: runtime === 'gce' ? (candidate?.zone ?? null) : null,
    machineType: candidate?.machineType ?? null,
    provisioningModel: candidate?.provisioningModel ?? null,
    startedAt: rfc3339(attempt.startedMs) ?? '',
    endedAt: rfc3339(attempt.end?.atMs ?? null),
    status: attempt.end?.status ?? null,
    cause: attempt.end?.cause ?? null,
    keptUntil: rfc3339(attempt.kept?.untilMs ?? null),
    costUsd: attemptCost(attempt, record),
    billedSeconds: billedSeconds(attempt, record),
    executeSeconds: executeSeconds(attempt),
  };
}

function sum(values: readonly (number | null)[]): number | null {
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return Math.round(total * 1e6) / 1e6;
}

function phasesOf(record: RunRecord, end: AttemptEnd): RunResult['phases'] {
  const last = record.attempts.at(-1);
  const facts = last?.facts ?? null;
  return {
    acceptedAt: rfc3339(record.acceptedMs),
    placedAt: rfc3339(placedMs(record)),
    bootedAt: fromEpoch(facts?.bootEpoch ?? null),
    pulledAt: fromEpoch(facts?.pullEndEpoch ?? null),
    startedAt: fromEpoch(facts?.execStartEpoch ?? null),
    endedAt: rfc3339(end.atMs),
  };
}

function placedMs(record: RunRecord): number | null {
  const entry = record.history.find(
    (step) => step.state === 'PROVISIONING' && step.attempt === record.attempts.length,
  );
  return entry?.atMs ?? null;
}

/** Whole phases in seconds; clocks of two machines are compared, so none is below zero. */
function secondsOf(record: RunRecord, end: AttemptEnd): RunResult['seconds'] {
  const facts = record.attempts.at(-1)?.facts ?? null;
  const boot = facts?.bootEpoch ?? null;
  const start = facts?.execStartEpoch ?? null;
  const first = record.attempts[0];
  const placed = placedMs(record);
  return {
    queue: first === undefined ? null : between(record.acceptedMs / 1000, first.startedMs / 1000),
    provision: between((record.attempts.at(-1)?.startedMs ?? Number.NaN) / 1000, boot),
    // The last part of `provision`: from the accepted order to the machine's boot.
    boot: between(placed === null ? null : placed / 1000, boot),
    pull: between(boot, facts?.pullEndEpoch ?? null),
    execute: between(start, facts?.endEpoch ?? null),
    total: between(record.acceptedMs / 1000, end.atMs / 1000),
  };
}

function between(from: number | null, to: number | null): number | null {
  if (from === null || to === null || Number.isNaN(from)) return null;
  return Math.max(0, Math.round((to - from) * 10) / 10);
}

/** A filter for Cloud Logging: the output of the last attempt, whose tail stands beside it. */
export function logQuery(
  { attempts, runId, runtime }: RunRecord,
  settings: { readonly project: string; readonly fullLog: 'logging' | 'none' },
): string | null {
  const last = attempts.at(-1);
  const attempt = last?.number;
  if (last === undefined || (runtime === 'gce' && settings.fullLog === 'none')) return null;
  if (runtime !== 'gce') {
    const execution = workingIntent(last)?.instanceId;
    if (!execution) return null;
    return `resource.type="cloud_run_job" AND labels."run.googleapis.com/execution_name"="${execution}"`;
  }
  const log = `projects/${settings.project}/logs/mayfly-container`;
  return `logName="${log}" AND labels.run_id="${runId}" AND labels.attempt="${attempt}"`;
}

const rfc3339 = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const fromEpoch = (seconds: number | null) => rfc3339(seconds === null ? null : seconds * 1000);
