// The Jobs of Cloud Run that a deployment may have: one for each base image and class. The runtime
// that uses them reads its own settings; these are the words that a request may say.

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
