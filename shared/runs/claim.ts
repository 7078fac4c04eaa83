// The control plane's side of the claim and of the marker's seal (design R2, R3).
import { CloudError } from '#shared/cloud/errors.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { hashNonce, type Marker } from '#shared/lifecycle/marker.ts';
import type { ClaimFact, MarkerFact } from '#shared/lifecycle/observation.ts';
import type { Attempt, ClaimHolder } from '#shared/lifecycle/record.ts';
import { claimObject, markerObject } from '#shared/plan/objects.ts';

/** Who holds the claim, without trying to take it. */
export async function readClaim(
  store: ObjectStore,
  runId: string,
  attempt: Attempt,
): Promise<ClaimFact> {
  const name = claimObject(runId, attempt.number);
  const reply = await store.read(name);
  if (reply.kind === 'absent') return { kind: 'free' };
  return { kind: 'held', holder: parseHolder(name, reply.bytes) };
}

/** Takes the claim for the control plane; any `by: control` read back counts as won. */
export async function takeClaim(
  store: ObjectStore,
  runId: string,
  attempt: Attempt,
): Promise<ClaimFact> {
  const claim = { by: 'control', nonceSha256: hashNonce(attempt.nonce) };
  const name = claimObject(runId, attempt.number);
  const reply = await store.write(name, JSON.stringify(claim), {
    ifGeneration: '0',
    contentType: 'application/json',
  });
  if (reply.kind === 'written') return { kind: 'held', holder: { by: 'control' } };
  return readClaim(store, runId, attempt);
}

function parseHolder(name: string, bytes: Uint8Array): ClaimHolder {
  let value: Record<string, unknown> | null;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    value = null;
  }
  if (value?.by === 'control') return { by: 'control' };
  const { instanceId, zone, bootId } = value ?? {};
  if (value?.by === 'machine' && typeof instanceId === 'string' && typeof zone === 'string') {
    return { by: 'machine', instanceId, zone, bootId: typeof bootId === 'string' ? bootId : '' };
  }
  throw new CloudError({
    code: 'unreadable',
    method: 'storage.objects.get',
    status: null,
    reason: 'claim',
    message: `${name} is not a claim; look at the object, nothing of this attempt is decided before`,
  });
}

/**
 * Closes the marker of an attempt that ends without its machine's last word, under the generation
 * just read. `lost`: somebody wrote in between, and that must be read first.
 */
export async function sealMarker(
  store: ObjectStore,
  runId: string,
  attempt: Attempt,
  read: MarkerFact,
  nowMs: number,
): Promise<'sealed' | 'lost'> {
  const text = JSON.stringify(sealOf(runId, attempt, read.marker, nowMs));
  const name = markerObject(attempt.instance);
  const reply = await store.write(name, text, {
    ifGeneration: read.generation,
    contentType: 'application/json',
  });
  if (reply.kind === 'written') return 'sealed';
  const live = await store.read(name);
  const own = live.kind === 'found' && new TextDecoder().decode(live.bytes) === text;
  return own ? 'sealed' : 'lost';
}

function sealOf(runId: string, attempt: Attempt, marker: Marker | null, nowMs: number): object {
  return {
    status: 'FAILED',
    exit_code: null,
    instance: attempt.instance,
    zone: marker?.zone ?? '',
    detail: 'closed by the control plane: the attempt ended without a last word of its machine',
    boot_epoch: marker?.bootEpoch ?? null,
    exec_start_epoch: marker?.execStartEpoch ?? null,
    end_epoch: Math.floor(nowMs / 1000),
    execute_s: null,
    schema: 1,
    run_id: runId,
    attempt: attempt.number,
    step: marker?.step ?? null,
    cause: null,
    boot_id: marker?.bootId ?? '',
    image_digest: marker?.imageDigest ?? null,
    peak_memory_bytes: null,
    gpu_count: null,
    sealed: true,
    nonce: hashNonce(attempt.nonce),
  };
}

/** The PROVISIONING marker: one an attempt, create-only, before the first insert. */
export function provisioningMarker(runId: string, attempt: Attempt): string {
  return JSON.stringify({
    status: 'PROVISIONING',
    exit_code: null,
    instance: attempt.instance,
    zone: attempt.intents.at(-1)?.candidate.zone ?? '',
    detail: '',
    boot_epoch: null,
    exec_start_epoch: null,
    end_epoch: null,
    execute_s: null,
    schema: 1,
    run_id: runId,
    attempt: attempt.number,
    step: null,
    cause: null,
    boot_id: '',
    image_digest: null,
    peak_memory_bytes: null,
    gpu_count: null,
    nonce: hashNonce(attempt.nonce),
  });
}
