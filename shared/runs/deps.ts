// What the driver of a run needs from outside: one plain object of narrow interfaces.
import type { Clock, Entropy } from '#shared/cloud/clock.ts';
import type { Compute } from '#shared/cloud/compute.ts';
import type { Settings } from '#shared/cloud/config.ts';
import { type Log, tracedLog } from '#shared/cloud/log.ts';
import type { Publisher } from '#shared/cloud/pubsub.ts';
import type { RunJobs } from '#shared/cloud/run-jobs.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import type { UrlSigner } from '#shared/cloud/url-signer.ts';
import type { Traceparent } from '#shared/plan/trace-context.ts';
import type { Turns } from '#shared/runs/jobs/turns.ts';

export interface RunDeps {
  readonly settings: Settings;
  readonly store: ObjectStore;
  readonly compute: Compute;
  readonly jobs: RunJobs;
  readonly signer: UrlSigner;
  /** Of this process, shared by all its deliveries. */
  readonly turns: Turns;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
}

/** The same, with the trace on every line of the log. */
export function traced<Deps extends Pick<RunDeps, 'settings' | 'log'>>(
  deps: Deps,
  traceparent: Traceparent | null | undefined,
): Deps {
  if (!traceparent) return deps;
  return { ...deps, log: tracedLog(deps.log, deps.settings.plan.project, traceparent) };
}

export const topicOf = (
  deployment: string,
  name: 'run-requests' | 'run-results' | 'run-events',
): string => `${deployment}-${name}`;
