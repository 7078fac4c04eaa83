// The settings (contract §5): one frozen typed object from environment variables. Every wrong or
// missing variable is named at once. `process.env` is read nowhere else but at the entry points that
// hand it in.
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import type { Setting } from '#shared/cloud/setting.ts';
import { readJobsSettings } from '#shared/cloud/settings-jobs.ts';
import { type Environment, SettingsError, SettingsReader } from '#shared/cloud/settings-reader.ts';
import { SETTINGS } from '#shared/cloud/settings-table.ts';
import type { PlanSettings } from '#shared/plan/model.ts';
import { brokenMetadataKey } from '#shared/plan/setting-rules.ts';
import { subnetworkPath } from '#shared/plan/subnetwork.ts';

export interface PushSettings {
  readonly mode: 'platform' | 'verify' | 'internal-token';
  /** The exact `aud` of every push and scheduler token. */
  readonly audience: string;
  /** The accounts whose tokens are accepted. */
  readonly serviceAccounts: readonly string[];
  /** `projects/P/subscriptions/S` or short names; null accepts any. */
  readonly subscriptions: readonly string[] | null;
  readonly jwksUrl: string;
  /** `internal-token` mode alone. */
  readonly internalToken: string | null;
}

export interface Settings {
  readonly plan: PlanSettings;
  readonly push: PushSettings;
  readonly sweepPeriodSeconds: number;
  readonly reapsPerSweepMax: number;
  readonly retentionDays: number;
  /** Base URLs of the services where they are not Google's own; no trailing slash. */
  readonly endpoints: {
    readonly storage: string | null;
    readonly compute: string | null;
    readonly pubsub: string | null;
    readonly scheduler: string | null;
    readonly run: string | null;
    readonly iamCredentials: string | null;
  };
  /** Where an emulator stands in: no credentials are looked up for it. */
  readonly emulated: { readonly storage: boolean; readonly pubsub: boolean };
  /** The project billed for storage requests; null: the bucket's own. */
  readonly userProject: string | null;
}

/** Reads all settings. Throws a SettingsError that names every fault. */
export function readSettings(environment: Environment): Settings {
  const reader = new SettingsReader(environment);
  const plan = readPlanSettings(reader);
  const push = readPushSettings(reader, environment);
  const emulators = {
    storage: reader.optional(SETTINGS.emulatorStorage),
    pubsub: reader.optional(SETTINGS.emulatorPubsub),
  };
  const endpoints = {
    storage: emulators.storage ?? reader.optional(SETTINGS.endpointStorage),
    compute: reader.optional(SETTINGS.endpointCompute),
    pubsub: emulators.pubsub ?? reader.optional(SETTINGS.endpointPubsub),
    scheduler: reader.optional(SETTINGS.endpointScheduler),
    run: reader.optional(SETTINGS.endpointRun),
    iamCredentials: reader.optional(SETTINGS.endpointIamCredentials),
  };
  const settings = {
    plan: {
      ...plan,
      endpoints: {
        storage: endpoints.storage ?? GOOGLE_ENDPOINTS.storage,
        compute: endpoints.compute ?? GOOGLE_ENDPOINTS.compute,
        secretManager:
          reader.optional(SETTINGS.endpointSecretManager) ?? GOOGLE_ENDPOINTS.secretManager,
        logging: reader.optional(SETTINGS.endpointLogging) ?? GOOGLE_ENDPOINTS.logging,
      },
    },
    push,
    sweepPeriodSeconds: reader.needed(SETTINGS.sweepPeriodSeconds, 0),
    reapsPerSweepMax: reader.needed(SETTINGS.reapsPerSweepMax, 0),
    retentionDays: reader.needed(SETTINGS.retentionDays, 0),
    endpoints,
    emulated: { storage: emulators.storage !== null, pubsub: emulators.pubsub !== null },
    userProject: reader.optional(SETTINGS.userProject),
  };
  if (reader.faults.length > 0) throw new SettingsError(reader.faults);
  return freeze(settings);
}

function readPlanSettings(reader: SettingsReader): Omit<PlanSettings, 'endpoints'> {
  const project = reader.needed(SETTINGS.project, '');
  const regions = reader.needed<readonly string[]>(SETTINGS.regions, []);
  const guest = reader.optional(SETTINGS.guest);
  const deployment = reader.needed(SETTINGS.deployment, '');
  return {
    deployment,
    project,
    bucket: reader.needed(SETTINGS.bucket, ''),
    regions,
    subnetworks: readSubnetworks(reader, regions, project),
    workerServiceAccounts: reader.needed<readonly string[]>(SETTINGS.workerServiceAccounts, []),
    imageHosts: reader.needed<readonly string[]>(SETTINGS.imageHosts, []),
    capabilitiesAllowed: reader.optional(SETTINGS.capabilitiesAllowed) ?? [],
    metadataAccessDefault: reader.needed<boolean>(SETTINGS.metadataAccessDefault, false),
    ttlSecondsMax: reader.needed(SETTINGS.ttlSecondsMax, 0),
    budgetUsdMax: reader.optional(SETTINGS.budgetUsdMax),
    defaultRuntime: reader.needed(SETTINGS.defaultRuntime, 'gce'),
    fullLog: reader.needed(SETTINGS.fullLog, 'logging'),
    diskKmsKey: reader.optional(SETTINGS.diskKmsKey),
    secureBoot: reader.needed<boolean>(SETTINGS.secureBoot, false),
    networkTags: reader.optional(SETTINGS.networkTags) ?? [],
    instanceMetadata: readInstanceMetadata(reader),
    jobs: readJobsSettings(reader, deployment),
    ...(guest === null ? {} : { guest }),
  };
}

/** Every region gets a subnetwork: the one that is set, else the one named default. */
function readSubnetworks(
  reader: SettingsReader,
  regions: readonly string[],
  project: string,
): Readonly<Record<string, string>> {
  const given = reader.optional(SETTINGS.subnetworks) ?? {};
  const paths: Record<string, string> = {};
  for (const region of new Set([...regions, ...Object.keys(given)])) {
    if (!regions.includes(region)) {
      const rule = `${JSON.stringify(region)} is not in MAYFLY_REGIONS`;
      reader.refuse(SETTINGS.subnetworks, rule, regions.join(', ') || 'a region of MAYFLY_REGIONS');
      continue;
    }
    const read = subnetworkPath(given[region] ?? 'default', region, project);
    if (read.kind === 'path') paths[region] = read.path;
    else reader.refuse(SETTINGS.subnetworks, read.rule, read.accepted);
  }
  return paths;
}

function readInstanceMetadata(reader: SettingsReader): Readonly<Record<string, string>> {
  const metadata = reader.optional(SETTINGS.instanceMetadata) ?? {};
  for (const key of Object.keys(metadata)) {
    const broken = brokenMetadataKey(key);
    if (broken !== null) reader.refuse(SETTINGS.instanceMetadata, broken.rule, broken.accepted);
  }
  return metadata;
}

function readPushSettings(reader: SettingsReader, environment: Environment): PushSettings {
  const mode = reader.needed(SETTINGS.pushMode, 'platform');
  const audience = reader.optional(SETTINGS.pushAudience);
  const serviceAccounts = reader.optional(SETTINGS.pushServiceAccounts);
  const internalToken = reader.optional(SETTINGS.pushToken);
  const local = mode === 'internal-token';
  if (local && environment.K_SERVICE) {
    const rule = 'internal-token is for this machine alone, and this is a Cloud Run service';
    reader.refuse(SETTINGS.pushMode, rule, 'platform, verify');
  }
  const lacking = (setting: Setting<unknown>) =>
    reader.refuseMissing(setting, `MAYFLY_PUSH_MODE ${mode} needs it`);
  if (local && internalToken === null) lacking(SETTINGS.pushToken);
  if (!local && audience === null) lacking(SETTINGS.pushAudience);
  if (!local && serviceAccounts === null) lacking(SETTINGS.pushServiceAccounts);
  return {
    mode,
    audience: audience ?? '',
    serviceAccounts: serviceAccounts ?? [],
    subscriptions: reader.optional(SETTINGS.pushSubscriptions),
    jwksUrl: reader.needed(SETTINGS.jwksUrl, ''),
    internalToken: local ? internalToken : null,
  };
}

function freeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null) freeze(part as object);
  }
  return Object.freeze(value);
}
