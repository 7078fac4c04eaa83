// All Google clients of a deployment from its settings. They share one token; nothing is loaded or
// called before the first use.
import { createCompute } from '#shared/cloud/compute-client.ts';
import type { Settings } from '#shared/cloud/config.ts';
import { createPublisher } from '#shared/cloud/pubsub.ts';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import { createScheduler } from '#shared/cloud/scheduler.ts';
import { createUrlSigner } from '#shared/cloud/signed-url.ts';
import { createObjectStore } from '#shared/cloud/storage-client.ts';
import { applicationCredentials, createTransport, noCredentials } from '#shared/cloud/token.ts';

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
    compute: createCompute({ project, endpoint: endpoints.compute, transport }),
    jobs: createRunJobs({ project, endpoint: endpoints.run, transport }),
    signer: createUrlSigner({
      transport,
      endpoints,
      reader: plan.jobs.readerServiceAccount,
      uploader: plan.jobs.uploaderServiceAccount,
    }),
    publisher: createPublisher({
      project,
      endpoint: endpoints.pubsub,
      credentials: emulated.pubsub ? nobody : account,
    }),
    scheduler: createScheduler({ endpoint: endpoints.scheduler, credentials: account }),
  };
}
