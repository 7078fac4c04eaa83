// All Google clients of a deployment from its settings. They share one token; nothing is loaded or
// called before the first use: not Google's libraries, and of the services that only some messages
// need not our own code either.
import type { Compute } from '#shared/cloud/compute.ts';
import type { Settings } from '#shared/cloud/config.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import type { RunJobs } from '#shared/cloud/run-jobs.ts';
import { createScheduler } from '#shared/cloud/scheduler.ts';
import { createObjectStore } from '#shared/cloud/storage-client.ts';
import { applicationCredentials, createTransport, noCredentials } from '#shared/cloud/token.ts';
import type { UrlSigner } from '#shared/cloud/url-signer.ts';

export function createClients({ plan, endpoints, emulated, userProject }: Settings) {
  const { project, bucket } = plan;
  const account = applicationCredentials(project);
  const nobody = noCredentials(project);
  const transport = createTransport(account);
  const openBucket = (name: string) =>
    createObjectStore({
      bucket: name,
      endpoint: endpoints.storage,
      credentials: emulated.storage ? nobody : account,
      userProject,
    });
  return {
    transport,
    store: openBucket(bucket),
    openBucket,
    compute: later<Compute>(COMPUTE, async () => {
      const { createCompute } = await import('#shared/cloud/compute-client.ts');
      return createCompute({ project, endpoint: endpoints.compute, transport });
    }),
    jobs: later<RunJobs>(JOBS, async () => {
      const { createRunJobs } = await import('#shared/cloud/run-client.ts');
      return createRunJobs({ project, endpoint: endpoints.run, transport });
    }),
    signer: later<UrlSigner>(SIGNER, async () => {
      const { createUrlSigner } = await import('#shared/cloud/signed-url.ts');
      const { readerServiceAccount: reader, uploaderServiceAccount: uploader } = plan.jobs;
      return createUrlSigner({ transport, endpoints, reader, uploader });
    }),
    publisher: createPublisher({
      project,
      endpoint: endpoints.pubsub,
      credentials: emulated.pubsub ? nobody : account,
    }),
    scheduler: createScheduler({ endpoint: endpoints.scheduler, credentials: account }),
  };
}

type Methods<Client> = { readonly [Name in keyof Client]: (...given: never[]) => Promise<unknown> };

/** A client that is loaded when one of its methods, which all give promises, is first called. */
function later<Client extends Methods<Client>>(
  names: Readonly<Record<keyof Client, true>>,
  load: () => Promise<Client>,
): Client {
  let loading: Promise<Client> | null = null;
  const method =
    (name: keyof Client) =>
    async (...given: never[]) => {
      loading ??= load();
      return (await loading)[name](...given);
    };
  const methods = Object.keys(names).map((name) => [name, method(name as keyof Client)]);
  return Object.fromEntries(methods) as Client;
}

const COMPUTE = {
  insertInstance: true,
  getInstance: true,
  deleteInstance: true,
  getQuotas: true,
  zonesOffering: true,
  getOperation: true,
  listOperations: true,
  getGuestAttributes: true,
  listInstances: true,
  listDisks: true,
  deleteDisk: true,
} as const;

const JOBS = {
  runJob: true,
  getExecution: true,
  cancelExecution: true,
  listExecutions: true,
  listTasks: true,
  listJobs: true,
} as const;

const SIGNER = { signUrl: true, signForm: true } as const;
