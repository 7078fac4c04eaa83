// Cloud Run's Admin API (REST v2) for Jobs, over a transport. Reads are repeated a few times; a run is
// sent once, because each call that arrives starts an execution: there is no key that makes two of them
// one. A cancel is sent once too; the caller repeats it by its own rules.
import { type Clock, systemClock } from '#shared/cloud/clock.ts';
import { GOOGLE_ENDPOINTS } from '#shared/cloud/endpoints.ts';
import {
  CloudError,
  isGoogleError,
  translateReply,
  unreadableReply,
} from '#shared/cloud/errors.ts';
import type { HttpReply } from '#shared/cloud/http.ts';
import {
  asCloudError,
  createRest,
  errorDetail,
  goneOrUnknown,
  isSuccess,
  type Rest,
  type RestCall,
  type RestOptions,
  readResource,
  translateRefusal,
} from '#shared/cloud/rest.ts';
import type { CancelReply, ExecutionName, RunJobs, RunReply } from '#shared/cloud/run-jobs.ts';
import { permissionAdvice, quotaName, retryAfterMs } from '#shared/cloud/run-refusals.ts';
import {
  parseExecution,
  parseJob,
  parsePage,
  parseRunOperation,
  parseTask,
} from '#shared/cloud/run-replies.ts';
import { type ExecutionOverrides, overrideBody } from '#shared/plan/override-body.ts';

export interface RunOptions extends RestOptions {
  readonly project: string;
  /** Base URL without a trailing slash; null: Google's own. */
  readonly endpoint: string | null;
}

const API = 'run.projects.locations.jobs';
const PAGE_ITEMS_MAX = '500';
const PAGES_MAX = 200;
/** Tasks carry their whole container, which nobody needs here. */
const TASK_FIELDS =
  'nextPageToken,tasks(index,startTime,completionTime,conditions,lastAttemptResult)';

/** The calls of Cloud Run that Mayfly makes. */
export function createRunJobs(options: RunOptions): RunJobs {
  const endpoint = options.endpoint ?? GOOGLE_ENDPOINTS.run;
  const base = `${endpoint}/v2/projects/${options.project}/locations`;
  const rest = createRest(base, options, refusalOf);
  const clock = options.clock ?? systemClock;
  return {
    runJob: (region, job, overrides) =>
      runJob(rest, clock, { path: jobPath(region, job), overrides }),
    getExecution: async (name) => {
      const reply = await readResource(rest, `${API}.executions.get`, {
        path: executionPath(name),
        parse: (body) => {
          const execution = parseExecution(body);
          return execution?.name === name.execution ? execution : null;
        },
      });
      return reply.kind === 'there' ? { kind: 'there', execution: reply.value } : reply;
    },
    cancelExecution: (name) => cancelExecution(rest, name),
    listExecutions: async (region, job, pageToken) => {
      const path = [...jobPath(region, job), 'executions'];
      const call = { path, field: 'executions', parse: parseExecution } as const;
      try {
        return await readPage(rest, `${API}.executions.list`, call, pageToken);
      } catch (error) {
        if (asCloudError(error).code === 'not-found') return { items: [], nextPageToken: null };
        throw error;
      }
    },
    listTasks: (name) => {
      const path = [...executionPath(name), 'tasks'];
      const query = { fields: TASK_FIELDS };
      const call = { path, query, field: 'tasks', parse: parseTask } as const;
      return readAll(rest, `${API}.executions.tasks.list`, call);
    },
    listJobs: (region) =>
      readAll(rest, `${API}.list`, { path: [region, 'jobs'], field: 'jobs', parse: parseJob }),
  };
}

const jobPath = (region: string, job: string) => [region, 'jobs', job];
const executionPath = ({ region, job, execution }: ExecutionName) => [
  ...jobPath(region, job),
  'executions',
  execution,
];

async function runJob(
  rest: Rest,
  clock: Pick<Clock, 'nowMs'>,
  { path, overrides }: { readonly path: readonly string[]; readonly overrides: ExecutionOverrides },
): Promise<RunReply> {
  const method = `${API}.run`;
  const body = { overrides: overrideBody(overrides) };
  try {
    const reply = await rest.send(method, 'POST', { path, verb: 'run', body });
    if (!isSuccess(reply)) return classifyRunError(method, reply, clock.nowMs());
    const made = parseRunOperation(reply.body);
    return made === null
      ? { kind: 'unknown', error: unreadableReply(method, reply.status, 'no operation') }
      : { kind: 'accepted', ...made };
  } catch (error) {
    return { kind: 'unknown', error: asCloudError(error) };
  }
}

/**
 * Only the service's own 4xx says that nothing was made: 408 and 409 do not, and an answer without its
 * error body came from something between. A 429 is the rate of calls, or a quota that no waiting of a
 * minute helps against (P112).
 */
function classifyRunError(method: string, reply: HttpReply, nowMs: number): RunReply {
  const error = translateReply(method, reply.status, reply.body);
  const definite = reply.status < 500 && reply.status !== 408 && reply.status !== 409;
  if (!isGoogleError(reply.body) || !definite) return { kind: 'unknown', error };
  const detail = errorDetail(reply);
  const quota = quotaName(detail);
  if (quota !== null) {
    const details = { ...detail.details, metricName: quota };
    return { kind: 'refused', error: { ...detail, code: 'QUOTA_EXCEEDED', details } };
  }
  if (error.code === 'rate-limited') {
    return { kind: 'rate-limited', error: detail, retryAfterMs: retryAfterMs(reply, nowMs) };
  }
  const message = `${detail.message}${permissionAdvice(method, reply)}`;
  return { kind: 'refused', error: { ...detail, message } };
}

/** An execution that has ended cannot be cancelled. */
async function cancelExecution(rest: Rest, name: ExecutionName): Promise<CancelReply> {
  const method = `${API}.executions.cancel`;
  const call = { path: executionPath(name), verb: 'cancel', body: {} };
  try {
    const reply = await rest.send(method, 'POST', call);
    if (isSuccess(reply)) return { kind: 'accepted' };
    const error = refusalOf(method, reply);
    const ended = isGoogleError(reply.body) && error.reason === 'FAILED_PRECONDITION';
    return ended ? { kind: 'gone' } : goneOrUnknown(error);
  } catch (error) {
    return { kind: 'unknown', error: asCloudError(error) };
  }
}

type ListCall<Item> = RestCall & {
  readonly field: 'executions' | 'tasks' | 'jobs';
  readonly parse: (item: unknown) => Item | null;
};

async function readPage<Item>(
  rest: Rest,
  method: string,
  { path, query, field, parse }: ListCall<Item>,
  pageToken: string | null,
) {
  const token = pageToken === null ? {} : { pageToken };
  const body = await rest.read(method, {
    path,
    query: { ...query, pageSize: PAGE_ITEMS_MAX, ...token },
  });
  const page = parsePage(body, field, parse);
  if (page === null) throw unreadableReply(method, 200, `no list of ${field}`);
  return page;
}

async function readAll<Item>(rest: Rest, method: string, call: ListCall<Item>): Promise<Item[]> {
  const items: Item[] = [];
  let pageToken: string | null = null;
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const read: { readonly items: readonly Item[]; readonly nextPageToken: string | null } =
      await readPage(rest, method, call, pageToken);
    items.push(...read.items);
    pageToken = read.nextPageToken;
    if (pageToken === null) return items;
  }
  throw unreadableReply(method, 200, `more than ${PAGES_MAX} pages`);
}

/** What a refusal means, and for a missing permission what to do about it. */
function refusalOf(method: string, reply: HttpReply): CloudError {
  const error = translateRefusal(method, reply);
  const advice = permissionAdvice(method, reply);
  if (advice === '') return error;
  const { code, status, reason, message } = error;
  return new CloudError({ code, method, status, reason, message: `${message}${advice}` });
}
