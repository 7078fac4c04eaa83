// Names and ids of what a run creates (contract §2), each a pure function of deployment, run id,
// attempt and intent, so that a replay after a crash finds exactly what it made before.
import { createHash, hash } from 'node:crypto';
import { NAME_CHARACTERS_MAX } from '#shared/plan/limits.ts';

/** Room that every instance name leaves: `-zz` for the attempt, `-99999` for the disk's intent. */
const ATTEMPT_CHARACTERS = 2;
const INTENT_CHARACTERS = 5;
const HASH_CHARACTERS = 12;

/** The namespace of our request ids: UUIDv5 of the DNS name `mayfly.dev` (RFC 4122 appendix C). */
const REQUEST_NAMESPACE = Buffer.from('97c51ef5c36856a7b041eece82576df5', 'hex');

/** In one call: a hash object for each of 100,000 names would hold memory that nobody sees. */
const sha256Hex = (text: string) => hash('sha256', text, 'hex');

/**
 * The instance's name for one attempt: `D-<slug>-<12 hex>-<attempt in base 36>`, at most 63
 * characters and short enough that every disk name made from it is legal too.
 */
export function instanceName(deployment: string, runId: string, attempt: number): string {
  const fixed = deployment.length + HASH_CHARACTERS + ATTEMPT_CHARACTERS + INTENT_CHARACTERS + 4;
  const slug = nameSlug(runId, NAME_CHARACTERS_MAX - fixed);
  const idHash = sha256Hex(`${deployment}/${runId}`).slice(0, HASH_CHARACTERS);
  return `${deployment}-${slug}-${idHash}-${attempt.toString(36)}`;
}

/** The boot disk's name for one intent: a disk left by an earlier intent is never booted again. */
export function diskName(
  deployment: string,
  runId: string,
  attempt: number,
  intent: number,
): string {
  return diskNameOf(instanceName(deployment, runId, attempt), intent);
}

/** The same from an instance's name. */
export const diskNameOf = (instance: string, intent: number) => `${instance}-${intent}`;

/**
 * The `requestId` of one intent's insert: UUIDv5 (RFC 4122 §4.3), so that a repeat of the same
 * intent is the same request to Compute Engine, and a new intent never is.
 */
export function requestId(
  deployment: string,
  runId: string,
  attempt: number,
  intent: number,
): string {
  return uuidV5(REQUEST_NAMESPACE, `${deployment}/${runId}/${attempt}/${intent}`);
}

/** UUIDv5 of a name in a namespace of 16 bytes, as lower-case text with hyphens. */
export function uuidV5(namespace: Uint8Array, name: string): string {
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join('-')}-${hex.slice(20)}`;
}

/**
 * The `requestId` of a delete: a request of its own, because a repeat must not be answered by an older
 * one's outcome, and yet known as this deployment's when its operation is read.
 *
 * @param nonce 32 random hex digits
 */
export function deleteRequestId(deployment: string, nonce: string): string {
  const parts = [nonce.slice(8, 12), `4${nonce.slice(13, 16)}`, `8${nonce.slice(17, 20)}`];
  return [deleteMark(deployment), ...parts, nonce.slice(20, 32)].join('-');
}

/** Whether a delete's request id is one that this deployment made. */
export const isOwnDelete = (deployment: string, id: string | null) =>
  id?.startsWith(`${deleteMark(deployment)}-`) === true;

const deleteMark = (deployment: string) => sha256Hex(`${deployment}/delete`).slice(0, 8);

/** The `run-hash` label: 16 hex digits that tell runs apart when their slugs are alike. */
export function runHash(runId: string): string {
  return sha256Hex(runId).slice(0, 16);
}

/** Lower case, everything but letters and digits to single hyphens, none at the ends. */
function nameSlug(runId: string, length: number): string {
  return runId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, length)
    .replace(/-+$/, '');
}
