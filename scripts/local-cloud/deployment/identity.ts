// The other half of a laid out deployment: the APIs that are enabled, its accounts, its functions as the
// platform lists them, and what Google's own agents and the push account may do with its parts.
import {
  FUNCTION_NAMES,
  JOBS_ACCOUNTS,
  SERVICES,
} from '#scripts/local-cloud/deployment/inventory.ts';
import type { LocalDeployment } from '#scripts/local-cloud/deployment/layout.ts';
import type { SetUpCall } from '#scripts/local-cloud/deployment/set-up-call.ts';

const ACCOUNTS = [...FUNCTION_NAMES, 'push', 'worker', ...JOBS_ACCOUNTS];

/** `number`: the project's, which its agents are named after. */
export function identityCalls(
  deployment: LocalDeployment,
  environment: Readonly<Record<string, string>>,
  number: string,
): SetUpCall[] {
  const { project, deployment: name } = deployment;
  const post = (path: string, body: object = {}): SetUpCall => ({ verb: 'POST', path, body });
  return [
    ...SERVICES.map((api) => post(`/v1/projects/${project}/services/${api}:enable`)),
    ...ACCOUNTS.map((account) =>
      post(`/v1/projects/${project}/serviceAccounts`, { accountId: `${name}-${account}` }),
    ),
    ...functionCalls(deployment, environment),
    ...agentCalls(deployment, number),
  ];
}

function functionCalls(
  { project, region, deployment, functionUrls, pushAccount }: LocalDeployment,
  environmentVariables: Readonly<Record<string, string>>,
): SetUpCall[] {
  const parent = `/v2/projects/${project}/locations/${region}`;
  return FUNCTION_NAMES.flatMap((name) => {
    const uri = functionUrls[name];
    const serviceAccountEmail = `${deployment}-${name}@${project}.iam.gserviceaccount.com`;
    const serviceConfig = { uri, serviceAccountEmail, environmentVariables };
    const service = `${parent}/services/${deployment}-${name}`;
    return [
      {
        verb: 'POST',
        path: `${parent}/functions?functionId=${deployment}-${name}`,
        body: { serviceConfig },
      },
      bind(service, 'roles/run.invoker', [pushAccount]),
    ];
  });
}

/** Notifications, sinks, dead letters and tokens are Google's own work, by accounts of the project. */
function agentCalls({ project, deployment, pushAccount }: LocalDeployment, number: string) {
  const agent = (service: string) => `service-${number}@${service}.iam.gserviceaccount.com`;
  const [pubsub, storage] = [agent('gcp-sa-pubsub'), agent('gs-project-accounts')];
  const topic = (name: string) => `/v1/projects/${project}/topics/${deployment}-${name}`;
  const publisher = 'roles/pubsub.publisher';
  return [
    bind(topic('dead'), publisher, [pubsub]),
    bind(topic('run-status'), publisher, [storage]),
    bind(topic('run-results'), publisher, [storage]),
    bind(topic('run-signals'), publisher, [agent('gcp-sa-logging')]),
    bind(`/v1/projects/${project}/subscriptions/${deployment}-submit`, 'roles/pubsub.subscriber', [
      pubsub,
    ]),
    bind(
      `/v1/projects/${project}/serviceAccounts/${pushAccount}`,
      'roles/iam.serviceAccountTokenCreator',
      [pubsub, agent('gcp-sa-cloudscheduler')],
    ),
    bind(`/v3/projects/${project}`, 'roles/artifactregistry.reader', [
      `${deployment}-worker@${project}.iam.gserviceaccount.com`,
    ]),
  ];
}

function bind(path: string, role: string, accounts: readonly string[]): SetUpCall {
  const members = accounts.map((account) => `serviceAccount:${account}`);
  const policy = { bindings: [{ role, members }] };
  return { verb: 'POST', path: `${path}:setIamPolicy`, body: { policy } };
}
