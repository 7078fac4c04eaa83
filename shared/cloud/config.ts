// The settings (contract §5): one frozen typed object from `MAYFLY_*` variables. Every wrong or
// missing variable is named at once. `process.env` is read nowhere else.
import type { PlanSettings } from '#shared/plan/model.ts';

export interface PushSettings {
  readonly mode: 'platform' | 'verify' | 'internal-token';
  /** The exact `aud` of every push and scheduler token. */
  readonly audience: string;
  /** The accounts whose tokens are accepted. */
  readonly serviceAccounts: readonly string[];
  /** `projects/P/subscriptions/S` or short names; null accepts any. */
  readonly subscriptions: readonly string[] | null;
  readonly jwksUrl: string;
  /** `internal-token` mode alone. */
  readonly internalToken: string | null;
}

export interface Settings {
  readonly plan: PlanSettings;
  readonly push: PushSettings;
  readonly sweepPeriodSeconds: number;
  readonly reapsPerSweepMax: number;
  readonly retentionDays: number;
  /** Base URLs of the services where they are not Google's own; no trailing slash. */
  readonly endpoints: {
    readonly storage: string | null;
    readonly compute: string | null;
    readonly pubsub: string | null;
    readonly scheduler: string | null;
  };
}
