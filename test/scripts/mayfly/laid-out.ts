// A deployment in the local cloud without processes behind its functions: what doctor looks at, and
// nothing that would answer a request.
import { clientEnvironment } from '#scripts/local-cloud/deployment/client-lines.ts';
import {
  LOCAL_AUDIENCE,
  LOCAL_BUCKET,
  LOCAL_DEPLOYMENT,
  LOCAL_PROJECT,
  LOCAL_REGION,
  localAccount,
  localEnvironment,
  localSettings,
} from '#scripts/local-cloud/deployment/environment.ts';
import { localGrants } from '#scripts/local-cloud/deployment/grants.ts';
import { identityCalls } from '#scripts/local-cloud/deployment/identity.ts';
import { type LocalDeployment, layOutDeployment } from '#scripts/local-cloud/deployment/layout.ts';
import type { WorldChoices } from '#scripts/local-cloud/options.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';

const FUNCTION_URL = 'http://127.0.0.1:9';

export interface LaidOut extends AsyncDisposable {
  readonly cloud: LocalCloud;
  readonly deployment: LocalDeployment;
  /** Points the command at it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** `world`: what is to be otherwise in it. */
export async function layOut(nowMs: () => number, world: WorldChoices = {}): Promise<LaidOut> {
  const cloud = await startLocalCloud({
    world: {
      project: LOCAL_PROJECT,
      buckets: [],
      grants: localGrants(),
      storage: { objectWriteGapMs: 0 },
      ...world,
    },
    nowMs,
  });
  const { baseUrl } = cloud;
  const url = (name: string) => `${FUNCTION_URL}/${name}`;
  const deployment: LocalDeployment = {
    ...{ baseUrl, project: LOCAL_PROJECT, bucket: LOCAL_BUCKET, deployment: LOCAL_DEPLOYMENT },
    ...{ plan: localSettings(baseUrl).plan, region: LOCAL_REGION, audience: LOCAL_AUDIENCE },
    ...{ taskAccount: localAccount('jobs-task'), pushAccount: localAccount('push') },
    functionUrls: {
      submit: url('submit'),
      finalize: url('finalize'),
      signals: url('signals'),
      sweep: url('sweep'),
      notify: url('notify'),
    },
  };
  const { projectNumber } = cloud.world.options.compute;
  await layOutDeployment(
    deployment,
    identityCalls(deployment, localEnvironment(baseUrl), projectNumber),
  );
  return {
    cloud,
    deployment,
    environment: clientEnvironment(deployment),
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}
