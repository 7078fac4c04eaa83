// A deployment, a request and a plan of it, with everything defaulted but what a test is about.
import { readGuestScripts } from '#shared/guest/scripts.ts';
import type {
  Fault,
  GuestScripts,
  InstanceBody,
  IntentInput,
  JobsSettings,
  PlannedIntent,
  PlanSettings,
  RunPlan,
  RunRequest,
} from '#shared/plan/model.ts';
import { planIntent, planRun } from '#shared/plan/plan.ts';
import { parseRequest } from '#shared/plan/request.ts';

const SUBNETWORK_REGIONS = ['us-central1', 'us-east1', 'us-west1', 'europe-west1', 'europe-west4'];
export const WORKER = 'worker@p.iam.gserviceaccount.com';

const scripts: GuestScripts = readGuestScripts();

/** The defaults, and the two accounts. */
export const JOBS: JobsSettings = {
  jobTemplate: '{deployment}-{base}-{class}',
  pluginBases: {
    mmm: 'base-bayes',
    sci: 'base-bayes',
    tabular: 'base-bayes',
    ingest: 'base-bayes',
    describe: 'base-bayes',
    sklearn: 'base-ml',
    ts: 'base-forecast',
    causal: 'base-forecast',
    dl: 'base-dl',
  },
  defaultBase: 'base-bayes',
  gpuJobs: false,
  submitsPerMinute: 150,
  submitBurst: 10,
  max429Retries: 6,
  backoffBaseSeconds: 1,
  backoffCapSeconds: 64,
  timeoutMarginSeconds: 120,
  adoptLookbackSeconds: 93_600,
  gpuTaskSecondsMax: 3600,
  readerServiceAccount: 'reader@p.iam.gserviceaccount.com',
  uploaderServiceAccount: 'uploader@p.iam.gserviceaccount.com',
};

export function makeSettings(changes: Partial<PlanSettings> = {}): PlanSettings {
  return {
    deployment: 'mayfly',
    project: 'p',
    bucket: 'p-mayfly',
    regions: ['us-central1'],
    subnetworks: Object.fromEntries(
      SUBNETWORK_REGIONS.map((region) => [region, `projects/p/regions/${region}/subnetworks/s`]),
    ),
    workerServiceAccounts: [WORKER],
    imageHosts: ['*-docker.pkg.dev', 'gcr.io', '*.gcr.io'],
    capabilitiesAllowed: ['SYS_PTRACE'],
    metadataAccessDefault: false,
    ttlSecondsMax: 86_400,
    budgetUsdMax: null,
    defaultRuntime: 'gce',
    fullLog: 'logging',
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
    ...changes,
  };
}

export type Fields = Readonly<Record<string, unknown>>;

/** What is given as undefined is left out. */
const makeRequestJson = (fields: Fields = {}): Fields => {
  const all = { runId: 'run-1', image: 'alpine:3.20', ...fields };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
};

export function parse(fields: Fields = {}, settings = makeSettings()) {
  return parseRequest(makeRequestJson(fields), { defaultRunId: null, settings });
}

export function makeRequest(fields: Fields = {}, settings = makeSettings()): RunRequest {
  const parsed = parse(fields, settings);
  if (parsed.kind === 'valid') return parsed.request;
  throw new Error(`refused: ${JSON.stringify(parsed.faults)}`);
}

/** Faults of a request, from its validation or else from its planning. */
export function faultsOf(fields: Fields, settings = makeSettings()): readonly Fault[] {
  const parsed = parse(fields, settings);
  if (parsed.kind === 'invalid') return parsed.faults;
  const planned = planRun(parsed.request, settings);
  return planned.kind === 'invalid' ? planned.faults : [];
}

/** Fields at fault, in the order told. */
export const faultFields = (fields: Fields, settings = makeSettings()) =>
  faultsOf(fields, settings).map(({ field }) => field);

export function makePlan(fields: Fields = {}, settings = makeSettings()): RunPlan {
  const planned = planRun(makeRequest(fields, settings), settings);
  if (planned.kind === 'planned') return planned.plan;
  throw new Error(`refused: ${JSON.stringify(planned.faults)}`);
}

export function makeIntent(
  fields: Fields = {},
  settings = makeSettings(),
  changes: Partial<IntentInput> = {},
): PlannedIntent {
  const plan = makePlan(fields, settings);
  const [candidate] = plan.candidates;
  if (candidate === undefined) throw new Error('no candidate');
  return planIntent({
    plan,
    settings,
    scripts,
    inputs: [],
    attempt: 1,
    intent: 1,
    nonce: '0'.repeat(32),
    candidate,
    createdSeconds: 1_796_126_400,
    pinnedImage: null,
    ...changes,
  });
}

export const makeBody = (fields: Fields = {}, settings = makeSettings()): InstanceBody =>
  makeIntent(fields, settings).body;

/** Machine types of the candidates, each once, in their order. */
export const machineTypesOf = (plan: RunPlan) => [
  ...new Set(plan.candidates.map(({ machineType }) => machineType)),
];
