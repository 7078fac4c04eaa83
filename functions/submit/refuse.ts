// Rejections and dead letters: every refusal is one object that says what is wrong and where.
// Create-only under the message's id, so that a repeat changes nothing and tells nobody twice.
import type { SubmitDeps } from '#functions/submit/deps.ts';
import type { Rejection } from '#shared/lifecycle/result.ts';
import type { Fault } from '#shared/plan/model.ts';
import { deadObject, rejectedObject } from '#shared/plan/objects.ts';
import type { Traceparent } from '#shared/plan/trace-context.ts';
import type { PushMessage } from '#shared/push/envelope.ts';

const DATA_BYTES_KEPT = 2048;
const OPTIONS = { ifGeneration: '0', contentType: 'application/json' } as const;

/** What a message says beside its data. */
export interface Told {
  readonly messageId: string;
  readonly traceparent: Traceparent | null;
}

/** Writes the rejection; its notification tells subscribers. Never touches a run of that id. */
export async function reject(
  deps: SubmitDeps,
  refused: Told & {
    readonly runId: string | null;
    readonly faults: readonly Fault[];
    readonly cause?: Rejection['cause'];
  },
): Promise<void> {
  const { runId, messageId, traceparent, faults } = refused;
  const rejection: Rejection = {
    schema: 1,
    runId,
    status: 'REJECTED',
    cause: refused.cause ?? causeOf(faults),
    detail: faults.map(sentence).join('; '),
    errors: faults,
    attempts: [],
    rejectedAt: new Date(deps.clock.nowMs()).toISOString(),
    ...(traceparent === null ? {} : { traceparent }),
  };
  await deps.store.write(rejectedObject(runId, messageId), JSON.stringify(rejection), OPTIONS);
  deps.log('WARNING', 'request-rejected', rejection.detail, { runId, messageId });
}

/** One cause for the whole: a real mistake outweighs a budget or a permission. */
function causeOf(faults: readonly Fault[]): Rejection['cause'] {
  if (faults.every((fault) => fault.field === 'budgetUsd')) return 'budget';
  const allowed = ['serviceAccount', 'capabilities'];
  const isAllowance = (fault: Fault) => allowed.some((field) => fault.field.startsWith(field));
  return faults.every(isAllowance) ? 'not-allowed' : 'invalid';
}

function sentence(fault: Fault): string {
  const where = fault.field === '' ? 'the message' : fault.field;
  return `${where} is ${fault.value}: ${fault.rule}; accepted: ${fault.accepted}`;
}

export async function writeDeadLetter(
  deps: SubmitDeps,
  message: PushMessage,
  topic: string,
  reason: string,
): Promise<void> {
  const { messageId, attributes, data } = message;
  const letter = {
    schema: 1,
    messageId,
    topic,
    subscription: message.subscription,
    attributes,
    dataBase64: Buffer.from(data.subarray(0, DATA_BYTES_KEPT)).toString('base64'),
    dataBytes: data.length,
    reason,
    at: new Date(deps.clock.nowMs()).toISOString(),
  };
  await deps.store.write(deadObject(messageId), JSON.stringify(letter), OPTIONS);
  deps.log('ERROR', 'dead-letter', `message ${messageId}: ${reason}`, { messageId });
}
