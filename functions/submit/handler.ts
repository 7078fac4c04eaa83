// submit: the only creator of machines. A push of `run-requests` is a request, a cancel or a look; each
// is acknowledged once its effect is in the bucket. What cannot be read becomes a dead letter, what
// breaks a rule a rejection; only faults that may pass are delivered again.
import { acceptRequest, continueRun } from '#functions/submit/accept.ts';
import { cancelRun } from '#functions/submit/cancel.ts';
import type { SubmitDeps } from '#functions/submit/deps.ts';
import { reject, type Told, writeDeadLetter } from '#functions/submit/refuse.ts';
import { parseJsonText, readMessage } from '#shared/plan/message.ts';
import { traceparentOf } from '#shared/plan/trace-context.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import type { Outcome } from '#shared/push/outcome.ts';
import { traced } from '#shared/runs/deps.ts';

const DONE: Outcome = { kind: 'done' };

/** One delivery of `run-requests`. Throws a CloudError when a service cannot be asked. */
export async function handleSubmit(message: PushMessage, untraced: SubmitDeps): Promise<Outcome> {
  const told = readTold(message);
  const deps = traced(untraced, told.traceparent);
  const parsed = parseJsonText(message.data);
  if (parsed.kind === 'unreadable') {
    await writeDeadLetter(deps, message, 'run-requests', parsed.reason);
    return DONE;
  }
  const read = readMessage(parsed.value);
  switch (read.kind) {
    case 'invalid':
      await reject(deps, { ...told, runId: read.runId, faults: read.faults });
      return DONE;
    case 'cancel':
      await cancelRun(deps, read.runId, read.reason);
      return DONE;
    case 'look':
      await continueRun(deps, read.runId);
      return DONE;
    case 'request':
      await acceptRequest(deps, read.value, told);
      return DONE;
    default:
      return read satisfies never;
  }
}

/** What the message says beside the request. */
const readTold = ({ messageId, attributes }: PushMessage): Told => ({
  messageId,
  traceparent: traceparentOf(attributes),
});

/** One delivery of the dead-letter topic: what Pub/Sub gave up is kept and said, never retried. */
export async function handleDead(message: PushMessage, untraced: SubmitDeps): Promise<Outcome> {
  const deps = traced(untraced, traceparentOf(message.attributes));
  const source = message.attributes.CloudPubSubDeadLetterSourceSubscription ?? 'an unknown source';
  const count = message.attributes.CloudPubSubDeadLetterSourceDeliveryCount ?? 'many';
  const reason = `deliveries-exhausted: ${source} gave up after ${count} deliveries`;
  await writeDeadLetter(deps, message, source, reason);
  return DONE;
}

/**
 * A push whose body is no Pub/Sub envelope: kept as a dead letter under a name made from its bytes,
 * so that a repeat writes nothing new.
 */
export async function handleUnreadable(
  unreadable: { readonly messageId: string; readonly body: Uint8Array; readonly reason: string },
  deps: SubmitDeps,
): Promise<Outcome> {
  const message: PushMessage = {
    messageId: unreadable.messageId,
    data: unreadable.body,
    attributes: {},
    publishTimeMs: null,
    subscription: null,
    deliveryAttempt: null,
  };
  await writeDeadLetter(deps, message, 'run-requests', unreadable.reason);
  return DONE;
}
