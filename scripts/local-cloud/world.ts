// The whole cloud as one value that the step changes in place. It owns its objects: what goes in and
// what comes out is copied, nothing is kept as text.
import { AccountKeys } from '#scripts/local-cloud/account-keys.ts';
import { CallLog } from '#scripts/local-cloud/call-log.ts';
import { type ComputeState, createCompute } from '#scripts/local-cloud/compute/state.ts';
import { FaultPlan } from '#scripts/local-cloud/faults.ts';
import type { IamState } from '#scripts/local-cloud/iam.ts';
import { KeyRing } from '#scripts/local-cloud/keys.ts';
import { createLogging, type LoggingState } from '#scripts/local-cloud/logging/state.ts';
import {
  completeOptions,
  type WorldChoices,
  type WorldOptions,
} from '#scripts/local-cloud/options.ts';
import { createProject, type ProjectState } from '#scripts/local-cloud/project/state.ts';
import { createPubsub, type PubsubState } from '#scripts/local-cloud/pubsub/state.ts';
import { Random } from '#scripts/local-cloud/random.ts';
import { createRun, type RunState } from '#scripts/local-cloud/run/state.ts';
import { createScheduler, type SchedulerState } from '#scripts/local-cloud/scheduler/state.ts';
import { createSecrets, type SecretsState } from '#scripts/local-cloud/secrets/state.ts';
import { createStorage, type StorageState } from '#scripts/local-cloud/storage/state.ts';
import { TimerQueue } from '#scripts/local-cloud/timers.ts';

export interface World {
  readonly options: WorldOptions;
  readonly random: Random;
  readonly timers: TimerQueue;
  readonly faults: FaultPlan;
  readonly calls: CallLog;
  readonly iam: IamState;
  readonly keys: KeyRing;
  readonly accountKeys: AccountKeys;
  readonly storage: StorageState;
  readonly compute: ComputeState;
  readonly run: RunState;
  readonly pubsub: PubsubState;
  readonly scheduler: SchedulerState;
  readonly secrets: SecretsState;
  readonly logging: LoggingState;
  readonly project: ProjectState;
  /** Where clients reach the world: in `mediaLink` and `selfLink`. The server sets its own. */
  baseUrl: string;
}

/** A fresh world: its buckets, zones and stock as the options say, and nothing else in it. */
export function createWorld(choices: WorldChoices = {}): World {
  const options = completeOptions(choices);
  return {
    options,
    random: new Random(options.seed),
    timers: new TimerQueue(),
    faults: new FaultPlan(),
    calls: new CallLog(options.loggedCallsMax),
    iam: {
      grants: options.grants && [...options.grants],
      tokens: new Map(),
      used: new Map(),
      refused: new Set(),
    },
    keys: new KeyRing(),
    accountKeys: new AccountKeys(options.quickSignatures),
    storage: createStorage(options.buckets),
    compute: createCompute(options.compute),
    run: createRun(),
    pubsub: createPubsub(),
    scheduler: createScheduler(),
    secrets: createSecrets(options.secrets),
    logging: createLogging(),
    project: createProject(),
    baseUrl: 'https://www.googleapis.com',
  };
}
