// The record: the only mutable state of a run, changed by compare-and-swap alone. Plain JSON, bounded
// in size. What is not in here does not count.
import type { TaskSeconds, TaskSummary } from '#shared/lifecycle/execution-ending.ts';
import type { Cause, Ending, RetryCounter } from '#shared/lifecycle/failures.ts';
import type { KeptMachine } from '#shared/lifecycle/kept.ts';
import type { OutputObject, Step } from '#shared/lifecycle/marker.ts';
import type { PlacementVerdict } from '#shared/lifecycle/placement-errors.ts';
import type { RunState } from '#shared/lifecycle/transitions.ts';
import { CANDIDATES_MAX } from '#shared/plan/limits.ts';
import type { Candidate, RetryPolicy, Runtime } from '#shared/plan/model.ts';

export const RECORD_SCHEMA = 1;
export const HISTORY_MAX = 200;
/** As many as a request may have candidates, so that a walk knows which of them it has tried. */
export const PLACES_MAX = CANDIDATES_MAX;

/** What the request fixed and every function needs, so that only submit reads the request. */
export interface Terms {
  readonly retry: RetryPolicy;
  readonly ttlSeconds: number;
  readonly waitForCapacitySeconds: number;
  readonly keepOnFailureSeconds: number;
  readonly budgetUsd: number | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Of one execution; absent: 1. */
  readonly tasks?: number;
  /** The publisher's trace (W3C); absent: none, or a record of an earlier version. */
  readonly traceparent?: string;
}

/** A place that did not give a machine, with the platform's reason and what that means for others. */
export interface Place {
  readonly attempt: number;
  readonly zone: string;
  readonly machineType: string;
  readonly provisioningModel: string;
  readonly code: string;
  readonly message: string;
  readonly verdict: PlacementVerdict;
  readonly cause: 'stock-out' | 'quota' | 'refused';
  /** Waiting may help: it is not a limit below what one machine needs. */
  readonly mayPass: boolean;
  /** False: nothing was called, a quota was known to be short. */
  readonly called: boolean;
  /** Calls of this place one after the other, with pauses between. */
  readonly tries: number;
  /** Zones that have stock, if the platform named some. */
  readonly zonesWithStock?: readonly string[];
  readonly atMs: number;
}

/** One ordered creation: written before the call, removed when it was refused. */
export interface Intent {
  readonly number: number;
  readonly candidate: Candidate;
  readonly createdSeconds: number;
  readonly deadlineSeconds: number;
  readonly requestId: string;
  readonly status: 'ordered' | 'accepted' | 'abandoned';
  readonly operation: string | null;
  readonly instanceId: string | null;
  /** Another delivery than the one that ordered it calls it too: a refusal is unknown from then on. */
  readonly repeated?: boolean;
}

/** Who holds an attempt's claim, as read back from the claim object. */
export type ClaimHolder =
  | { readonly by: 'control' }
  | {
      readonly by: 'machine';
      readonly instanceId: string;
      readonly zone: string;
      readonly bootId: string;
    };

/** Why an attempt's machines are to be deleted before the attempt has ended. */
export interface StopOrder {
  readonly reason:
    | 'cancelled'
    | 'deadline'
    | 'stopped' // found stopped, or on its way out by the platform's hand
    | 'ending'; // its own marker says interrupted or preempted
  readonly cause: Cause | null;
  readonly detail: string;
  readonly atMs: number;
}

/** What the machine told of itself in its marker; epochs in seconds, null where unknown. */
export interface MachineFacts {
  readonly bootEpoch: number | null;
  readonly pullEndEpoch: number | null;
  readonly execStartEpoch: number | null;
  readonly endEpoch: number | null;
  readonly imageDigest: string | null;
  readonly peakMemoryBytes: number | null;
  /** Absent in records of an earlier version. */
  readonly gpuCount?: number | null;
  readonly logTail: string | null;
  readonly outputs: readonly OutputObject[];
}

export interface AttemptEnd extends Ending {
  readonly step: Step | null;
  readonly exitCode: number | null;
  readonly detail: string;
  readonly atMs: number;
  /** Of an execution that was judged by its tasks. */
  readonly tasks?: TaskSummary;
  readonly taskSeconds?: TaskSeconds;
}

export interface Attempt {
  readonly number: number;
  readonly nonce: string;
  readonly instance: string;
  readonly startedMs: number;
  /** The walk over the candidates, from 1, and how many places the run had tried when it began. */
  readonly walk: number;
  readonly walkFrom: number;
  /** Open intents only; `intentCount` is the number of the last one ever written. */
  readonly intents: readonly Intent[];
  readonly intentCount: number;
  readonly claim: ClaimHolder | null;
  readonly runningMs: number | null;
  readonly order: StopOrder | null;
  readonly facts: MachineFacts | null;
  readonly end: AttemptEnd | null;
  /** Of an execution: signs the event lines of its tasks. */
  readonly eventKey?: string;
  /** Answers in a row that too many executions are being started. */
  readonly throttled?: number;
  /** Of a failed last attempt: its machine stays that long, and is deleted then. */
  readonly kept?: KeptMachine;
}

export interface RunRecord {
  readonly schema: typeof RECORD_SCHEMA;
  readonly runId: string;
  readonly runtime: Runtime;
  readonly state: RunState;
  /** Names the write, so that a 412 after a lost reply is told from a lost race. */
  readonly writer: string;
  readonly acceptedMs: number;
  readonly changedMs: number;
  /** When submit has something to do; null: the machine's turn, or ended. */
  readonly dueMs: number | null;
  readonly terms: Terms;
  readonly used: Readonly<Record<RetryCounter, number>>;
  readonly attempts: readonly Attempt[];
  readonly places: readonly Place[];
  readonly placesCount: number;
  readonly cancel: { readonly reason: string; readonly atMs: number } | null;
  readonly end: AttemptEnd | null;
  readonly history: readonly {
    readonly state: RunState;
    readonly attempt: number;
    readonly atMs: number;
  }[];
}

export type RecordReading =
  | { readonly kind: 'record'; readonly record: RunRecord }
  /** Written by another version: never rewritten, the delivery is repeated. */
  | { readonly kind: 'foreign'; readonly reason: string };

/** Reads a stored record; only the schema number is judged, the rest we wrote ourselves. */
export function readRecord(bytes: Uint8Array): RecordReading {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return { kind: 'foreign', reason: `the record is not JSON: ${String(error)}` };
  }
  const record = value as RunRecord | null;
  if (record === null || typeof record !== 'object' || record.schema !== RECORD_SCHEMA) {
    const found = JSON.stringify((value as { schema?: unknown } | null)?.schema ?? null);
    return { kind: 'foreign', reason: `record schema is ${found}, this version reads 1` };
  }
  return { kind: 'record', record };
}

export function currentAttempt(record: RunRecord): Attempt | null {
  return record.attempts.at(-1) ?? null;
}

/** The intent whose machine worked: the holder's, else the last one that was accepted. */
export function workingIntent(attempt: Attempt): Intent | null {
  const holder = attempt.claim?.by === 'machine' ? attempt.claim.instanceId : null;
  return (
    attempt.intents.find((intent) => holder !== null && intent.instanceId === holder) ??
    attempt.intents.findLast((intent) => intent.status === 'accepted') ??
    null
  );
}

/** The record with its last attempt changed. */
export function withAttempt(record: RunRecord, change: Partial<Attempt>): RunRecord {
  const last = currentAttempt(record);
  if (last === null) throw new Error(`run ${record.runId} has no attempt to change`);
  return { ...record, attempts: [...record.attempts.slice(0, -1), { ...last, ...change }] };
}

/** The record in another state, with its history; the caller checks that it goes forward. */
export function withState(record: RunRecord, state: RunState, nowMs: number): RunRecord {
  if (record.state === state) return record;
  const entry = { state, attempt: record.attempts.length, atMs: nowMs };
  return { ...record, state, history: [...record.history, entry].slice(-HISTORY_MAX) };
}

/** Past the latest deadline of its machines an attempt is over by time; null: no machine yet. */
export function lastDeadlineMs(attempt: Attempt): number | null {
  if (attempt.intents.length === 0) return null;
  return Math.max(...attempt.intents.map((intent) => intent.deadlineSeconds)) * 1000;
}

/** Where machines of the attempt may stand: each place asked for, and where its claim was taken. */
export function machineZones(attempt: Attempt): string[] {
  const zones = new Set(attempt.intents.map((intent) => intent.candidate.zone));
  if (attempt.claim?.by === 'machine') zones.add(attempt.claim.zone);
  return [...zones];
}
