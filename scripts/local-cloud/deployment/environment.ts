// The settings of the deployment in the local cloud, as the environment variables that its functions
// and the command read. Other tools take what they lack from here too.
import { BOOT_ID_FILE } from '#scripts/local-cloud/host/folder.ts';
import { readSettings, type Settings } from '#shared/cloud/config.ts';
import type { GuestSettings } from '#shared/plan/guest-settings.ts';

export const LOCAL_PROJECT = 'local-project';
export const LOCAL_BUCKET = 'local-bucket';
export const LOCAL_DEPLOYMENT = 'mayfly';
export const LOCAL_REGION = 'europe-west1';
/** What every push and scheduler token is meant for. */
export const LOCAL_AUDIENCE = 'https://mayfly.local';
/** Where nothing listens: for plans that are only looked at. */
const NOWHERE = 'http://127.0.0.1:9';

export const localAccount = (name: string) =>
  `mayfly-${name}@${LOCAL_PROJECT}.iam.gserviceaccount.com`;

/** Short periods, and folders that need no root: relative to the local machine's own disk. */
const LOCAL_GUEST: Partial<GuestSettings> = {
  workDir: 'mayfly',
  runDir: 'mayfly-run',
  workUnit: '',
  // Containers are processes here: nothing bounds their memory or closes an address to them.
  memoryFile: '',
  firewall: '',
  bootIdFile: BOOT_ID_FILE,
  // The computer has been up for longer than its local machines have.
  uptimeFile: '',
  backoffMs: 200,
  backoffMaxMs: 2000,
  heartbeatSeconds: 5,
  logBatchSeconds: 1,
  selfDeleteDelaySeconds: 1,
  shutdownWaitSeconds: 5,
};

/** The `MAYFLY_*` variables of the local deployment; `baseUrl` is the local cloud's, if one runs. */
export function localEnvironment(baseUrl: string = NOWHERE): Readonly<Record<string, string>> {
  return {
    MAYFLY_PROJECT: LOCAL_PROJECT,
    MAYFLY_BUCKET: LOCAL_BUCKET,
    MAYFLY_DEPLOYMENT: LOCAL_DEPLOYMENT,
    MAYFLY_REGIONS: [LOCAL_REGION, 'us-central1'].join(','),
    MAYFLY_WORKER_SERVICE_ACCOUNTS: localAccount('worker'),
    MAYFLY_JOBS_READER_SERVICE_ACCOUNT: localAccount('jobs-reader'),
    MAYFLY_JOBS_UPLOADER_SERVICE_ACCOUNT: localAccount('jobs-uploader'),
    MAYFLY_FULL_LOG: 'logging',
    MAYFLY_GUEST: JSON.stringify(LOCAL_GUEST),
    MAYFLY_PUSH_MODE: 'verify',
    MAYFLY_PUSH_AUDIENCE: LOCAL_AUDIENCE,
    MAYFLY_PUSH_SERVICE_ACCOUNTS: localAccount('push'),
    MAYFLY_JWKS_URL: `${baseUrl}/oauth2/v3/certs`,
    MAYFLY_ENDPOINT_STORAGE: baseUrl,
    MAYFLY_ENDPOINT_COMPUTE: baseUrl,
    MAYFLY_ENDPOINT_RUN: baseUrl,
    MAYFLY_ENDPOINT_IAMCREDENTIALS: baseUrl,
    MAYFLY_ENDPOINT_PUBSUB: baseUrl,
    MAYFLY_ENDPOINT_SCHEDULER: baseUrl,
    MAYFLY_ENDPOINT_SECRETMANAGER: baseUrl,
    MAYFLY_ENDPOINT_LOGGING: baseUrl,
  };
}

/** The settings that those variables give. */
export function localSettings(baseUrl?: string): Settings {
  return readSettings(localEnvironment(baseUrl));
}
