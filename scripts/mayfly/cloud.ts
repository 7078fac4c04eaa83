// What the verbs need of Google Cloud: the deployment's bucket and its requests topic, with the user's
// own credentials, or without any where an emulator or the local cloud stands in.
import type { Target } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { type Clock, type Entropy, systemClock, systemEntropy } from '#shared/cloud/clock.ts';
import type { Compute } from '#shared/cloud/compute.ts';
import { createCompute } from '#shared/cloud/compute-client.ts';
import type { Transport } from '#shared/cloud/http.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import { withScheme } from '#shared/cloud/rpc-client.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { createObjectStore } from '#shared/cloud/storage-client.ts';
import {
  applicationCredentials,
  type Credentials,
  createTransport,
  noCredentials,
} from '#shared/cloud/token.ts';

export interface Cloud {
  readonly target: Target;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** For looks at machines; null where an emulator stands in for the bucket and nothing for machines. */
  readonly compute: Compute | null;
  /** The REST API of another service; the name as in MAYFLY_ENDPOINT_<SERVICE>. */
  api(service: string): { readonly endpoint: string | null; readonly transport: Transport };
  /** Publishes one message on the requests topic and gives its id. */
  publishRequest(data: string): Promise<string>;
}

/** Opens the deployment; no call is made before the first use. */
export function openCloud(
  target: Target,
  { environment, cloud }: Pick<Terminal, 'environment' | 'cloud'>,
): Cloud {
  if (cloud !== undefined) return cloud(target);
  const { project, bucket, deployment } = target;
  const credentials = applicationCredentials(project);
  const options = (service: string) => clientOptions(project, environment, service, credentials);
  const storage = options('STORAGE');
  const emulated = isOpen(storage.endpoint) && findEndpoint(environment, 'COMPUTE') === null;
  const publisher = createPublisher({ project, ...options('PUBSUB') });
  return {
    target,
    store: createObjectStore({ bucket, ...storage }),
    clock: systemClock,
    entropy: systemEntropy,
    compute: emulated ? null : openCompute(project, options('COMPUTE')),
    api: (service) => {
      const { endpoint, credentials: account } = options(service);
      return { endpoint, transport: createTransport(account) };
    },
    publishRequest: (data) => publisher.publish(`${deployment}-run-requests`, data),
  };
}

/** Where calls of a service go, and with which credentials; `service` as in MAYFLY_ENDPOINT_<SERVICE>. */
export function clientOptions(
  project: string,
  environment: Terminal['environment'],
  service: string,
  credentials: Credentials = applicationCredentials(project),
): { endpoint: string | null; credentials: Credentials } {
  const endpoint = findEndpoint(environment, service);
  // A token never travels in clear text, and an emulator wants none.
  return { endpoint, credentials: isOpen(endpoint) ? noCredentials(project) : credentials };
}

function openCompute(
  project: string,
  { endpoint, credentials }: { endpoint: string | null; credentials: Credentials },
): Compute {
  return createCompute({ project, endpoint, transport: createTransport(credentials) });
}

/** Machines are those of a local cloud. */
export const isLocal = (environment: Terminal['environment']) =>
  isOpen(findEndpoint(environment, 'COMPUTE'));

const isOpen = (endpoint: string | null) => endpoint?.startsWith('http://') === true;

/** Google's own variable of the emulator (scheme or not), else ours; null: Google's own endpoint. */
function findEndpoint(environment: Terminal['environment'], service: string): string | null {
  const emulator = environment[`${service}_EMULATOR_HOST`];
  const text = emulator || environment[`MAYFLY_ENDPOINT_${service}`] || null;
  if (text === null) return null;
  return withScheme(text).replace(/\/+$/, '');
}
