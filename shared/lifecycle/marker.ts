// The marker: the status object that a machine writes (contract §3). The reader is tolerant of what a
// container may have printed into it and strict about whose word it is.
import { createHash } from 'node:crypto';
import { type Cause, isMachineCause } from '#shared/lifecycle/failures.ts';

export const MARKER_BYTES_MAX = 262_144;

export const STEPS = [
  'boot',
  'tools',
  'credentials',
  'pull',
  'package',
  'inputs',
  'start',
  'run',
  'outputs',
  'report',
] as const;
export type Step = (typeof STEPS)[number];

export interface OutputObject {
  readonly path: string;
  readonly uri: string;
  readonly generation: string;
  readonly crc32c: string;
  readonly bytes: number;
}

export interface Marker {
  readonly status: 'PROVISIONING' | 'RUNNING' | 'SUCCEEDED' | 'FAILED';
  readonly exitCode: number | null;
  readonly instance: string;
  readonly zone: string;
  readonly detail: string;
  /** Seconds since the epoch, by the machine's clock. */
  readonly bootEpoch: number | null;
  readonly pullEndEpoch: number | null;
  readonly execStartEpoch: number | null;
  readonly endEpoch: number | null;
  readonly runId: string;
  readonly attempt: number;
  readonly step: Step | null;
  readonly cause: Cause | null;
  /** Of `step-failed`: whether the same again would fail again; null where the marker does not say. */
  readonly permanent: boolean | null;
  readonly bootId: string;
  readonly imageDigest: string | null;
  readonly peakMemoryBytes: number | null;
  /** The GPUs that the container saw. */
  readonly gpuCount: number | null;
  readonly outputs: readonly OutputObject[];
  readonly sealed: boolean;
  readonly nonce: string;
}

export type MarkerReading =
  | { readonly kind: 'marker'; readonly marker: Marker }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Reads a marker's bytes; invalid UTF-8 inside texts is replaced, anything worse is unreadable. */
export function readMarker(bytes: Uint8Array): MarkerReading {
  if (bytes.length > MARKER_BYTES_MAX) {
    return { kind: 'unreadable', reason: `${bytes.length} bytes, at most ${MARKER_BYTES_MAX}` };
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8').decode(bytes));
  } catch (error) {
    return { kind: 'unreadable', reason: `not JSON: ${String(error)}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'unreadable', reason: 'not a JSON object' };
  }
  return readFields(value as Record<string, unknown>);
}

function readFields(fields: Record<string, unknown>): MarkerReading {
  const status = fields.status;
  if (
    status !== 'PROVISIONING' &&
    status !== 'RUNNING' &&
    status !== 'SUCCEEDED' &&
    status !== 'FAILED'
  ) {
    return { kind: 'unreadable', reason: `status is ${JSON.stringify(status) ?? 'missing'}` };
  }
  if (typeof fields.run_id !== 'string' || !Number.isInteger(fields.attempt)) {
    return { kind: 'unreadable', reason: 'run_id or attempt is missing' };
  }
  const marker: Marker = {
    status,
    exitCode: integer(fields.exit_code),
    instance: text(fields.instance),
    zone: text(fields.zone),
    detail: text(fields.detail),
    bootEpoch: number(fields.boot_epoch),
    pullEndEpoch: number(fields.pull_end_epoch),
    execStartEpoch: number(fields.exec_start_epoch),
    endEpoch: number(fields.end_epoch),
    runId: fields.run_id,
    attempt: fields.attempt as number,
    step: STEPS.find((step) => step === fields.step) ?? null,
    cause: isMachineCause(fields.cause) ? fields.cause : null,
    permanent: typeof fields.permanent === 'boolean' ? fields.permanent : null,
    bootId: text(fields.boot_id),
    imageDigest: typeof fields.image_digest === 'string' ? fields.image_digest || null : null,
    peakMemoryBytes: number(fields.peak_memory_bytes),
    gpuCount: integer(fields.gpu_count),
    outputs: Array.isArray(fields.outputs) ? fields.outputs.flatMap(readOutput) : [],
    sealed: fields.sealed === true,
    nonce: text(fields.nonce),
  };
  return { kind: 'marker', marker };
}

function readOutput(value: unknown): OutputObject[] {
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Record<string, unknown>;
  return [
    {
      path: text(fields.path),
      uri: text(fields.uri),
      generation: text(fields.generation),
      crc32c: text(fields.crc32c),
      bytes: number(fields.bytes) ?? 0,
    },
  ];
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');
const number = (value: unknown) =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
const integer = (value: unknown) => (Number.isInteger(value) ? (value as number) : null);

export function isTerminal(marker: Marker): boolean {
  return marker.status === 'SUCCEEDED' || marker.status === 'FAILED';
}

/** Lower-case hexadecimal SHA-256 of a nonce: what a marker shows before its end. */
export function hashNonce(nonce: string): string {
  return createHash('sha256').update(nonce).digest('hex');
}

/** True when the marker is the word of this attempt: its number, and the nonce (or its hash). */
export function speaksFor(marker: Marker, attempt: { number: number; nonce: string }): boolean {
  if (marker.attempt !== attempt.number) return false;
  if (isTerminal(marker) && !marker.sealed) return marker.nonce === attempt.nonce;
  return marker.nonce === hashNonce(attempt.nonce);
}
