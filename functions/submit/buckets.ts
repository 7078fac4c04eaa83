// Buckets that a run will need are looked for before it is taken: one that is missing, or misspelt, would
// be found out only after the work, or never by a run that waits for it.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';
import type { Fault, RunRequest } from '#shared/plan/model.ts';

/** A fault for each address whose bucket is not there; nothing is said of one that may not be asked. */
export async function missingBuckets(
  { openBucket, settings }: Pick<SubmitDeps, 'openBucket' | 'settings'>,
  request: RunRequest,
): Promise<Fault[]> {
  const named = addressesOf(request).map(([field, uri]) => ({ field, uri, ...requireGsUri(uri) }));
  const foreign = named.filter(({ bucket }) => bucket !== settings.plan.bucket);
  const first = new Map(foreign.toReversed().map((one) => [one.bucket, one]));
  const missing = new Set<string>();
  for (const { bucket, object } of first.values()) {
    if (await isMissing(openBucket(bucket), object)) missing.add(bucket);
  }
  return foreign
    .filter(({ bucket }) => missing.has(bucket))
    .map(({ field, uri, bucket }) => ({
      field,
      value: JSON.stringify(uri),
      rule: `there is no bucket ${bucket}`,
      accepted: 'a bucket that exists',
    }));
}

function addressesOf(request: RunRequest): [field: string, uri: string][] {
  const folders = (['inputs', 'outputs', 'checkpoint'] as const).flatMap((field) =>
    Object.entries(request[field]).map(([path, uri]): [string, string] => [
      `${field}[${JSON.stringify(path)}]`,
      uri,
    ]),
  );
  return request.package ? [...folders, ['package.uri', request.package.uri]] : folders;
}

async function isMissing(
  store: ReturnType<SubmitDeps['openBucket']>,
  object: string,
): Promise<boolean> {
  try {
    await store.list(object);
    return false;
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    if (error.reason === 'bucket-missing') return true;
    // The machine's account may have rights that submit lacks.
    if (error.code === 'forbidden') return false;
    throw error;
  }
}
