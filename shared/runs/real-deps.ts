// The real dependencies of a function, built once per cold start from the environment. The Google
// clients behind them are loaded only when first used.
import { systemClock, systemEntropy } from '#shared/cloud/clock.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import { readSettings, type Settings } from '#shared/cloud/config.ts';
import { createLog } from '#shared/cloud/log.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { createObjectStore } from '#shared/cloud/storage-client.ts';
import { createTransport } from '#shared/cloud/token.ts';
import { DEPLOYMENT_OBJECT } from '#shared/plan/objects.ts';
import type { RunDeps } from '#shared/runs/deps.ts';

export const systemLog = createLog((line) => process.stdout.write(line));

export function settingsOfProcess(): Settings {
  return readSettings(process.env);
}

export function openBucket(settings: Settings, bucket: string): ObjectStore {
  return createObjectStore({ bucket, endpoint: settings.endpoints.storage });
}

/** Throws when a setting is wrong, or when the bucket is another deployment's. */
export async function realDeps(settings: Settings): Promise<RunDeps> {
  const { plan, endpoints } = settings;
  const { project } = plan;
  const store = openBucket(settings, plan.bucket);
  await requireDeployment(store, plan.bucket, plan.deployment);
  return {
    settings,
    store,
    compute: createCompute({ project, endpoint: endpoints.compute, transport: createTransport() }),
    publisher: createPublisher({ project, endpoint: endpoints.pubsub }),
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
