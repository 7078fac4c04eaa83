// Carries out the world's own HTTP requests (Pub/Sub pushes, Scheduler attempts, messages for an
// emulator) and reports what came back. No redirect is followed, nothing is repeated: that is for the
// world to decide.
import type { PushEvent } from '#scripts/local-cloud/call.ts';
import { idTokenClaims } from '#scripts/local-cloud/keys.ts';
import type { Runtime } from '#scripts/local-cloud/server/runtime.ts';

function bodyOf({ body }: PushEvent): string | Uint8Array<ArrayBuffer> | undefined {
  if (body === null) {
    return undefined;
  }
  return body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body);
}

/** The status, or 0 when there was no answer in time. */
async function send(runtime: Runtime, event: PushEvent, stop: AbortSignal): Promise<number> {
  const headers: Record<string, string> = { ...event.headers };
  if (event.token !== null) {
    const claims = idTokenClaims(event.token, runtime.nowMs());
    headers.authorization = `Bearer ${runtime.world.keys.sign(claims)}`;
  }
  const body = event.method === 'GET' ? undefined : bodyOf(event);
  try {
    const response = await fetch(event.url, {
      method: event.method,
      headers,
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: AbortSignal.any([stop, AbortSignal.timeout(event.timeoutMs)]),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    // Refused, cut or too late: all of them are a push without an answer.
    return 0;
  }
}

export async function carryOutPush(
  runtime: Runtime,
  event: PushEvent,
  stop: AbortSignal,
): Promise<void> {
  const status = await send(runtime, event, stop);
  if (event.source === 'publisher' && status !== 200 && !stop.aborted) {
    throw new Error(`a message for ${event.origin} is lost: ${event.url} answered ${status}`);
  }
  if (!stop.aborted) {
    runtime.perform({
      method: 'local.push.result',
      principal: null,
      params: { deliveryId: event.deliveryId, status: String(status) },
    });
  }
}
