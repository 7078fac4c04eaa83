// How a world behaves where the real cloud's behaviour is a matter of luck, load or configuration.
// Every option has a default, so that a test names only what it is about.
import {
  DEFAULT_MACHINE_TYPES,
  DEFAULT_ZONES,
  type MachineTypeSpec,
} from '#scripts/local-cloud/compute/catalogue.ts';
import type { Grant } from '#scripts/local-cloud/iam.ts';

export interface StorageOptions {
  /** Smallest time between two changes of one object name; 0 switches the limit off. */
  readonly objectWriteGapMs: number;
  /** Answer 403 instead of 404 for a missing object to callers who may not list. */
  readonly hideMissingObjects: boolean;
  /**
   * What a caller is told who may only create, where something is there and a precondition does not
   * hold: 412 when true, else 403. Which of the two comes first is not documented.
   */
  readonly conditionsBeforeRights: boolean;
  /** How long after the write a notification is published. */
  readonly notificationDelayMs: number;
  /** Up to so much more, drawn for each notification: they may overtake each other. */
  readonly notificationSpreadMs: number;
  readonly notificationLoss: number;
  readonly notificationDuplication: number;
}

export interface ComputeOptions {
  readonly zones: Readonly<Record<string, { readonly machineTypes?: readonly string[] }>>;
  readonly machineTypes: Readonly<Record<string, MachineTypeSpec>>;
  /** From the insert to PROVISIONING's end, to STAGING's end (RUNNING), to a stock-out's report. */
  readonly provisioningMs: number;
  readonly stagingMs: number;
  readonly refusalMs: number;
  /** From soft-off to the power cut: ordinary and Spot machines. */
  readonly shutdownMs: number;
  readonly spotShutdownMs: number;
  /** What a delete takes after the power is off. */
  readonly removalMs: number;
  readonly diskRemovalMs: number;
  /** From an operation's start to RUNNING. */
  readonly operationPendingMs: number;
  readonly operationRetentionMs: number;
  /** How long a `requestId` is remembered; Compute does not document it. */
  readonly requestIdWindowMs: number;
  /** The end by `maxRunDuration` may begin so much later than configured (30 s are documented). */
  readonly ttlDelayMs: number;
  /** Whether that end leaves an operation and an event of the system; reported, not documented. */
  readonly ttlOperation: boolean;
  /** How long after its insert an instance stays invisible to get, and to lists. */
  readonly getLagMs: number;
  readonly listLagMs: number;
  /** A delete while the machine is being made: taken, or refused with `resourceNotReady`. */
  readonly deleteWhileCreating: 'accept' | 'not-ready';
  readonly projectNumber: string;
}

export interface RunOptions {
  /** `jobs.run` calls a minute of a project in a region; beyond them 429. */
  readonly runsPerMinute: number;
  /** From the call to the first tasks. */
  readonly startMs: number;
  /** From TERM to KILL, at a time-out as at a cancel. */
  readonly termGraceMs: number;
  /** How long after its creation an execution stays invisible to lists. */
  readonly listLagMs: number;
  /** Beyond so many the oldest ended executions of a Job go, but none of the last seven days. */
  readonly executionsKept: number;
}

export interface PubsubOptions {
  /** From publish to the first push. */
  readonly deliveryMs: number;
  /** A copy of a message that was acknowledged or not: at-least-once. */
  readonly duplication: number;
  /** Base URL of Google's emulator, where that takes the place of this broker; null: this one it is. */
  readonly emulator: string | null;
}

/** How what a service tells by itself comes to its topic. */
export interface DispatchOptions {
  readonly delayMs: number;
  /** Up to so much more, drawn for each message: they may overtake each other. */
  readonly spreadMs: number;
  readonly loss: number;
  readonly duplication: number;
}

export interface LoggingOptions {
  /** Entries beyond so many bytes push the oldest out. */
  readonly bytesMax: number;
  /** From an entry to its message on the topic of a sink. */
  readonly sink: DispatchOptions;
}

export interface WorldOptions {
  readonly project: string;
  readonly buckets: readonly string[];
  readonly seed: number;
  /** Who may do what; null: everybody may do everything, as the owner may. */
  readonly grants: readonly Grant[] | null;
  /** What service accounts sign is signed by an HMAC, not by RSA: for simulations that sign a lot. */
  readonly quickSignatures: boolean;
  /** Calls kept in the log with their order; counts are kept without bound. */
  readonly loggedCallsMax: number;
  /** `projects/P/secrets/S` → the text of its first version. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly storage: StorageOptions;
  readonly compute: ComputeOptions;
  readonly run: RunOptions;
  readonly pubsub: PubsubOptions;
  readonly logging: LoggingOptions;
}

/** Options as a caller gives them: any part may be missing. */
export interface WorldChoices
  extends Partial<Omit<WorldOptions, 'storage' | 'compute' | 'run' | 'pubsub' | 'logging'>> {
  readonly storage?: Partial<StorageOptions>;
  readonly compute?: Partial<ComputeOptions>;
  readonly run?: Partial<RunOptions>;
  readonly pubsub?: Partial<PubsubOptions>;
  readonly logging?: { readonly bytesMax?: number; readonly sink?: Partial<DispatchOptions> };
}

const STORAGE_DEFAULTS: StorageOptions = {
  objectWriteGapMs: 1000,
  hideMissingObjects: false,
  conditionsBeforeRights: false,
  notificationDelayMs: 0,
  notificationSpreadMs: 0,
  notificationLoss: 0,
  notificationDuplication: 0,
};

const COMPUTE_DEFAULTS: ComputeOptions = {
  zones: DEFAULT_ZONES,
  machineTypes: DEFAULT_MACHINE_TYPES,
  provisioningMs: 2000,
  stagingMs: 3000,
  refusalMs: 5000,
  shutdownMs: 20_000,
  spotShutdownMs: 20_000,
  removalMs: 2000,
  diskRemovalMs: 1000,
  operationPendingMs: 500,
  operationRetentionMs: 14 * 24 * 3_600_000,
  requestIdWindowMs: 3_600_000,
  ttlDelayMs: 0,
  ttlOperation: false,
  getLagMs: 0,
  listLagMs: 0,
  deleteWhileCreating: 'accept',
  projectNumber: '100000000001',
};

const RUN_DEFAULTS: RunOptions = {
  runsPerMinute: 180,
  startMs: 5000,
  termGraceMs: 10_000,
  listLagMs: 0,
  executionsKept: 1000,
};

export function completeOptions(choices: WorldChoices): WorldOptions {
  return {
    project: 'local-project',
    buckets: ['local-bucket'],
    seed: 1,
    grants: null,
    quickSignatures: false,
    loggedCallsMax: 10_000,
    secrets: {},
    ...choices,
    storage: { ...STORAGE_DEFAULTS, ...choices.storage },
    compute: { ...COMPUTE_DEFAULTS, ...choices.compute },
    run: { ...RUN_DEFAULTS, ...choices.run },
    pubsub: { deliveryMs: 0, duplication: 0, emulator: null, ...choices.pubsub },
    logging: {
      bytesMax: choices.logging?.bytesMax ?? 32 * 1024 * 1024,
      sink: { delayMs: 0, spreadMs: 0, loss: 0, duplication: 0, ...choices.logging?.sink },
    },
  };
}
