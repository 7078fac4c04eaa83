// What a pass over a run has read so far, and what it may do next. `decide` asks for what it lacks, one
// step at a time, so that the order of reading (machine first, marker last) is decided in one place.
import type { BootReport } from '#shared/lifecycle/boot-report.ts';
import type { ExecutionEnding } from '#shared/lifecycle/execution-ending.ts';
import type { MachineEnding } from '#shared/lifecycle/failures.ts';
import type { Marker } from '#shared/lifecycle/marker.ts';
import type { Attempt, ClaimHolder, RunRecord } from '#shared/lifecycle/record.ts';
import type { Quotas } from '#shared/plan/quota.ts';

export type MachineFact =
  | {
      readonly kind: 'there';
      readonly id: string;
      readonly status: string;
      /** Deployment, attempt and nonce are this attempt's. */
      readonly ours: boolean;
      /** Last entry into RUNNING; null when the platform did not say. */
      readonly startedMs: number | null;
      /** What an execution that has not started waits for, in the platform's words. */
      readonly waitsFor?: string;
    }
  /** `id`: of an execution that was seen, and has ended. */
  | { readonly kind: 'gone'; readonly id?: string }
  | { readonly kind: 'unknown' };

/** Stopped machines have no TTL any more and bill their disks: doomed whatever their deadline. */
export const isStopped = (status: string) =>
  status === 'TERMINATED' || status === 'STOPPED' || status === 'SUSPENDED';

export interface PlatformError {
  /** Of an answer to a call; an operation's error has none. */
  readonly status?: number;
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, string>>;
}

export type OperationFact =
  | { readonly kind: 'pending' }
  | { readonly kind: 'succeeded'; readonly instanceId: string | null }
  | { readonly kind: 'failed'; readonly error: PlatformError }
  | { readonly kind: 'unknown' };

export type InsertFact =
  | {
      readonly kind: 'accepted';
      readonly operation: string;
      readonly instanceId: string | null;
    }
  /** `definite` only for the first call of the intent by the delivery that wrote it. */
  | { readonly kind: 'refused'; readonly definite: boolean; readonly error: PlatformError }
  | { readonly kind: 'conflict' }
  /** Nothing was made. `untilMs`: when such calls may be made again, where that is kept for all. */
  | {
      readonly kind: 'rate-limited';
      readonly error: PlatformError;
      readonly definite?: boolean;
      readonly untilMs?: number;
      /** False: no call was made, others were told already. */
      readonly asked?: boolean;
    }
  | { readonly kind: 'unknown'; readonly error: PlatformError };

/** A turn among the calls that start executions; `later`: none is left before the delivery's end. */
export interface Turn {
  readonly kind: 'granted' | 'later';
  readonly atMs: number;
}

export type ClaimFact =
  | { readonly kind: 'free' }
  | { readonly kind: 'held'; readonly holder: ClaimHolder };

/** The live marker object: `marker` is null when there is none, or none of this attempt. */
export interface MarkerFact {
  readonly marker: Marker | null;
  /** '0' when there is no object. */
  readonly generation: string;
}

/** Everything read in this pass about the run. Null or absent: not read yet. */
export interface Observation {
  readonly marker: MarkerFact | null;
  readonly claim: ClaimFact | null;
  /** By `machineKey(instance, zone)`. */
  readonly machines: Readonly<Record<string, MachineFact>>;
  /** By attempt and intent, `1/2`. */
  readonly operations: Readonly<Record<string, OperationFact>>;
  readonly inserts: Readonly<Record<string, InsertFact>>;
  /** By instance id. */
  readonly endings: Readonly<Record<string, MachineEnding | ExecutionEnding | 'unknown'>>;
  /** By machine key; null when the machine has said nothing, or it cannot be read. */
  readonly bootReports: Readonly<Record<string, BootReport | null>>;
  readonly disks: Readonly<Record<string, 'gone' | 'there' | 'unknown'>>;
  readonly quotas: Quotas | null;
  /** This pass has written the record: what is due later in it is this pass's to wait for. */
  readonly wrote: boolean;
  /** Where calls have to wait for their turn. */
  readonly turn: Turn | null;
  /** The marker was sealed by the control plane, in this pass or before. */
  readonly sealed: boolean;
  /** The result and its index entry are written. */
  readonly finished: boolean;
  /** The look for due work was published in this pass. */
  readonly looked: boolean;
  /** Machines whose delete was sent in this pass, by machine key. */
  readonly deleted: readonly string[];
  /** Repeats of the current intent's insert, and looks at its operation, in this pass. */
  readonly tries: number;
}

export const NOTHING_SEEN: Observation = {
  marker: null,
  claim: null,
  machines: {},
  operations: {},
  inserts: {},
  endings: {},
  bootReports: {},
  disks: {},
  quotas: null,
  wrote: false,
  turn: null,
  sealed: false,
  finished: false,
  looked: false,
  deleted: [],
  tries: 0,
};

export const machineKey = (instance: string, zone: string) => `${instance}@${zone}`;
export const intentKey = (attempt: number, intent: number) => `${attempt}/${intent}`;

export interface MachineName {
  readonly instance: string;
  readonly zone: string;
}

/** What follows a successful write, in this order. Each may be lost; a later pass does it again. */
export type Effect =
  | ({ readonly kind: 'delete-machine' } & MachineName)
  | { readonly kind: 'publish-look' }
  | { readonly kind: 'provisioning-marker' };

/** The one next thing to do in a pass. */
export type Step =
  | { readonly kind: 'rest' }
  | { readonly kind: 'read-marker' | 'read-claim' | 'take-claim' | 'seal-marker' }
  | ({ readonly kind: 'read-machine' } & MachineName)
  | {
      readonly kind: 'read-operation';
      readonly key: string;
      readonly zone: string;
      readonly operation: string;
    }
  | { readonly kind: 'read-quotas'; readonly scopes: readonly string[] }
  | { readonly kind: 'take-turn'; readonly region: string }
  | { readonly kind: 'read-ending'; readonly zone: string; readonly instanceId: string }
  | ({ readonly kind: 'read-boot-report' } & MachineName)
  | ({ readonly kind: 'delete-machine' } & MachineName)
  | { readonly kind: 'delete-disk'; readonly zone: string; readonly disk: string }
  | { readonly kind: 'insert'; readonly intent: number }
  /** Submit alone: pause, then forget what is said to be read again. */
  | {
      readonly kind: 'pause';
      readonly milliseconds: number;
      readonly again: 'insert' | 'operation' | 'nothing';
    }
  | { readonly kind: 'publish-look' }
  | { readonly kind: 'finish' }
  | { readonly kind: 'forget' }
  | { readonly kind: 'write'; readonly record: RunRecord; readonly effects: readonly Effect[] };

/** What was seen of the attempt's machine in a zone. */
export function factOf(attempt: Attempt, zone: string, seen: Observation): MachineFact {
  return seen.machines[machineKey(attempt.instance, zone)] ?? { kind: 'unknown' };
}
