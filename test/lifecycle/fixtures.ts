// Records, markers and contexts with every field defaulted but what a test is about.
import type { Context, Creator } from '#shared/lifecycle/context.ts';
import { hashNonce, type Marker } from '#shared/lifecycle/marker.ts';
import {
  type MachineFact,
  machineKey,
  NOTHING_SEEN,
  type Observation,
} from '#shared/lifecycle/observation.ts';
import type { Attempt, ClaimHolder, Intent, Place, RunRecord } from '#shared/lifecycle/record.ts';
import type { Candidate, GpuNeed, RunPlan } from '#shared/plan/model.ts';

export const NOW_MS = Date.UTC(2026, 11, 1, 12, 0, 0);
export const NONCE = '0123456789abcdef0123456789abcdef';
export const INSTANCE = 'mayfly-run-1-0123456789ab-1';

export const candidate = (change: Partial<Candidate> = {}): Candidate => ({
  region: 'us-central1',
  zone: 'us-central1-a',
  subnetwork: 'projects/p/regions/us-central1/subnetworks/default',
  machineType: 'e2-standard-4',
  provisioningModel: 'STANDARD',
  usdPerHour: 0.36,
  ...change,
});

export const intent = (change: Partial<Intent> = {}): Intent => ({
  number: 1,
  candidate: candidate(),
  createdSeconds: NOW_MS / 1000,
  deadlineSeconds: NOW_MS / 1000 + 7830,
  requestId: '00000000-0000-5000-8000-000000000001',
  status: 'accepted',
  operation: 'operation-1',
  instanceId: '111',
  ...change,
});

export const attempt = (change: Partial<Attempt> = {}): Attempt => ({
  number: 1,
  nonce: NONCE,
  instance: INSTANCE,
  startedMs: NOW_MS,
  walk: 1,
  walkFrom: 0,
  intents: [intent()],
  intentCount: 1,
  claim: null,
  runningMs: null,
  order: null,
  facts: null,
  end: null,
  ...change,
});

export const place = (change: Partial<Place> = {}): Place => ({
  attempt: 1,
  zone: 'us-central1-a',
  machineType: 'e2-standard-4',
  provisioningModel: 'STANDARD',
  code: 'ZONE_RESOURCE_POOL_EXHAUSTED',
  message: 'no stock',
  verdict: 'next-zone',
  cause: 'stock-out',
  mayPass: true,
  called: true,
  tries: 1,
  atMs: NOW_MS,
  ...change,
});

export const record = (change: Partial<RunRecord> = {}): RunRecord => ({
  schema: 1,
  runId: 'run-1',
  runtime: 'gce',
  state: 'PROVISIONING',
  writer: 'w',
  acceptedMs: NOW_MS,
  changedMs: NOW_MS,
  dueMs: null,
  terms: {
    retry: { preempted: 3, infrastructure: 2, outOfMemory: 1, failed: 0 },
    ttlSeconds: 7200,
    waitForCapacitySeconds: 3600,
    keepOnFailureSeconds: 0,
    budgetUsd: null,
    labels: {},
    annotations: {},
  },
  used: { preempted: 0, infrastructure: 0, outOfMemory: 0, failed: 0, abandoned: 0 },
  attempts: [attempt()],
  places: [],
  placesCount: 0,
  cancel: null,
  end: null,
  history: [{ state: 'ACCEPTED', attempt: 0, atMs: NOW_MS }],
  ...change,
});

export const marker = (change: Partial<Marker> = {}): Marker => {
  const status = change.status ?? 'RUNNING';
  const terminal = status === 'SUCCEEDED' || status === 'FAILED';
  return {
    status,
    exitCode: null,
    instance: INSTANCE,
    zone: 'us-central1-a',
    detail: '',
    bootEpoch: NOW_MS / 1000 + 20,
    pullEndEpoch: null,
    execStartEpoch: null,
    endEpoch: null,
    runId: 'run-1',
    attempt: 1,
    step: null,
    cause: null,
    permanent: null,
    bootId: 'boot-1',
    imageDigest: null,
    peakMemoryBytes: null,
    gpuCount: null,
    outputs: [],
    sealed: false,
    nonce: terminal ? NONCE : hashNonce(NONCE),
    ...change,
  };
};

export const seen = (change: Partial<Observation> = {}): Observation => ({
  ...NOTHING_SEEN,
  ...change,
});

export const context = (change: Partial<Context> = {}): Context => ({
  nowMs: NOW_MS + 60_000,
  deployment: 'mayfly',
  depth: 'full',
  fraction: 0,
  creator: null,
  ...change,
});

/** What submit brings along; the plan has candidates and nothing else that deciding reads. */
export const creator = (
  change: Partial<Pick<RunPlan, 'candidates'>> = {},
  gpu: GpuNeed | null = null,
): Creator => ({
  plan: { candidates: [candidate()], request: { resources: { gpu } }, ...change } as RunPlan,
  nonce: 'fedcba9876543210fedcba9876543210',
  ownIntent: null,
  eventKey: 'e'.repeat(64),
  throttlesMax: 6,
  untilMs: Number.POSITIVE_INFINITY,
});

/** Where the fixtures' machine is, and its key in an observation. */
export const ZONE = 'us-central1-a';
export const KEY = machineKey(INSTANCE, ZONE);
export const HOLDER = {
  by: 'machine',
  instanceId: '111',
  zone: ZONE,
  bootId: 'boot-1',
} as const satisfies ClaimHolder;
export const CONTROL = { by: 'control' } as const satisfies ClaimHolder;
export const held = (holder: ClaimHolder) => ({ kind: 'held' as const, holder });
export const NO_MARKER = { marker: null, generation: '0' } as const;
export const GONE = { kind: 'gone' } as const satisfies MachineFact;
export const UNKNOWN = { kind: 'unknown' } as const satisfies MachineFact;
export const there = (change: Partial<MachineFact & { kind: 'there' }> = {}): MachineFact => ({
  kind: 'there',
  id: '111',
  status: 'RUNNING',
  ours: true,
  startedMs: NOW_MS,
  ...change,
});
