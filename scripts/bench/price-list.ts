// Google's list prices, US dollars, us-central1 and Tier 1, without free tiers; as published in 2025
// (cloud.google.com/storage/pricing, /pubsub/pricing, /run/pricing, /scheduler/pricing,
// /stackdriver/pricing, /compute/vm-instance-pricing).

export const LIST_PRICES = {
  /** Standard storage, single region: insert, list, rewrite, patch. Deletes are free. */
  storageClassA: 0.005 / 1_000,
  /** Reads of objects and metadata, and each notification. */
  storageClassB: 0.0004 / 1_000,
  pubsubByte: 40 / 2 ** 40,
  /** Cloud Run, billed by request. */
  vcpuSecond: 0.000024,
  gibSecond: 0.0000025,
  invocation: 0.4 / 1_000_000,
  loggingByte: 0.5 / 2 ** 30,
  schedulerJobMonth: 0.1,
} as const;

/** What is billed for at least in each publish and each push. */
export const PUBSUB_BYTES_MIN = 1_000;

/** What calls do not tell: how large a function is, and how long it works. */
export const ASSUMPTIONS = {
  vcpus: 1,
  gib: 0.5,
  pushSeconds: 1,
  sweepSeconds: 5,
} as const;

export const HOURS_A_MONTH = 730;
/** Of a controller that is always on. */
export const CONTROLLERS = { 'e2-small': 0.016751, 'e2-medium': 0.033503 } as const;
