// What the verbs need of Google Cloud: the deployment's bucket and its requests topic, with the user's
// own credentials, or without any where an emulator or the local cloud stands in.
import type { Target } from '#scripts/mayfly/target.ts';
import type { Terminal } from '#scripts/mayfly/terminal.ts';
import { type Clock, type Entropy, systemClock, systemEntropy } from '#shared/cloud/clock.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import { withScheme } from '#shared/cloud/rpc-client.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { createObjectStore } from '#shared/cloud/storage-client.ts';
import { applicationCredentials, noCredentials } from '#shared/cloud/token.ts';

export interface Cloud {
  readonly target: Target;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Publishes one message on the requests topic and gives its id. */
  publishRequest(data: string): Promise<string>;
}

/** Opens the deployment; no call is made before the first use. */
export function openCloud(target: Target, environment: Terminal['environment']): Cloud {
  const { project, bucket, deployment } = target;
  const credentials = applicationCredentials(project);
  const clientOptions = (service: 'STORAGE' | 'PUBSUB') => {
    const endpoint = findEndpoint(environment, service);
    // A token never travels in clear text, and an emulator wants none.
    const open = endpoint?.startsWith('http://') === true;
    return { endpoint, credentials: open ? noCredentials(project) : credentials };
  };
  const publisher = createPublisher({ project, ...clientOptions('PUBSUB') });
  return {
    target,
    store: createObjectStore({ bucket, ...clientOptions('STORAGE') }),
    clock: systemClock,
    entropy: systemEntropy,
    publishRequest: (data) => publisher.publish(`${deployment}-run-requests`, data),
  };
}

/** Google's own variable of the emulator (scheme or not), else ours; null: Google's own endpoint. */
function findEndpoint(
  environment: Terminal['environment'],
  service: 'STORAGE' | 'PUBSUB',
): string | null {
  const emulator = environment[`${service}_EMULATOR_HOST`];
  const text = emulator || environment[`MAYFLY_ENDPOINT_${service}`] || null;
  if (text === null) return null;
  return withScheme(text).replace(/\/+$/, '');
}
