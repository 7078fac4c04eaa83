// What stands for the fields that a request leaves out (contract §1): the parsed fields become the
// one complete shape that everything after validation works on.
import { KEPT_CAPABILITIES } from '#shared/plan/capabilities.ts';
import { acceleratorType } from '#shared/plan/gpu-types.ts';
import { baseNamed, DEFAULT_CLASS, taskSecondsMax } from '#shared/plan/jobs-inventory.ts';
import { legalLabels } from '#shared/plan/labels.ts';
import * as limits from '#shared/plan/limits.ts';
import type {
  JobsSettings,
  PlanSettings,
  ResourceNeed,
  RunRequest,
  Runtime,
} from '#shared/plan/model.ts';
import { packageSha256 } from '#shared/plan/package-name.ts';
import type { ParsedRequest } from '#shared/plan/request-fields.ts';
import { subnetworkPath } from '#shared/plan/subnetwork.ts';

const DEFAULT_RETRY = { preempted: 3, infrastructure: 2, outOfMemory: 1, failed: 0 };

/** Without a request of its own: both runtimes allow it. */
export const defaultTtlSeconds = (settings: PlanSettings) =>
  Math.min(limits.TTL_SECONDS_DEFAULT, settings.ttlSecondsMax);

/** The complete request; `parsed` has passed every rule. */
export function completeRequest(
  parsed: ParsedRequest,
  runId: string,
  runtime: Runtime,
  settings: PlanSettings,
): RunRequest {
  const ttlSeconds = parsed.ttlSeconds ?? defaultTtlSeconds(settings);
  return {
    runId,
    runtime,
    ...containerPart(parsed),
    resources: { ...resourcePart(parsed), ...jobPart(parsed, runtime, settings) },
    place: placePart(parsed, settings),
    provisioning: parsed.provisioning ?? 'standard',
    serviceAccount: parsed.serviceAccount ?? settings.workerServiceAccounts[0] ?? '',
    metadataAccess: parsed.metadataAccess ?? settings.metadataAccessDefault,
    capabilities: addedCapabilities(parsed),
    ttlSeconds,
    timeoutSeconds:
      parsed.timeoutSeconds ??
      Math.min(
        ttlSeconds - limits.TIMEOUT_RESERVE_DEFAULT_SECONDS,
        timeoutSecondsMax(parsed, ttlSeconds, { runtime, jobs: settings.jobs }),
      ),
    retry: { ...DEFAULT_RETRY, ...withoutAbsent(parsed.retry ?? {}) },
    waitForCapacitySeconds: parsed.waitForCapacitySeconds ?? limits.WAIT_SECONDS_DEFAULT,
    keepOnFailureSeconds: parsed.keepOnFailureSeconds ?? 0,
    gpuIdleSeconds: parsed.gpuIdleSeconds ?? 0,
    budgetUsd: parsed.budgetUsd ?? settings.budgetUsdMax,
    tasks: parsed.tasks ?? 1,
    checkpoint: parsed.checkpoint ?? {},
    labels: legalLabels(parsed.labels ?? {}).labels,
    annotations: parsed.annotations ?? {},
  };
}

function containerPart(parsed: ParsedRequest) {
  return {
    image: parsed.image ?? null,
    command: parsed.command ?? null,
    args: parsed.args ?? [],
    workingDir: parsed.workingDir ?? null,
    env: parsed.env ?? {},
    secrets: parsed.secrets ?? {},
    imageCredentials: parsed.imageCredentials ?? null,
    package: packagePart(parsed),
    inputs: parsed.inputs ?? {},
    outputs: parsed.outputs ?? {},
  };
}

function packagePart({ package: asked }: ParsedRequest): RunRequest['package'] {
  if (asked?.uri === undefined) return null;
  return { uri: asked.uri, sha256: asked.sha256 ?? packageSha256(asked.uri) ?? '' };
}

function resourcePart({ resources = {} }: ParsedRequest): Omit<ResourceNeed, 'class' | 'base'> {
  const named = resources.machineTypes ?? (resources.machineType ? [resources.machineType] : []);
  return {
    machineTypes: [...new Set(named)],
    cpus: resources.cpus ?? limits.CPUS_DEFAULT,
    memoryGiB: resources.memoryGiB ?? limits.MEMORY_GIB_DEFAULT,
    gpu: gpuPart(resources.gpu),
    architecture: resources.architecture ?? 'amd64',
    bootDiskGiB: resources.bootDiskGiB ?? limits.BOOT_DISK_GIB_DEFAULT,
    diskType: resources.diskType ?? null,
    bootImage: resources.bootImage ?? null,
    localSsdCount: resources.localSsdCount ?? 0,
  };
}

function jobPart(
  { resources = {} }: ParsedRequest,
  runtime: Runtime,
  { jobs }: PlanSettings,
): Pick<ResourceNeed, 'class' | 'base'> {
  if (runtime === 'gce') return { class: null, base: null };
  const { class: jobClass = DEFAULT_CLASS, base } = resources;
  return { class: jobClass, base: baseNamed(base, jobClass, jobs) };
}

function gpuPart(
  asked: { readonly type?: string | undefined; readonly count?: number | undefined } | undefined,
): ResourceNeed['gpu'] {
  if (asked?.type === undefined) return null;
  const named = acceleratorType(asked.type);
  return named.kind === 'known' ? { type: named.type, count: asked.count ?? 1 } : null;
}

function placePart({ place = {} }: ParsedRequest, settings: PlanSettings): RunRequest['place'] {
  const subnetworks = Object.entries(place.subnetworks ?? {}).flatMap(([region, text]) => {
    const parsed = subnetworkPath(text, region, settings.project);
    return parsed.kind === 'path' ? [[region, parsed.path] as const] : [];
  });
  return {
    regions: place.regions === undefined ? null : [...new Set(place.regions)],
    zones: place.zones === undefined ? null : [...new Set(place.zones)],
    subnetworks: Object.fromEntries(subnetworks),
  };
}

function addedCapabilities({ capabilities = [] }: ParsedRequest): readonly string[] {
  return [...new Set(capabilities)].filter((name) => !KEPT_CAPABILITIES.includes(name));
}

/** The longest limit of a command: it leaves time to report, and on a Job the platform's own limit. */
export function timeoutSecondsMax(
  { resources }: ParsedRequest,
  ttlSeconds: number,
  { runtime, jobs }: { readonly runtime: Runtime; readonly jobs: JobsSettings },
): number {
  const inTtl = ttlSeconds - limits.TIMEOUT_RESERVE_SECONDS;
  if (runtime === 'gce') return inTtl;
  const margin = jobs.timeoutMarginSeconds;
  const taskSeconds = taskSecondsMax(resources?.class ?? DEFAULT_CLASS, jobs);
  return Math.min(inTtl, ttlSeconds - margin, taskSeconds - margin);
}

function withoutAbsent<T extends object>(
  value: T,
): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const present = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(present) as { [Key in keyof T]: Exclude<T[Key], undefined> };
}
