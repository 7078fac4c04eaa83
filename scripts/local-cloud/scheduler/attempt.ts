// One attempt of a Scheduler job as an HTTP request.
import type { Context, PushEvent } from '#scripts/local-cloud/call.ts';
import { asObject, asString, asStringMap, timestamp } from '#scripts/local-cloud/json.ts';
import type { SchedulerJob } from '#scripts/local-cloud/scheduler/state.ts';

export function attemptEvent(
  context: Context,
  job: SchedulerJob,
  deliveryId: string,
  slotMs: number,
): PushEvent {
  const target = asObject(job.resource.httpTarget);
  const url = asString(target.uri) ?? '';
  const { serviceAccountEmail, audience } = asObject(target.oidcToken);
  const email = asString(serviceAccountEmail);
  const body = asString(target.body);
  return {
    kind: 'push',
    source: 'scheduler',
    deliveryId,
    origin: job.name,
    method: asString(target.httpMethod) ?? 'POST',
    url,
    headers: {
      'content-type': 'application/octet-stream',
      ...asStringMap(target.headers),
      'user-agent': 'Google-Cloud-Scheduler',
      'x-cloudscheduler': 'true',
      'x-cloudscheduler-jobname': job.name.slice(job.name.lastIndexOf('/') + 1),
      'x-cloudscheduler-scheduletime': timestamp(slotMs),
    },
    body: body === undefined ? null : Buffer.from(body, 'base64'),
    token: email === undefined ? null : { email, audience: asString(audience) ?? url },
    sentMs: context.nowMs,
    timeoutMs: job.attemptDeadlineMs,
  };
}
