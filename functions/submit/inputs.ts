// Inputs are resolved once, before the record: prefixes listed, generations pinned, the list kept in
// the bucket, so that every attempt works on the same bytes.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import { scriptSizeFaults } from '#shared/plan/metadata-size.ts';
import type { Fault, ResolvedInput, RunRequest } from '#shared/plan/model.ts';
import { inputsObject } from '#shared/plan/objects.ts';

export const INPUT_OBJECTS_MAX = 1_000;

export type ResolvedInputs =
  | { readonly kind: 'kept' | 'fresh'; readonly inputs: readonly ResolvedInput[] }
  | { readonly kind: 'invalid'; readonly faults: readonly Fault[] };

/** The list as it was kept, or as it is now; nothing is written. */
export async function resolveInputs(
  deps: SubmitDeps,
  request: RunRequest,
): Promise<ResolvedInputs> {
  if (Object.keys(request.inputs).length === 0) return { kind: 'kept', inputs: [] };
  const kept = await readKept(deps.store, inputsObject(request.runId));
  if (kept !== null) return { kind: 'kept', inputs: kept };
  const fresh = await listInputs(deps, request);
  if (fresh.kind === 'invalid') return fresh;
  const faults = scriptSizeFaults(request, fresh.inputs);
  return faults.length > 0 ? { kind: 'invalid', faults } : fresh;
}

/** Keeps a fresh list; when another delivery was quicker, its list counts. */
export async function keepInputs(
  deps: SubmitDeps,
  runId: string,
  resolved: Exclude<ResolvedInputs, { kind: 'invalid' }>,
): Promise<readonly ResolvedInput[]> {
  if (resolved.kind === 'kept') return resolved.inputs;
  const name = inputsObject(runId);
  const reply = await deps.store.write(name, JSON.stringify(resolved.inputs), {
    ifGeneration: '0',
    contentType: 'application/json',
  });
  if (reply.kind === 'written') return resolved.inputs;
  return (await readKept(deps.store, name)) ?? resolved.inputs;
}

async function readKept(store: ObjectStore, name: string): Promise<ResolvedInput[] | null> {
  const reply = await store.read(name);
  if (reply.kind === 'absent') return null;
  return JSON.parse(new TextDecoder().decode(reply.bytes)) as ResolvedInput[];
}

async function listInputs(deps: SubmitDeps, request: RunRequest): Promise<ResolvedInputs> {
  const inputs: ResolvedInput[] = [];
  const faults: Fault[] = [];
  for (const [path, uri] of Object.entries(request.inputs)) {
    const { bucket, object } = requireGsUri(uri);
    const found = await listOne(deps.openBucket(bucket), { path, bucket, object });
    const field = `inputs[${JSON.stringify(path)}]`;
    if (found.length === 0) {
      const rule = object.endsWith('/') ? 'no object has this prefix' : 'there is no such object';
      faults.push({ field, value: JSON.stringify(uri), rule, accepted: 'an object that exists' });
    }
    inputs.push(...found);
    if (inputs.length > INPUT_OBJECTS_MAX) {
      const rule = `the inputs are more than ${INPUT_OBJECTS_MAX} objects`;
      const accepted = `at most ${INPUT_OBJECTS_MAX} objects in all; pack them into fewer`;
      faults.push({ field, value: JSON.stringify(uri), rule, accepted });
      break;
    }
  }
  return faults.length > 0 ? { kind: 'invalid', faults } : { kind: 'fresh', inputs };
}

/** One object, or every object under a prefix that ends in `/`, with its place below the path. */
async function listOne(
  store: ObjectStore,
  input: { readonly path: string; readonly bucket: string; readonly object: string },
): Promise<ResolvedInput[]> {
  const { bucket, object } = input;
  const isPrefix = object.endsWith('/') || object === '';
  const found: ResolvedInput[] = [];
  let pageToken: string | null = null;
  do {
    const page = await store.list(object, pageToken);
    for (const { name, generation, bytes } of page.objects) {
      if (isPrefix ? name.endsWith('/') : name !== object) continue;
      const below = isPrefix ? `${input.path.replace(/\/$/, '')}/${name.slice(object.length)}` : '';
      found.push({ path: below || input.path, bucket, object: name, generation, bytes });
    }
    pageToken = isPrefix ? page.nextPageToken : null;
  } while (pageToken !== null && found.length <= INPUT_OBJECTS_MAX);
  return found;
}
