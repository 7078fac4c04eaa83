// The Jobs of Cloud Run that a deployment has: one for each base image and class, in each region. Bases
// and names are settings; Terraform and the local cloud make exactly what stands here.
import type { JobsSettings, PlanSettings } from '#shared/plan/model.ts';
import { bootstrapObject } from '#shared/plan/objects.ts';

export const CLASSES = ['S', 'M', 'L', 'GPU'] as const;

export type JobClass = (typeof CLASSES)[number];

/** Of requests that name none; out of memory, a retry takes the next larger one. */
export const DEFAULT_CLASS: JobClass = 'S';

export interface JobSize {
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly gpus: number;
}

export const JOB_SIZES: Readonly<Record<JobClass, JobSize>> = {
  S: { cpus: 2, memoryGiB: 8, gpus: 0 },
  M: { cpus: 4, memoryGiB: 16, gpus: 0 },
  L: { cpus: 8, memoryGiB: 32, gpus: 0 },
  GPU: { cpus: 8, memoryGiB: 32, gpus: 1 },
};

/** The one base whose image has what a GPU needs. */
export const GPU_BASE = 'base-dl';
const GPU_TYPE = 'nvidia-l4';

/** What Cloud Run allows a task in general: a week. */
const TASK_SECONDS_MAX = 604_800;

/** The longest that the platform lets a task of this class run. */
export const taskSecondsMax = (jobClass: JobClass, { gpuTaskSecondsMax }: JobsSettings) =>
  JOB_SIZES[jobClass].gpus > 0 ? gpuTaskSecondsMax : TASK_SECONDS_MAX;

/** All bases that a deployment has, in the order of its settings. */
export const basesOf = ({ pluginBases, defaultBase }: JobsSettings): readonly string[] => [
  ...new Set([...Object.values(pluginBases), defaultBase]),
];

/** The base that a request means; null: there is none of that name. */
export function baseNamed(
  word: string | undefined,
  jobClass: JobClass,
  jobs: JobsSettings,
): string | null {
  if (word === undefined) return JOB_SIZES[jobClass].gpus > 0 ? GPU_BASE : jobs.defaultBase;
  if (basesOf(jobs).includes(word)) return word;
  return Object.hasOwn(jobs.pluginBases, word) ? (jobs.pluginBases[word] ?? null) : null;
}

export interface JobKind {
  readonly base: string;
  readonly class: JobClass;
}

/** The name of the Job of one base and class. */
export const jobName = (deployment: string, { jobTemplate }: JobsSettings, kind: JobKind): string =>
  jobTemplate
    .replaceAll('{deployment}', deployment)
    .replaceAll('{base}', kind.base)
    .replaceAll('{class}', kind.class)
    .toLowerCase();

/** Base and class of every Job: a GPU base alone has one with a GPU, and only where that is switched on. */
export const jobKinds = (jobs: JobsSettings): readonly JobKind[] =>
  basesOf(jobs).flatMap((base) =>
    CLASSES.filter((jobClass) => jobClass !== 'GPU' || (jobs.gpuJobs && base === GPU_BASE)).map(
      (jobClass) => ({ base, class: jobClass }),
    ),
  );

/** A Job as it has to be; its image, account and network are the infrastructure's. */
export interface JobDefinition extends JobKind {
  readonly name: string;
  /** `resources.limits` of its one container. */
  readonly limits: Readonly<Record<string, string>>;
  readonly nodeSelector: { readonly accelerator: string } | null;
  /** Without a second zone in reserve: that needs a quota of its own, which no project has at first. */
  readonly gpuZonalRedundancyDisabled: boolean;
  readonly executionEnvironment: 'EXECUTION_ENVIRONMENT_GEN2';
  /** A task is never run again by the platform: another try is another attempt. */
  readonly maxRetries: 0;
  /** Where a call sets none. */
  readonly timeoutSeconds: number;
  readonly env: Readonly<Record<string, string>>;
}

/** All Jobs of one region. */
export const jobDefinitions = (settings: PlanSettings, region: string): readonly JobDefinition[] =>
  jobKinds(settings.jobs).map((kind) => {
    const { cpus, memoryGiB, gpus } = JOB_SIZES[kind.class];
    return {
      ...kind,
      name: jobName(settings.deployment, settings.jobs, kind),
      limits: {
        cpu: String(cpus),
        memory: `${memoryGiB}Gi`,
        ...(gpus > 0 ? { 'nvidia.com/gpu': String(gpus) } : {}),
      },
      nodeSelector: gpus > 0 ? { accelerator: GPU_TYPE } : null,
      gpuZonalRedundancyDisabled: gpus > 0,
      executionEnvironment: 'EXECUTION_ENVIRONMENT_GEN2',
      maxRetries: 0,
      timeoutSeconds: Math.min(3600, settings.jobs.gpuTaskSecondsMax),
      env: {
        MAYFLY_BOOTSTRAP_URL: `${settings.endpoints.storage}/${settings.bucket}/${bootstrapObject('{nonce}')}`,
        MAYFLY_CLASS: kind.class,
        MAYFLY_REGION: region,
      },
    };
  });

export interface InventoryDifference {
  readonly missing: readonly string[];
  /** Named as ours are, and not in the inventory. */
  readonly surplus: readonly string[];
}

/** What of a region's Jobs is not as the inventory says; Jobs of other names are nobody's concern. */
export function diffInventory(
  settings: PlanSettings,
  region: string,
  jobs: readonly { readonly name: string; readonly region: string }[],
): InventoryDifference {
  const names = jobDefinitions(settings, region).map(({ name }) => name);
  const there = jobs.filter((job) => job.region === region).map(({ name }) => name);
  const ours = nameForm(settings);
  return {
    missing: names.filter((name) => !there.includes(name)),
    surplus: there.filter((name) => ours.test(name) && !names.includes(name)),
  };
}

/** Of any base ever: another deployment's name may begin as ours does. */
const nameForm = ({ deployment, jobs }: PlanSettings) => {
  const base = `(?:base-[a-z0-9-]+|${basesOf(jobs).join('|')})`;
  const kind = { base, class: `(?:${CLASSES.join('|')})` as JobClass };
  return new RegExp(`^${jobName(deployment, jobs, kind)}$`);
};
