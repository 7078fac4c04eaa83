// Output folders of a run that succeeded and wrote nothing there: mostly a mistyped path, and nothing else
// would say so.
import * as z from 'zod';
import type { StoredResult } from '#scripts/mayfly/stored-result.ts';
import type { ObjectStore } from '#shared/cloud/storage.ts';
import { requestObject } from '#shared/plan/objects.ts';

/** The machine's list has 128 KiB at most: a long one may be cut. */
const WHOLE_LIST_CHARACTERS_MAX = 64 * 1024;

const requestShape = z.looseObject({ outputs: z.record(z.string(), z.string()).default({}) });

/** A line for each of them; none where that cannot be known. Throws a CloudError. */
export async function emptyOutputLines(
  store: Pick<ObjectStore, 'read'>,
  { runId, status, outputs }: StoredResult,
): Promise<readonly string[]> {
  const partial = JSON.stringify(outputs).length > WHOLE_LIST_CHARACTERS_MAX;
  if (runId === null || status !== 'SUCCEEDED' || partial) return [];
  const stored = await store.read(requestObject(runId));
  const asked = stored.kind === 'absent' ? null : parseRequest(stored.bytes);
  return Object.entries(asked?.outputs ?? {})
    .filter(([, prefix]) => !outputs.some(({ uri }) => uri.startsWith(prefix)))
    .map(
      ([folder, prefix]) => `  output    nothing was written to ${folder}, so nothing to ${prefix}`,
    );
}

function parseRequest(bytes: Uint8Array): z.infer<typeof requestShape> | null {
  try {
    return requestShape.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}
