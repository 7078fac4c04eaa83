// The shapes that planning works on and hands out: the validated request, what a deployment allows,
// the places to try, the planned creation. Plain data; the rules stand in the files beside it.
import type { GuestSettings } from '#shared/plan/guest-settings.ts';

export type Runtime = 'gce' | 'cloudrun-jobs';
export type Architecture = 'amd64' | 'arm64';
export type ProvisioningModel = 'STANDARD' | 'SPOT';
export type Provisioning = 'standard' | 'spot' | 'spot-then-standard';

/** What is wrong with a field of a request: shown to people and stored in rejections. */
export interface Fault {
  /** The path in the request, for example `resources.gpu.count`, or `` for the whole message. */
  readonly field: string;
  /** The offending value as JSON text, cut to a bounded length. */
  readonly value: string;
  /** The rule that it breaks, as a sentence without a full stop. */
  readonly rule: string;
  /** What would be accepted. */
  readonly accepted: string;
}

export interface RetryPolicy {
  readonly preempted: number;
  readonly infrastructure: number;
  readonly outOfMemory: number;
  readonly failed: number;
}

export interface GpuNeed {
  /** Google's accelerator type name, for example `nvidia-l4`. */
  readonly type: string;
  readonly count: number;
}

export interface ResourceNeed {
  /** Ranked list; empty when the need is given by `cpus` and `memoryGiB`. */
  readonly machineTypes: readonly string[];
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly gpu: GpuNeed | null;
  readonly architecture: Architecture;
  readonly bootDiskGiB: number;
  /** Null: chosen by the machine's family. */
  readonly diskType: string | null;
  /** `cos`, `deep-learning`, or a full image path; null: chosen by need. */
  readonly bootImage: string | null;
  readonly localSsdCount: number;
  /** Cloud Run Jobs alone. */
  readonly class: string | null;
  readonly base: string | null;
}

/** A request after validation, every default filled in (contract §1). */
export interface RunRequest {
  readonly runId: string;
  readonly runtime: Runtime;
  readonly image: string | null;
  /** Null: the image's own entrypoint. */
  readonly command: readonly string[] | null;
  readonly args: readonly string[];
  readonly workingDir: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly imageCredentials: string | null;
  readonly package: { readonly uri: string; readonly sha256: string } | null;
  /** Container path → `gs://bucket/object` or a prefix ending in `/`. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Container folder → `gs://bucket/prefix/`. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly resources: ResourceNeed;
  readonly place: {
    readonly regions: readonly string[] | null;
    readonly zones: readonly string[] | null;
    readonly subnetworks: Readonly<Record<string, string>>;
  };
  readonly provisioning: Provisioning;
  readonly serviceAccount: string;
  readonly metadataAccess: boolean;
  readonly capabilities: readonly string[];
  readonly ttlSeconds: number;
  readonly timeoutSeconds: number;
  readonly retry: RetryPolicy;
  readonly waitForCapacitySeconds: number;
  readonly keepOnFailureSeconds: number;
  readonly gpuIdleSeconds: number;
  readonly budgetUsd: number | null;
  readonly tasks: number;
  readonly checkpoint: Readonly<Record<string, string>>;
  /** Already legal on the platform; each change made a warning. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What a deployment fixes for the runtime `cloudrun-jobs`. */
export interface JobsSettings {
  /** With the blanks `{deployment}`, `{base}` and `{class}`. */
  readonly jobTemplate: string;
  /** What a request may say for a base → the base. Its values, with the default base, are all bases. */
  readonly pluginBases: Readonly<Record<string, string>>;
  readonly defaultBase: string;
  readonly gpuJobs: boolean;
  /** Of the whole deployment, in one region. */
  readonly submitsPerMinute: number;
  readonly submitBurst: number;
  readonly max429Retries: number;
  readonly backoffBaseSeconds: number;
  readonly backoffCapSeconds: number;
  /** Between the command's own limit and the platform's. */
  readonly timeoutMarginSeconds: number;
  readonly adoptLookbackSeconds: number;
  /** The longest that the platform lets a task with a GPU run. */
  readonly gpuTaskSecondsMax: number;
  /** Signs addresses to read; null: this deployment cannot run jobs. */
  readonly readerServiceAccount: string | null;
  /** Signs addresses and forms to write; null: this deployment cannot run jobs. */
  readonly uploaderServiceAccount: string | null;
}

/** What a deployment fixes and allows; the part of the settings that planning sees (contract §5). */
export interface PlanSettings {
  readonly deployment: string;
  readonly project: string;
  readonly bucket: string;
  readonly regions: readonly string[];
  /** Region → `projects/P/regions/R/subnetworks/S`. */
  readonly subnetworks: Readonly<Record<string, string>>;
  readonly workerServiceAccounts: readonly string[];
  readonly imageHosts: readonly string[];
  readonly capabilitiesAllowed: readonly string[];
  readonly metadataAccessDefault: boolean;
  readonly ttlSecondsMax: number;
  readonly budgetUsdMax: number | null;
  readonly defaultRuntime: Runtime;
  readonly fullLog: 'logging' | 'none';
  readonly diskKmsKey: string | null;
  readonly secureBoot: boolean;
  readonly networkTags: readonly string[];
  readonly instanceMetadata: Readonly<Record<string, string>>;
  readonly jobs: JobsSettings;
  /** Base URLs that the machine calls; Google's own unless pointed elsewhere. No trailing slash. */
  readonly endpoints: {
    readonly storage: string;
    readonly compute: string;
    readonly logging: string;
    readonly secretManager: string;
  };
  /** What of the machine's periods and places is not the default. */
  readonly guest?: Partial<GuestSettings>;
}

/** Machine type → the zones that the platform says offer it; a type that is absent goes by our tables. */
export type Offers = Readonly<Record<string, readonly string[]>>;

/** One place to try; on Cloud Run the zone is the region, and the machine type a Job's name. */
export interface Candidate {
  readonly region: string;
  readonly zone: string;
  /** `projects/P/regions/R/subnetworks/S`. */
  readonly subnetwork: string;
  readonly machineType: string;
  readonly provisioningModel: ProvisioningModel;
  /** The whole machine with its boot disk, or all tasks together; null when no price is known. */
  readonly usdPerHour: number | null;
  /** Of a Job of Cloud Run; machine types say their own. */
  readonly memoryGiB?: number;
}

export interface Estimate {
  /** One attempt at full TTL on the dearest candidate; null when a price is unknown. */
  readonly attemptUsd: number | null;
  /** All attempts that the retry policy allows. */
  readonly totalUsd: number | null;
}

/** Everything about a run that does not depend on time, attempt or place. */
export interface RunPlan {
  readonly request: RunRequest;
  readonly candidates: readonly Candidate[];
  readonly warnings: readonly string[];
  readonly estimate: Estimate;
}

/** Inputs after their prefixes were listed once: exactly these generations reach the container. */
export interface ResolvedInput {
  /** Absolute path in the container. */
  readonly path: string;
  readonly bucket: string;
  readonly object: string;
  readonly generation: string;
  readonly bytes: number;
}

/** The texts of the guest scripts, read from `shared/guest/` by the caller. */
export interface GuestScripts {
  readonly startup: string;
  readonly shutdown: string;
}

/** What makes one ordered creation exact (design: an intent). */
export interface IntentInput {
  readonly plan: RunPlan;
  readonly settings: PlanSettings;
  readonly scripts: GuestScripts;
  readonly inputs: readonly ResolvedInput[];
  readonly attempt: number;
  readonly intent: number;
  readonly nonce: string;
  readonly candidate: Candidate;
  /** Epoch seconds of the order. */
  readonly createdSeconds: number;
  /** The image by digest, once a first attempt has pulled it; null before. */
  readonly pinnedImage: string | null;
  /** The trace that the request came with (W3C). */
  readonly traceparent?: string | null;
}

export interface PlannedIntent {
  readonly instanceName: string;
  readonly diskName: string;
  readonly requestId: string;
  /** Epoch seconds after which the machine must be gone; also its label. */
  readonly deadlineSeconds: number;
  readonly startupScript: string;
  readonly shutdownScript: string;
  /** The body of `instances.insert`. */
  readonly body: InstanceBody;
}

/** The body of Compute Engine's `instances.insert` (v1), the fields that we set. */
export interface InstanceBody {
  readonly name: string;
  readonly machineType: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly metadata: {
    readonly items: readonly { readonly key: string; readonly value: string }[];
  };
  readonly [field: string]: unknown;
}
