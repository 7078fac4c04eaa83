// The Jobs of Cloud Run that a deployment may have: one for each base image and class. The runtime
// that uses them reads its own settings; these are the words that a request may say.
import type { JobsSettings } from '#shared/plan/model.ts';

export const CLASSES = ['S', 'M', 'L', 'GPU'] as const;
export const BASES = ['base-bayes', 'base-ml', 'base-forecast', 'base-dl'] as const;

export type JobClass = (typeof CLASSES)[number];
export type JobBase = (typeof BASES)[number];

export interface JobSize {
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly gpus: number;
  /** The longest that the platform lets a task run; null: its general limit. */
  readonly taskSecondsMax: number | null;
}

/** Cloud Run ends a task with a GPU after an hour. */
export const JOB_SIZES: Readonly<Record<JobClass, JobSize>> = {
  S: { cpus: 2, memoryGiB: 8, gpus: 0, taskSecondsMax: null },
  M: { cpus: 4, memoryGiB: 16, gpus: 0, taskSecondsMax: null },
  L: { cpus: 8, memoryGiB: 32, gpus: 0, taskSecondsMax: null },
  GPU: { cpus: 8, memoryGiB: 32, gpus: 1, taskSecondsMax: 3600 },
};

/** The one base whose image has what a GPU needs. */
export const GPU_BASE: JobBase = 'base-dl';

/** All bases that a deployment has, in the order of its settings. */
export const basesOf = ({ pluginBases, defaultBase }: JobsSettings): readonly string[] => [
  ...new Set([...Object.values(pluginBases), defaultBase]),
];

/** The name of the Job of one base and class. */
export const jobName = (
  deployment: string,
  { jobTemplate }: JobsSettings,
  { base, class: jobClass }: { readonly base: string; readonly class: JobClass },
): string =>
  jobTemplate
    .replaceAll('{deployment}', deployment)
    .replaceAll('{base}', base)
    .replaceAll('{class}', jobClass)
    .toLowerCase();

/** Base and class of every Job: a GPU base alone has one with a GPU, and only where that is switched on. */
export const jobKinds = (jobs: JobsSettings) =>
  basesOf(jobs).flatMap((base) =>
    CLASSES.filter((jobClass) => jobClass !== 'GPU' || (jobs.gpuJobs && base === GPU_BASE)).map(
      (jobClass) => ({ base, class: jobClass }),
    ),
  );
