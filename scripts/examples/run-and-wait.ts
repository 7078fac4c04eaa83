// One run from TypeScript: publish the request, wait for its end, read it. docs/orchestrators.md shows it.
import type { PubSub } from '@google-cloud/pubsub';
import type { Storage } from '@google-cloud/storage';

export interface Mayfly {
  readonly pubsub: PubSub;
  readonly storage: Storage;
  readonly bucket: string;
  readonly deployment: string;
}

/** A result or a rejection, as far as this file looks at it. */
export interface End {
  readonly runId: string;
  readonly status: string;
  readonly cause: string;
  readonly detail: string;
}

/** Publishes a request or a cancel; the message's id comes back. */
export function send(mayfly: Mayfly, message: object): Promise<string> {
  const topic = mayfly.pubsub.topic(`${mayfly.deployment}-run-requests`);
  return topic.publishMessage({ json: message });
}

/** The rejection of this very message, else the result; null while there is neither. */
export async function readEnd(
  { storage, bucket }: Mayfly,
  runId: string,
  messageId: string,
): Promise<End | null> {
  for (const name of [`runs/rejected/${runId}/${messageId}.json`, `runs/results/${runId}.json`]) {
    const file = storage.bucket(bucket).file(name);
    const [exists] = await file.exists();
    if (exists) return JSON.parse((await file.download())[0].toString());
  }
  return null;
}

/** Throws unless the run SUCCEEDED; cancels it when the signal says that nobody waits any more. */
export async function runAndWait(
  mayfly: Mayfly,
  request: { readonly runId: string },
  { signal, pollMs = 15_000 }: { readonly signal: AbortSignal; readonly pollMs?: number },
): Promise<End> {
  const { runId } = request;
  const messageId = await send(mayfly, request);
  for (;;) {
    const end = await readEnd(mayfly, runId, messageId);
    if (end?.status === 'SUCCEEDED') return end;
    if (end) throw new Error(`${runId}: ${end.status} (${end.cause}): ${end.detail}`);
    if (signal.aborted) {
      await send(mayfly, { cancel: runId, reason: 'nobody waits for it any more' });
      throw signal.reason;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
