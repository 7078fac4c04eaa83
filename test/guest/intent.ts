// A small valid intent: a test names only what it is about.
import { readGuestScripts } from '#shared/guest/scripts.ts';
import type { GuestSettings } from '#shared/plan/guest-settings.ts';
import type {
  IntentInput,
  PlanSettings,
  ProvisioningModel,
  ResolvedInput,
  RunRequest,
} from '#shared/plan/model.ts';
import { JOBS } from '#test/plan/fixtures.ts';

export interface IntentChoices {
  readonly request?: Partial<RunRequest>;
  readonly settings?: Partial<PlanSettings>;
  readonly guest?: Partial<GuestSettings>;
  readonly inputs?: readonly ResolvedInput[];
  readonly attempt?: number;
  readonly pinnedImage?: string | null;
  readonly traceparent?: string | null;
  readonly zone?: string;
  readonly provisioningModel?: ProvisioningModel;
}

export const INSTANCE = 'mayfly-run-1-0123456789ab-1';
export const NONCE = '00112233445566778899aabbccddeeff';
export const SCRIPTS = readGuestScripts();

export const REQUEST: RunRequest = {
  runId: 'run-1',
  runtime: 'gce',
  image: 'europe-docker.pkg.dev/p/r/app:v1',
  command: null,
  args: [],
  workingDir: null,
  env: {},
  secrets: {},
  imageCredentials: null,
  package: null,
  inputs: {},
  outputs: {},
  resources: {
    machineTypes: ['e2-standard-4'],
    cpus: 4,
    memoryGiB: 16,
    gpu: null,
    architecture: 'amd64',
    bootDiskGiB: 100,
    diskType: null,
    bootImage: null,
    localSsdCount: 0,
    class: null,
    base: null,
  },
  place: { regions: null, zones: null, subnetworks: {} },
  provisioning: 'standard',
  serviceAccount: 'worker@p.iam.gserviceaccount.com',
  metadataAccess: false,
  capabilities: [],
  ttlSeconds: 7200,
  timeoutSeconds: 6900,
  retry: { preempted: 3, infrastructure: 2, outOfMemory: 1, failed: 0 },
  waitForCapacitySeconds: 3600,
  keepOnFailureSeconds: 0,
  gpuIdleSeconds: 0,
  budgetUsd: null,
  tasks: 1,
  checkpoint: {},
  labels: {},
  annotations: {},
};

const SETTINGS: PlanSettings = {
  deployment: 'mayfly',
  project: 'p1',
  bucket: 'b1',
  regions: ['europe-west1'],
  subnetworks: { 'europe-west1': 'projects/p1/regions/europe-west1/subnetworks/default' },
  workerServiceAccounts: ['worker@p.iam.gserviceaccount.com'],
  imageHosts: ['*-docker.pkg.dev', 'gcr.io', '*.gcr.io'],
  capabilitiesAllowed: [],
  metadataAccessDefault: false,
  ttlSecondsMax: 86_400,
  budgetUsdMax: null,
  defaultRuntime: 'gce',
  fullLog: 'none',
  diskKmsKey: null,
  secureBoot: false,
  networkTags: [],
  instanceMetadata: {},
  jobs: JOBS,
  endpoints: {
    storage: 'https://storage.googleapis.com',
    compute: 'https://compute.googleapis.com',
    secretManager: 'https://secretmanager.googleapis.com',
    logging: 'https://logging.googleapis.com',
  },
};

/** A run that needs everything at once, on one of the boot images. */
export const everything = (bootImage: 'cos' | 'deep-learning'): IntentChoices => ({
  request: {
    secrets: { TOKEN: 'projects/p/secrets/s/versions/1' },
    imageCredentials: 'projects/p/secrets/c/versions/1',
    package: { uri: 'gs://b1/app.tar.gz', sha256: 'ab'.repeat(32) },
    inputs: { '/in': 'gs://b1/in' },
    outputs: { '/out': 'gs://b1/out/' },
    gpuIdleSeconds: 600,
    resources: { ...REQUEST.resources, bootImage },
  },
  inputs: [{ path: '/in', bucket: 'b1', object: 'in', generation: '1', bytes: 1 }],
  settings: { fullLog: 'logging' },
  provisioningModel: 'SPOT',
});

export function makeIntent(choices: IntentChoices = {}): IntentInput {
  const request = { ...REQUEST, ...choices.request };
  const candidate = {
    region: 'europe-west1',
    zone: choices.zone ?? 'europe-west1-b',
    subnetwork: 'projects/p1/regions/europe-west1/subnetworks/default',
    machineType: 'e2-standard-4',
    provisioningModel: choices.provisioningModel ?? 'STANDARD',
    usdPerHour: 0.15,
  } as const;
  return {
    plan: {
      request,
      candidates: [candidate],
      warnings: [],
      estimate: { attemptUsd: 0.3, totalUsd: 0.3 },
    },
    settings: {
      ...SETTINGS,
      ...choices.settings,
      ...(choices.guest === undefined ? {} : { guest: choices.guest }),
    },
    scripts: SCRIPTS,
    inputs: choices.inputs ?? [],
    attempt: choices.attempt ?? 1,
    intent: 1,
    nonce: NONCE,
    candidate,
    createdSeconds: 1_764_600_000,
    pinnedImage: choices.pinnedImage ?? null,
    traceparent: choices.traceparent ?? null,
  };
}
