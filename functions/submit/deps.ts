// What submit needs besides the driver's own: the guest scripts, and other buckets to resolve inputs.
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { GuestScripts } from '#shared/plan/model.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

export interface SubmitDeps extends RunDeps {
  readonly scripts: GuestScripts;
  /** Machine types whose zones are being asked for right now, by whichever delivery. */
  readonly asking: Map<string, Promise<readonly string[] | null>>;
  /** A store over any bucket that the function may read. */
  readonly openBucket: (bucket: string) => ObjectStore;
}
