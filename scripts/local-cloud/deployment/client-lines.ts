// How programs that know nothing of Mayfly reach the local cloud: variables and ready commands.
import { localEnvironment } from '#scripts/local-cloud/deployment/environment.ts';
import { DATA_FOLDERS } from '#scripts/local-cloud/deployment/grants.ts';
import type { LocalDeployment } from '#scripts/local-cloud/deployment/layout.ts';

/** Variables for the command, for gcloud and for the client libraries. */
export function clientEnvironment(deployment: LocalDeployment): Readonly<Record<string, string>> {
  const { baseUrl, project, bucket, deployment: name, pubsubUrl = baseUrl } = deployment;
  const local = localEnvironment(baseUrl);
  return {
    MAYFLY_PROJECT: project,
    MAYFLY_BUCKET: bucket,
    MAYFLY_DEPLOYMENT: name,
    MAYFLY_REGIONS: local.MAYFLY_REGIONS ?? '',
    MAYFLY_WORKER_SERVICE_ACCOUNTS: local.MAYFLY_WORKER_SERVICE_ACCOUNTS ?? '',
    STORAGE_EMULATOR_HOST: baseUrl,
    PUBSUB_EMULATOR_HOST: new URL(pubsubUrl).host,
    MAYFLY_ENDPOINT_COMPUTE: baseUrl,
    MAYFLY_ENDPOINT_RUN: baseUrl,
    MAYFLY_ENDPOINT_SCHEDULER: baseUrl,
    MAYFLY_ENDPOINT_LOGGING: baseUrl,
    MAYFLY_ENDPOINT_IAM: baseUrl,
    MAYFLY_ENDPOINT_CLOUDFUNCTIONS: baseUrl,
    MAYFLY_ENDPOINT_SERVICEUSAGE: baseUrl,
    MAYFLY_ENDPOINT_POLICYTROUBLESHOOTER: baseUrl,
    CLOUDSDK_CORE_PROJECT: project,
    CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
    CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE: `${baseUrl}/compute/v1/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${baseUrl}/storage/v1/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB: `${pubsubUrl}/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDSCHEDULER: `${baseUrl}/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${baseUrl}/`,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING: `${baseUrl}/`,
  };
}

/** As lines for a shell. */
export function exportLines(environment: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`);
}

/** Ways to send a request and to look around, each to be pasted after the export lines. */
export function exampleCommands(deployment: LocalDeployment): readonly string[] {
  const { baseUrl, project, bucket, deployment: name, pubsubUrl = baseUrl } = deployment;
  const request = '{"image":"mayfly.local/examples/echo-args:1","args":["hello"]}';
  const topic = `projects/${project}/topics/${name}-run-requests`;
  const data = Buffer.from(request).toString('base64');
  return [
    `npm run mayfly -- submit --image mayfly.local/examples/echo-args:1 --wait -- hello`,
    `curl -s -X POST ${pubsubUrl}/v1/${topic}:publish -H 'content-type: application/json' -d '{"messages":[{"data":"${data}"}]}'`,
    `gcloud pubsub topics publish ${name}-run-requests --message='${request}'`,
    `gcloud storage ls --recursive gs://${bucket}/`,
    `gcloud compute instances list`,
    `curl -s '${baseUrl}/storage/v1/b/${bucket}/o?prefix=runs/results/'`,
    `node -e "const { Storage } = require('@google-cloud/storage'); new Storage({ apiEndpoint: '${baseUrl}', projectId: '${project}' }).bucket('${bucket}').getFiles({ prefix: 'runs/results/' }).then(([files]) => console.log(files.map((file) => file.name)))"`,
  ];
}

/** Where the data of runs may be. */
export function dataFolderLine({ bucket }: LocalDeployment): string {
  const folders = DATA_FOLDERS.map((folder) => `gs://${bucket}/${folder}`);
  return `runs may read and write ${folders.join(', ')}`;
}
