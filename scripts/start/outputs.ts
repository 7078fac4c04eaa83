// Shows what a run stored: the first lines of each small text, as they are in the bucket.
import type { LocalDeployment } from '#scripts/local-cloud/deployment/layout.ts';
import { requireGsUri } from '#shared/plan/gs-uri.ts';

const LINES_MAX = 6;
const OBJECTS_MAX = 5;
const BYTES_MAX = 64 * 1024;
const CALL_TIMEOUT_MS = 10_000;

export async function showOutputs(
  deployment: LocalDeployment,
  outputs: readonly { readonly uri: string; readonly bytes: number }[],
  write: (line: string) => void,
): Promise<void> {
  for (const { uri, bytes } of outputs.slice(0, OBJECTS_MAX)) {
    if (bytes > BYTES_MAX) continue;
    const text = await readObject(deployment.baseUrl, uri);
    if (text === null) continue;
    const lines = text.trimEnd().split('\n');
    write(`\n${uri}:`);
    for (const line of lines.slice(0, LINES_MAX)) write(`  ${line}`);
    if (lines.length > LINES_MAX) write(`  … ${lines.length - LINES_MAX} more lines`);
  }
}

/** The object's text; null when it is none. */
async function readObject(baseUrl: string, uri: string): Promise<string | null> {
  const { bucket, object } = requireGsUri(uri);
  const url = `${baseUrl}/storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?alt=media`;
  const reply = await fetch(url, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
  if (!reply.ok) throw new Error(`GET ${uri} answered ${reply.status}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await reply.arrayBuffer());
  } catch {
    return null;
  }
}
