// What Cloud Run's refusals mean beyond their status: which quota is short, how long to wait, which
// permission is missing.
import type { ApiErrorDetail } from '#shared/cloud/compute.ts';
import { readReplyError } from '#shared/cloud/errors.ts';
import type { HttpReply } from '#shared/cloud/http.ts';

/** Of the rate of calls; these pass by themselves. */
const RATE = /per (?:minute|second|\d+ seconds)|rate.?limit|PerMinute|PerSecond|_RATE_/i;
const QUOTA = /quota (?:exceeded|violated)|exceeded quota|total allowable/i;
/** `Quota exceeded for quota metric 'M' and limit …`, `Quota exceeded for total allowable …`, `Quota violated: M requested …`. */
const NAMED = [
  /quota metric '([^']+)'/i,
  /quota violated:\s*([\w./-]+)/i,
  /quota exceeded for ([^.;]+)/i,
];

/** The quota that is short, in the platform's own spelling; null when it is none, or the rate of calls. */
export function quotaName({ message, details, status }: ApiErrorDetail): string | null {
  const rate = [message, details.quota_limit, details.reason, details.quota_unit];
  if (rate.some((text) => text !== undefined && RATE.test(text))) return null;
  const metric = details.quota_metric ?? details.metricName;
  const about = metric !== undefined || QUOTA.test(message);
  if (!about || (status !== 429 && status !== 403 && status !== 400)) return null;
  const named = NAMED.map((form) => form.exec(message)?.[1]).find((name) => name !== undefined);
  return metric ?? named ?? 'a quota of Cloud Run';
}

/** `Retry-After` in seconds or as a date; null when there is none. */
export function retryAfterMs({ retryAfter }: HttpReply, nowMs: number): number | null {
  if (retryAfter === undefined) return null;
  const text = retryAfter.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const untilMs = Date.parse(text);
  return Number.isNaN(untilMs) ? null : Math.max(0, untilMs - nowMs);
}

/** Method → permission and the narrowest of Google's roles that has it. */
const PERMISSIONS: Readonly<Record<string, readonly [permission: string, role: string]>> = {
  'run.projects.locations.jobs.run': [
    'run.jobs.run and run.jobs.runWithOverrides',
    'roles/run.jobsExecutorWithOverrides',
  ],
  'run.projects.locations.jobs.executions.get': ['run.executions.get', 'roles/run.viewer'],
  'run.projects.locations.jobs.executions.list': ['run.executions.list', 'roles/run.viewer'],
  'run.projects.locations.jobs.executions.cancel': ['run.executions.cancel', 'roles/run.developer'],
  'run.projects.locations.jobs.executions.tasks.list': ['run.tasks.list', 'roles/run.viewer'],
  'run.projects.locations.jobs.list': ['run.jobs.list', 'roles/run.viewer'],
};

/** What to do about a missing permission, as the end of a sentence; empty when that is not the matter. */
export function permissionAdvice(method: string, reply: HttpReply): string {
  const known = PERMISSIONS[method];
  if (reply.status !== 403 || known === undefined) return '';
  const { message, details } = readReplyError(reply.body);
  const named = details.permission ?? /[Pp]ermission '([\w.]+)'/.exec(message)?.[1] ?? known[0];
  const role = known[0].includes(named) ? `${known[1]}, or a role of your own` : 'a role';
  return `; the calling account lacks ${named}: grant it ${role} with that`;
}
