// The real dependencies of a function, built once per cold start from the environment. The Google
// clients behind them are loaded only when first used.
import { createClients } from '#shared/cloud/clients.ts';
import { systemClock, systemEntropy } from '#shared/cloud/clock.ts';
import { readSettings } from '#shared/cloud/config.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { systemLog } from '#shared/cloud/system-log.ts';
import { DEPLOYMENT_OBJECT } from '#shared/plan/objects.ts';
import { Turns } from '#shared/runs/jobs/turns.ts';

/** Throws when a setting is wrong, or when the bucket is another deployment's. */
export async function realDeps() {
  const settings = readSettings(process.env);
  const { store, openBucket, compute, jobs, publisher, signer } = createClients(settings);
  await requireDeployment(store, settings.plan.bucket, settings.plan.deployment);
  return {
    settings,
    store,
    openBucket,
    compute,
    jobs,
    signer,
    turns: new Turns(settings.plan.jobs),
    publisher,
    clock: systemClock,
    entropy: systemEntropy,
    log: systemLog,
  };
}

/** Two deployments on one bucket would take each other's runs for their own: refuse to work. */
export async function requireDeployment(
  store: ObjectStore,
  bucket: string,
  deployment: string,
): Promise<void> {
  const reply = await store.read(DEPLOYMENT_OBJECT);
  const found = reply.kind === 'absent' ? null : new TextDecoder().decode(reply.bytes).trim();
  if (found === deployment) return;
  const said = found === null ? 'is missing' : `says ${JSON.stringify(found.slice(0, 40))}`;
  throw new Error(
    `gs://${bucket}/${DEPLOYMENT_OBJECT} ${said}, MAYFLY_DEPLOYMENT is ${JSON.stringify(deployment)}: ` +
      'each deployment has a bucket of its own; apply the Terraform of this deployment, or correct MAYFLY_BUCKET',
  );
}

/** Builds once and keeps; a failure is not kept, so that the next request tries again. */
export function once<Value>(build: () => Promise<Value>): () => Promise<Value> {
  let kept: Promise<Value> | null = null;
  return () => {
    kept ??= build().catch((error: unknown) => {
      kept = null;
      throw error;
    });
    return kept;
  };
}
