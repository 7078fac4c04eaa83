// The deployment of the kernel's world: topics, subscriptions and notifications as a real one has them,
// the push end points named after the functions; and one more subscription that collects the events.
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import { type LocalDeployment, setUpCalls } from '#scripts/local-cloud/deployment/layout.ts';
import { routeRequest } from '#scripts/local-cloud/rest/router.ts';
import { readSettings } from '#shared/cloud/config.ts';

export const SETTINGS = readSettings({
  MAYFLY_PROJECT: 'local-project',
  MAYFLY_BUCKET: 'mayfly-local',
  MAYFLY_DEPLOYMENT: 'mayfly',
  MAYFLY_REGIONS: 'us-central1',
  MAYFLY_WORKER_SERVICE_ACCOUNTS: 'worker@local-project.iam.gserviceaccount.com',
  MAYFLY_JOBS_READER_SERVICE_ACCOUNT: 'jobs-reader@local-project.iam.gserviceaccount.com',
  MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT: 'jobs-uploader@local-project.iam.gserviceaccount.com',
  MAYFLY_JOBS_GPU_JOBS: 'true',
  MAYFLY_PUSH_AUDIENCE: 'mayfly',
  MAYFLY_PUSH_SERVICE_ACCOUNTS: 'push@local-project.iam.gserviceaccount.com',
  MAYFLY_PUSH_SUBSCRIPTIONS: 'any',
});

export const REQUEST = {
  image: 'alpine:3.20',
  resources: { machineType: 'e2-standard-4' },
  ttlSeconds: 3600,
};

export const DEPLOYMENT: LocalDeployment = {
  baseUrl: '',
  project: SETTINGS.plan.project,
  bucket: SETTINGS.plan.bucket,
  deployment: SETTINGS.plan.deployment,
  plan: SETTINGS.plan,
  taskAccount: 'jobs-task@local-project.iam.gserviceaccount.com',
  region: 'us-central1',
  pushAccount: 'push@local-project.iam.gserviceaccount.com',
  audience: 'mayfly',
  functionUrls: {
    submit: 'http://functions/submit',
    finalize: 'http://functions/finalize',
    signals: 'http://functions/signals',
    notify: 'http://functions/notify',
    sweep: 'http://functions/sweep',
  },
};

export function layOut(call: (call: Omit<Call, 'principal'>) => Reply): void {
  const collector = {
    verb: 'PUT' as const,
    path: '/v1/projects/local-project/subscriptions/collector',
    body: {
      topic: 'projects/local-project/topics/mayfly-run-events',
      pushConfig: { pushEndpoint: 'http://functions/collector' },
    },
  };
  for (const { verb, path, body } of [...setUpCalls(DEPLOYMENT), collector]) {
    if (path.startsWith('/v1/') && path.includes('/jobs')) continue; // The kernel sweeps by itself.
    const target = routeRequest(verb, path);
    if (target === null) throw new Error(`no such path: ${verb} ${path}`);
    const { method, params } = target;
    const reply = call({ method, params, body: bodyOf(method, body) });
    if (reply.status !== 200) throw new Error(`${verb} ${path}: ${JSON.stringify(reply.body)}`);
  }
}

function bodyOf(method: string, body: object | string): object {
  if (method !== 'storage.objects.insert') return body as object;
  return { bytes: new TextEncoder().encode(String(body)), metadata: {} };
}
