// The bootstrap of one execution, in two pure steps around the signing: which addresses and forms it
// takes, and, once they are signed, the object.
import {
  BOOTSTRAP_SCHEMA,
  type Bootstrap,
  type CheckpointManifest,
  type Form,
  type FormRequest,
  type SignedAddress,
  type SignedUrlRequest,
} from '#shared/plan/bootstrap.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import type { ResolvedInput, RunRequest } from '#shared/plan/model.ts';
import { instanceName } from '#shared/plan/names.ts';
import { claimObject, MARKER_PREFIX } from '#shared/plan/objects.ts';

export interface BootstrapInput {
  readonly request: RunRequest;
  readonly deployment: string;
  /** The deployment's own. */
  readonly bucket: string;
  readonly inputs: readonly ResolvedInput[];
  readonly attempt: number;
  readonly nonce: string;
  readonly region: string;
  /** RFC 3339. */
  readonly deadline: string;
  readonly eventKey: string;
  /** The trace that the request came with (W3C). */
  readonly traceparent?: string | null;
  /** The last complete checkpoints: folder → task → its files. */
  readonly checkpoints: Readonly<
    Record<string, Readonly<Record<string, CheckpointManifest['files']>>>
  >;
}

/** Every part in the order of the request: unsigned at first, then signed. */
export interface BootstrapAccess<Address, Upload> {
  readonly claim: { readonly put: Address; readonly get: Address };
  readonly marker: Upload;
  readonly package: Address | null;
  readonly inputs: readonly Address[];
  readonly outputs: readonly Upload[];
  readonly checkpoints: readonly {
    readonly form: Upload;
    readonly restore: Readonly<Record<string, readonly Address[]>>;
  }[];
}

/** What has to be signed. */
export function bootstrapAccess(
  input: BootstrapInput,
): BootstrapAccess<SignedUrlRequest, FormRequest> {
  const { request, bucket, attempt } = input;
  const claim = { bucket, object: claimObject(request.runId, attempt) };
  return {
    claim: {
      put: { method: 'PUT', ...claim, contentType: 'application/json' },
      get: { method: 'GET', ...claim },
    },
    marker: { bucket, prefix: `${markerPrefix(input)}.` },
    package:
      request.package === null ? null : { method: 'GET', ...requireGsUri(request.package.uri) },
    inputs: input.inputs.map(({ bucket, object, generation }) => ({
      method: 'GET',
      bucket,
      object,
      generation,
    })),
    outputs: Object.values(request.outputs).map(prefixOf),
    checkpoints: Object.entries(request.checkpoint).map(([path, uri]) => ({
      form: prefixOf(uri),
      restore: perTask(restored(input, path), (files, task) =>
        files.map(({ sha256 }) => checkpointFile(prefixOf(uri), request.tasks, { task, sha256 })),
      ),
    })),
  };
}

/** The object, of what `bootstrapAccess` asked for. */
export function buildBootstrap(
  input: BootstrapInput,
  access: BootstrapAccess<SignedAddress, Form>,
): Bootstrap {
  const { request } = input;
  return {
    schema: BOOTSTRAP_SCHEMA,
    runId: request.runId,
    attempt: input.attempt,
    nonce: input.nonce,
    instance: instanceName(input.deployment, request.runId, input.attempt),
    region: input.region,
    taskCount: request.tasks,
    command: request.command ?? [],
    args: request.args,
    workingDir: request.workingDir,
    env: input.traceparent ? { TRACEPARENT: input.traceparent, ...request.env } : request.env,
    timeoutSeconds: request.timeoutSeconds,
    deadline: input.deadline,
    eventKey: input.eventKey,
    claim: access.claim,
    marker: { form: formOf(access.marker), prefix: markerPrefix(input) },
    package:
      request.package === null
        ? null
        : { get: required(access.package), sha256: request.package.sha256 },
    inputs: input.inputs.map(({ path, bytes }, index) => ({
      path,
      get: required(access.inputs[index]),
      bytes,
    })),
    outputs: Object.entries(request.outputs).map(([path, uri], index) => ({
      path,
      form: formOf(access.outputs[index]),
      ...prefixOf(uri),
    })),
    checkpoints: Object.entries(request.checkpoint).map(([path, uri], index) => ({
      path,
      form: formOf(access.checkpoints[index]?.form),
      ...prefixOf(uri),
      restore: perTask(restored(input, path), (files, task) =>
        files.map((file, at) => ({
          ...file,
          get: required(access.checkpoints[index]?.restore[task]?.[at]),
        })),
      ),
    })),
  };
}

const markerPrefix = ({ deployment, request, attempt }: BootstrapInput) =>
  `${MARKER_PREFIX}${instanceName(deployment, request.runId, attempt)}`;

const restored = ({ checkpoints }: BootstrapInput, path: string) =>
  Object.hasOwn(checkpoints, path) ? (checkpoints[path] ?? {}) : {};

function prefixOf(uri: string): FormRequest {
  const { bucket, object } = requireGsUri(uri);
  return { bucket, prefix: object };
}

/** Files of checkpoints are named by their content: what was written once stays right. */
function checkpointFile(
  { bucket, prefix }: FormRequest,
  tasks: number,
  { task, sha256 }: { readonly task: string; readonly sha256: string },
): SignedUrlRequest {
  const folder = tasks === 1 ? prefix : `${prefix}tasks/${task}/`;
  return { method: 'GET', bucket, object: `${folder}files/${sha256}` };
}

function perTask<From, To>(
  tasks: Readonly<Record<string, From>>,
  map: (value: From, task: string) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(tasks).map(([task, value]) => [task, map(value, task)]));
}

/** Only what a form is: who signed it may have told more. */
function formOf(form: Form | undefined): Form {
  const { url, fields } = required(form);
  return { url, fields };
}

function required<Value>(value: Value | null | undefined): Value {
  if (value === null || value === undefined) throw new Error('an address was not signed');
  return value;
}
