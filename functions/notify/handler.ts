// notify: a stateless translator. The arrival of a result or a rejection becomes one CloudEvent on
// `run-events`; a repeat has the same id, so that subscribers can tell.
import * as z from 'zod';
import { REJECTED_PREFIX, RESULT_PREFIX } from '#shared/plan/objects.ts';
import type { PushMessage } from '#shared/push/envelope.ts';
import type { Outcome } from '#shared/push/outcome.ts';
import { type RunDeps, topicOf, traced } from '#shared/runs/deps.ts';
import { readNotification } from '#shared/runs/notification.ts';

const DONE: Outcome = { kind: 'done' };
/** What an event tells of its data: of a result, or of a rejection. */
const announced = z.object({
  runId: z.string().nullable(),
  status: z.string(),
  runtime: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  phases: z.object({ endedAt: z.string().nullable() }).optional(),
  rejectedAt: z.string().optional(),
  traceparent: z.string().optional(),
});
type Announced = z.infer<typeof announced>;

/** Pub/Sub takes 100 attributes a message; the others are the event's own. */
const LABEL_ATTRIBUTES_MAX = 80;

/** One delivery of `run-results`. Throws a CloudError when a service cannot be asked. */
export async function handleNotify(
  message: PushMessage,
  deps: Pick<RunDeps, 'settings' | 'store' | 'publisher' | 'log'>,
): Promise<Outcome> {
  const notification = readNotification(message);
  const { bucket } = deps.settings.plan;
  if (notification.kind === 'foreign' || notification.bucket !== bucket) {
    const reason = notification.kind === 'foreign' ? notification.reason : 'another bucket';
    deps.log('WARNING', 'result-ignored', `message ${message.messageId}: ${reason}`);
    return DONE;
  }
  const { object, eventType } = notification;
  if (eventType !== 'OBJECT_FINALIZE') return DONE;
  if (!object.startsWith(RESULT_PREFIX) && !object.startsWith(REJECTED_PREFIX)) return DONE;
  const reply = await deps.store.read(object);
  if (reply.kind === 'absent') {
    deps.log('WARNING', 'result-ignored', `${object} is gone`, { object });
    return DONE;
  }
  const body = new TextDecoder().decode(reply.bytes);
  const read = readAnnounced(body);
  if (typeof read === 'string') {
    deps.log('ERROR', 'result-ignored', `${object} is no result: ${read}`, { object });
    return DONE;
  }
  const attributes = eventAttributes(object, read, deps.settings.plan);
  await deps.publisher.publish(
    topicOf(deps.settings.plan.deployment, 'run-events'),
    body,
    attributes,
  );
  const { log } = traced(deps, read.traceparent);
  log('INFO', 'event-published', attributes['ce-id'] ?? '', {
    runId: attributes['ce-subject'],
  });
  return DONE;
}

/** A text says why it is none: delivered again it would be none again. */
function readAnnounced(body: string): Announced | string {
  try {
    const read = announced.safeParse(JSON.parse(body));
    return read.success ? read.data : z.prettifyError(read.error);
  } catch (error) {
    return String(error);
  }
}

/** The attributes of CloudEvents' Pub/Sub binding (1.0), and those that subscribers filter by. */
export function eventAttributes(
  object: string,
  body: Announced,
  plan: { readonly project: string; readonly deployment: string },
): Record<string, string> {
  const rejected = object.startsWith(REJECTED_PREFIX);
  const subject = body.runId ?? '_';
  const messageId =
    object
      .split('/')
      .at(-1)
      ?.replace(/\.json$/, '') ?? '';
  const time = body.rejectedAt ?? body.phases?.endedAt;
  const labels = Object.entries(body.labels ?? {});
  return {
    'ce-specversion': '1.0',
    'ce-id': rejected ? `${subject}/rejected/${messageId}` : `${subject}/ended`,
    'ce-type': rejected ? 'dev.mayfly.run.rejected' : 'dev.mayfly.run.ended',
    'ce-source': `//mayfly/${plan.project}/${plan.deployment}`,
    'ce-subject': subject,
    'ce-time': time ?? '',
    'ce-datacontenttype': 'application/json',
    // CloudEvents' extension for distributed tracing.
    ...(body.traceparent ? { 'ce-traceparent': body.traceparent } : {}),
    status: body.status,
    deployment: plan.deployment,
    ...(body.runtime ? { runtime: body.runtime } : {}),
    ...Object.fromEntries(
      labels.slice(0, LABEL_ATTRIBUTES_MAX).map(([key, value]) => [`label-${key}`, value]),
    ),
  };
}
