// What tasks of Cloud Run Jobs cost: list prices in US dollars a second (run pricing page, 2026-08; to be
// verified against the bill: the GPU's price outside tier 1 is an assumption). A task is billed for a
// minute at least.
import { roundUsd } from '#shared/plan/cost.ts';
import { JOB_SIZES, type JobClass } from '#shared/plan/jobs-inventory.ts';

const USD_PER_SECOND = { vcpu: 0.000018, memoryGiB: 0.000002, gpu: 0.0001867 };
const TIER_2_FACTOR = 1.2;

/** Of the page on locations; regions that stand in neither list have no known price. */
const TIERS: readonly (readonly [factor: number, regions: ReadonlySet<string>])[] = [
  [
    1,
    new Set([
      ...['asia-east1', 'asia-northeast1', 'asia-northeast2', 'europe-north1', 'europe-southwest1'],
      ...['europe-west1', 'europe-west4', 'europe-west8', 'europe-west9', 'me-west1'],
      ...['us-central1', 'us-east1', 'us-east4', 'us-east5', 'us-south1', 'us-west1'],
    ]),
  ],
  [
    TIER_2_FACTOR,
    new Set([
      ...['africa-south1', 'asia-east2', 'asia-northeast3', 'asia-south1', 'asia-south2'],
      ...['asia-southeast1', 'asia-southeast2', 'australia-southeast1', 'australia-southeast2'],
      ...['europe-central2', 'europe-west10', 'europe-west12', 'europe-west2', 'europe-west3'],
      ...['europe-west6', 'me-central1', 'me-central2', 'northamerica-northeast1'],
      ...['northamerica-northeast2', 'southamerica-east1', 'southamerica-west1'],
      ...['us-west2', 'us-west3', 'us-west4'],
    ]),
  ],
];

/** An hour of one task; null when the region's price is not known. */
export function taskUsdPerHour(jobClass: JobClass, region: string): number | null {
  const factor = TIERS.find(([, regions]) => regions.has(region))?.[0];
  if (factor === undefined) return null;
  const { cpus, memoryGiB, gpus } = JOB_SIZES[jobClass];
  const { vcpu, memoryGiB: gib, gpu } = USD_PER_SECOND;
  return roundUsd(3600 * factor * (cpus * vcpu + memoryGiB * gib + gpus * gpu));
}

/** How long GPUs were there, whether or not they worked: they are billed so. */
export const acceleratorSeconds = (jobClass: JobClass, wallSeconds: number) =>
  JOB_SIZES[jobClass].gpus * wallSeconds;
