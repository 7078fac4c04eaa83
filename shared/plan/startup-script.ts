// The scripts of one machine: guest script texts with the blanks of one attempt filled in. Pure; what
// only the machine can know (its boot, its cores when the type is unknown) is left to the script.
import { createHash } from 'node:crypto';
import { bootImageKind } from '#shared/plan/boot-image.ts';
import { KEPT_CAPABILITIES } from '#shared/plan/capabilities.ts';
import { inputBlanks, outputBlanks, packageBlanks } from '#shared/plan/container-files.ts';
import { GUEST_DEFAULTS, type GuestSettings } from '#shared/plan/guest-settings.ts';
import { hostMatches, parseImageReference } from '#shared/plan/image-reference.ts';
import type { IntentInput, RunRequest } from '#shared/plan/model.ts';
import { claimObject, logObject, markerObject } from '#shared/plan/objects.ts';
import { type BlankValues, fillBlanks } from '#shared/plan/script-blanks.ts';
import { traceNames } from '#shared/plan/trace-context.ts';

/** What planning knows of the machine. */
export interface ScriptMachine {
  readonly instanceName: string;
  /** The container's cores; null: as many as the machine finds. */
  readonly threads: number | null;
  readonly gpuCount: number;
  readonly localSsdCount: number;
}

/** The value of the metadata key `startup-script`. */
export function buildStartupScript(input: IntentInput, facts: ScriptMachine): string {
  const { request } = input.plan;
  const { settings } = input;
  const guest = { ...GUEST_DEFAULTS, ...settings.guest };
  const image = imageOf(input);
  return fillBlanks(input.scripts.startup, {
    ...sharedBlanks(input, facts, guest),
    NONCE_SHA256: createHash('sha256').update(input.nonce).digest('hex'),
    CLAIM_OBJECT: claimObject(request.runId, input.attempt),
    LOG_OBJECT: logObject(request.runId, input.attempt),
    IMAGE: image,
    BOOT_KIND: bootImageKind(request.resources.bootImage),
    SPOT: input.candidate.provisioningModel === 'SPOT' ? 'true' : '',
    LOGIN_HOST: loginHost(image, settings.imageHosts),
    CREDENTIALS_SECRET: request.imageCredentials ?? '',
    SECRET_KEYS: Object.keys(request.secrets),
    SECRET_NAMES: Object.values(request.secrets),
    GPU_COUNT: String(facts.gpuCount),
    GPU_IDLE_SECONDS: String(request.gpuIdleSeconds),
    KEEP_SECONDS: String(request.keepOnFailureSeconds),
    LOGGING_URL: settings.fullLog === 'logging' ? settings.endpoints.logging : '',
    SECRETS_URL: settings.endpoints.secretManager,
    DOCKER_FLAGS: dockerFlags(request),
    CONTAINER_ENV: containerEnv(request, input.traceparent ?? null),
    LOG_TRACE: logTrace(settings.project, input.traceparent ?? null),
    CONTAINER_ARGS: [...(request.command ?? []).slice(1), ...request.args],
    ...packageBlanks(request),
    ...inputBlanks(request, input.inputs),
    ...outputBlanks(request),
    THREADS: facts.threads === null ? '' : String(facts.threads),
    TIMEOUT_SECONDS: String(request.timeoutSeconds),
    STALL_SECONDS: String(guest.stallSeconds),
    DOCKER_SECONDS: String(guest.dockerSeconds),
    PULL_SECONDS: String(guest.pullSeconds),
    HEARTBEAT_SECONDS: String(guest.heartbeatSeconds),
    LOG_BATCH_SECONDS: String(guest.logBatchSeconds),
    UNIT_STOP_SECONDS: String(guest.unitStopSeconds),
    WORK_DIR: guest.workDir,
    WORK_UNIT: guest.workUnit,
    MEMORY_FILE: guest.memoryFile,
    CGROUP_DIR: guest.cgroupDir,
    FIREWALL: request.metadataAccess ? '' : guest.firewall,
    LOCAL_SSDS: facts.localSsdCount > 0 ? guest.localSsds : '',
    END_MARGIN_SECONDS: String(guest.endMarginSeconds),
    REPORT_MARGIN_SECONDS: String(guest.reportMarginSeconds),
    STOP_GRACE_SECONDS: String(guest.stopGraceSeconds),
    INTERRUPT_GRACE_SECONDS: String(guest.interruptGraceSeconds),
    SELF_DELETE_DELAY_SECONDS: String(guest.selfDeleteDelaySeconds),
    LOG_BYTES: String(guest.logBytes),
    CONTAINER_LOG_SIZE: guest.containerLogSize,
  });
}

/** The value of the metadata key `shutdown-script`. */
export function buildShutdownScript(input: IntentInput, facts: ScriptMachine): string {
  const guest = { ...GUEST_DEFAULTS, ...input.settings.guest };
  return fillBlanks(input.scripts.shutdown, {
    ...sharedBlanks(input, facts, guest),
    SHUTDOWN_WAIT_SECONDS: String(guest.shutdownWaitSeconds),
  });
}

function sharedBlanks(input: IntentInput, facts: ScriptMachine, guest: GuestSettings): BlankValues {
  const { attempt, candidate, nonce, plan, settings } = input;
  const { runId, ttlSeconds } = plan.request;
  if (settings.bucket === '') throw new Error('a machine needs a bucket to report to');
  return {
    RUN_ID: runId,
    ATTEMPT: String(attempt),
    INSTANCE: facts.instanceName,
    ZONE: candidate.zone,
    PROJECT: settings.project,
    BUCKET: settings.bucket,
    MARKER_OBJECT: markerObject(facts.instanceName),
    NONCE: nonce,
    TTL_SECONDS: String(ttlSeconds),
    STORAGE_URL: settings.endpoints.storage,
    COMPUTE_URL: settings.endpoints.compute,
    RUN_DIR: guest.runDir,
    BOOT_ID_FILE: guest.bootIdFile,
    UPTIME_FILE: guest.uptimeFile,
    CONNECT_SECONDS: String(guest.connectSeconds),
    CALL_SECONDS: String(guest.callSeconds),
    TRIES: String(guest.tries),
    DELETE_TRIES: String(guest.deleteTries),
    BACKOFF_MS: String(guest.backoffMs),
    BACKOFF_MAX_MS: String(guest.backoffMaxMs),
  };
}

/** The request's image, or exactly what the first attempt pulled, given whole or as a digest alone. */
function imageOf({ plan, pinnedImage }: IntentInput): string {
  const { image } = plan.request;
  if (image === null) throw new Error('a machine needs an image, and the request has none');
  if (pinnedImage === null) return image;
  if (!pinnedImage.startsWith('sha256:')) return pinnedImage;
  const [named = ''] = image.split('@');
  const tag = named.indexOf(':', named.lastIndexOf('/') + 1);
  return `${tag < 0 ? named : named.slice(0, tag)}@${pinnedImage}`;
}

/** The machine's token goes to the registries of the settings and to no other host. */
function loginHost(image: string, imageHosts: readonly string[]): string {
  const reference = parseImageReference(image);
  if (reference.kind === 'invalid') throw new Error(`not an image reference: ${image}`);
  return hostMatches(reference.host, imageHosts) ? reference.host : '';
}

/** OpenTelemetry's carrier for processes; a variable of the request's own is the one that counts. */
function containerEnv({ env }: RunRequest, traceparent: string | null): string[] {
  const all = traceparent === null ? env : { TRACEPARENT: traceparent, ...env };
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
}

/** The fields of each entry of the full log, as JSON; every character is plain. */
function logTrace(project: string, traceparent: string | null): string {
  if (traceparent === null) return '';
  const { trace, spanId, sampled } = traceNames(project, traceparent);
  return `"trace":"${trace}","spanId":"${spanId}","traceSampled":${sampled},`;
}

function dockerFlags(request: RunRequest): string[] {
  const flags = ['--cap-drop', 'ALL'];
  for (const name of new Set([...KEPT_CAPABILITIES, ...request.capabilities])) {
    flags.push('--cap-add', name);
  }
  if (request.workingDir !== null) flags.push('--workdir', request.workingDir);
  const program = request.command?.[0];
  if (program !== undefined) flags.push('--entrypoint', program);
  return flags;
}
