// Google's list prices, US dollars, us-central1 (Cloud Run: Tier 1), without free tiers; each with the page
// that says so, and how it was looked up there.

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
/** Of a controller that is always on: half a vCPU and 2 GiB, one vCPU and 4 GiB. */
export const CONTROLLERS = { 'e2-small': 0.016753, 'e2-medium': 0.033506 } as const;

export interface Source {
  readonly page: string;
  /** The day on which the price was read there; null: a copy of the page that tells no day. */
  readonly read: string | null;
}

type Priced = keyof typeof LIST_PRICES | keyof typeof CONTROLLERS | 'PUBSUB_BYTES_MIN';

const RUN: Source = { page: 'cloud.google.com/run/pricing', read: null };
const STORAGE: Source = { page: 'cloud.google.com/storage/pricing', read: '2026-09-20' };
const PUBSUB: Source = { page: 'cloud.google.com/pubsub/pricing', read: '2026-09-20' };
/** Cloud Billing Catalog: a core 0.02181159, a GiB 0.00292353 an hour. */
const E2: Source = { page: 'cloud.google.com/skus (E2 Instance Core, Ram)', read: '2026-09-27' };

export const SOURCES: Readonly<Record<Priced, Source>> = {
  storageClassA: STORAGE,
  storageClassB: STORAGE,
  pubsubByte: PUBSUB,
  PUBSUB_BYTES_MIN: { ...PUBSUB, read: null },
  vcpuSecond: RUN,
  gibSecond: RUN,
  invocation: RUN,
  loggingByte: { page: 'cloud.google.com/stackdriver/pricing', read: '2026-09-12' },
  schedulerJobMonth: { page: 'cloud.google.com/scheduler/pricing', read: null },
  'e2-small': E2,
  'e2-medium': E2,
};
