// What Compute refuses at once in an instance body: HTTP 400 with reason `invalid`, or `badRequest` for
// scheduling that the machine cannot have.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import type { Reply } from '#scripts/local-cloud/call.ts';
import type { ComputeState } from '#scripts/local-cloud/compute/state.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
  lastPart,
} from '#scripts/local-cloud/json.ts';
import type { ComputeOptions } from '#scripts/local-cloud/options.ts';

const NAME = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const LABEL_KEY = /^[a-z][-_a-z0-9]{0,62}$/;
const LABEL_VALUE = /^[-_a-z0-9]{0,63}$/;
const LABELS_MAX = 64;
const METADATA_KEY = /^[-_a-zA-Z0-9]{1,127}$/;
const METADATA_VALUE_BYTES_MAX = 262_144;
const METADATA_BYTES_MAX = 524_288;
const TTL_SECONDS_MIN = 30;
const TTL_SECONDS_MAX = 120 * 86_400;

function invalid(field: string, value: unknown, rule: string): Reply {
  const message = `Invalid value for field 'resource.${field}': '${String(value)}'. ${rule}`;
  return refuse(400, 'invalid', message);
}

export function checkName(field: string, name: unknown): Reply | null {
  const text = asString(name) ?? '';
  return NAME.test(text)
    ? null
    : invalid(field, text, `Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'`);
}

export function checkLabels(field: string, labels: unknown): Reply | null {
  const entries = Object.entries(asObject(labels));
  if (entries.length > LABELS_MAX) {
    return invalid(field, entries.length, `At most ${LABELS_MAX} labels are allowed.`);
  }
  for (const [key, value] of entries) {
    if (!LABEL_KEY.test(key) || !LABEL_VALUE.test(asString(value) ?? ' ')) {
      return invalid(field, `${key}: ${String(value)}`, 'Label keys and values must be legal.');
    }
  }
  return null;
}

function checkMetadata(body: JsonObject): Reply | null {
  let total = 0;
  const seen = new Set<string>();
  for (const item of asArray(asObject(body.metadata).items).map(asObject)) {
    const key = asString(item.key) ?? '';
    const bytes = Buffer.byteLength(asString(item.value) ?? '');
    total += Buffer.byteLength(key) + bytes;
    if (!METADATA_KEY.test(key) || seen.has(key)) {
      return invalid('metadata.items.key', key, 'Keys must be unique and match [a-zA-Z0-9-_]+.');
    }
    seen.add(key);
    if (bytes > METADATA_VALUE_BYTES_MAX) {
      return invalid('metadata.items.value', key, `Value is too large: ${bytes} bytes of 262144.`);
    }
  }
  return total < METADATA_BYTES_MAX || total === 0
    ? null
    : invalid('metadata', total, `Metadata must be smaller than ${METADATA_BYTES_MAX} bytes.`);
}

const badRequest = (message: string) => refuse(400, 'badRequest', message);

export function isSpot(body: JsonObject): boolean {
  const scheduling = asObject(body.scheduling);
  return scheduling.provisioningModel === 'SPOT' || scheduling.preemptible === true;
}

function hasGpu(body: JsonObject, options: ComputeOptions): boolean {
  const type = lastPart(asString(body.machineType) ?? '');
  const attached = asArray(body.guestAccelerators).length > 0;
  return attached || options.machineTypes[type]?.accelerator !== undefined;
}

/** The table of host maintenance: E2 must migrate, GPU and Spot machines must be terminated. */
function checkMaintenance(body: JsonObject, options: ComputeOptions): Reply | null {
  const scheduling = asObject(body.scheduling);
  const wanted = asString(scheduling.onHostMaintenance);
  const type = lastPart(asString(body.machineType) ?? '');
  const spot = isSpot(body);
  if (hasGpu(body, options) && wanted !== 'TERMINATE' && !spot) {
    return badRequest('Instances with guest accelerators do not support live migration.');
  }
  if (spot && wanted === 'MIGRATE') {
    return badRequest('Scheduling must have onHostMaintenance=TERMINATE for a preemptible VM.');
  }
  if (spot && scheduling.automaticRestart === true) {
    return badRequest('Scheduling cannot have automaticRestart for a preemptible VM.');
  }
  if (type.startsWith('e2-') && wanted === 'TERMINATE' && !spot) {
    return badRequest(
      'E2 machine types do not support onHostMaintenance=TERMINATE unless preemptible.',
    );
  }
  return null;
}

function checkTtl(body: JsonObject): Reply | null {
  const scheduling = asObject(body.scheduling);
  const { maxRunDuration, terminationTime, instanceTerminationAction: action } = scheduling;
  const seconds = asNumber(asObject(maxRunDuration).seconds);
  if (maxRunDuration !== undefined && (seconds === undefined || seconds < TTL_SECONDS_MIN)) {
    return invalid('scheduling.maxRunDuration', seconds, 'Must be at least 30 seconds.');
  }
  if ((seconds ?? 0) > TTL_SECONDS_MAX) {
    return invalid('scheduling.maxRunDuration', seconds, 'Must be at most 120 days.');
  }
  const timed = maxRunDuration !== undefined || terminationTime !== undefined;
  if (action !== undefined && !timed && scheduling.provisioningModel === undefined) {
    return badRequest(
      'instanceTerminationAction needs a provisioning model or a limited run time.',
    );
  }
  return action === undefined || action === 'STOP' || action === 'DELETE'
    ? null
    : invalid('scheduling.instanceTerminationAction', action, 'Must be STOP or DELETE.');
}

function checkPlace(state: ComputeState, zone: string, body: JsonObject): Reply | null {
  const offers = state.zones.get(zone);
  if (offers === undefined) {
    return refuse(400, 'invalid', `Invalid value for field 'zone': '${zone}'. Unknown zone.`);
  }
  const path = asString(body.machineType) ?? '';
  const type = lastPart(path);
  return offers.has(type)
    ? null
    : invalid(
        'machineType',
        path,
        `Machine type with name '${type}' does not exist in zone '${zone}'.`,
      );
}

function checkDisks(body: JsonObject): Reply | null {
  const disks = asArray(body.disks).map(asObject);
  if (!disks.some((disk) => disk.boot === true)) {
    return invalid('disks', '', 'A boot disk must be specified.');
  }
  for (const disk of disks) {
    const size = asNumber(asObject(disk.initializeParams).diskSizeGb);
    if (size !== undefined && size < 10) {
      return invalid(
        'disks.initializeParams.diskSizeGb',
        size,
        'Disk size must be at least 10 GB.',
      );
    }
    const labels = checkLabels(
      'disks.initializeParams.labels',
      asObject(disk.initializeParams).labels,
    );
    if (labels !== null) {
      return labels;
    }
  }
  return null;
}

/** The refusal of the first thing that is wrong, or null. */
export function checkInstance(
  state: ComputeState,
  options: ComputeOptions,
  zone: string,
  body: JsonObject,
): Reply | null {
  return (
    checkName('name', body.name) ??
    checkPlace(state, zone, body) ??
    checkLabels('labels', body.labels) ??
    checkMetadata(body) ??
    checkDisks(body) ??
    checkMaintenance(body, options) ??
    checkTtl(body)
  );
}
