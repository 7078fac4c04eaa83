// RunJobs and UrlSigner over the world's calls, on whatever clock drives it.
import type { Call, Reply } from '#scripts/local-cloud/call.ts';
import { asArray, asNumber, asObject, asString } from '#scripts/local-cloud/json.ts';
import { variablesOf } from '#scripts/local-cloud/run/state.ts';
import {
  ALGORITHM,
  canonicalQuery,
  canonicalRequest,
  compactTime,
  encodePath,
  signedHeadersOf,
  stringToSign,
  UNSIGNED_PAYLOAD,
} from '#scripts/local-cloud/storage/v4.ts';
import {
  CloudError,
  readReplyError,
  translateReply,
  unreadableReply,
} from '#shared/cloud/errors.ts';
import type {
  Execution,
  ExecutionCondition,
  ExecutionName,
  RunJobs,
  RunReply,
  Task,
} from '#shared/cloud/run-jobs.ts';
import type { UrlSigner } from '#shared/cloud/url-signer.ts';

type Send = (call: Omit<Call, 'principal'>) => Promise<Reply>;

const JOBS = 'run.projects.locations.jobs';
const lastPart = (name: unknown) => String(name ?? '').replace(/^.*\//, '');

function instantMs(value: unknown): number | null {
  const ms = Date.parse(asString(value) ?? '');
  return Number.isNaN(ms) ? null : ms;
}

const conditionsOf = (value: unknown): ExecutionCondition[] =>
  asArray(value)
    .map(asObject)
    .map((one) => ({
      type: String(one.type),
      state: String(one.state),
      message: asString(one.message) ?? '',
      reason: asString(one.reason) ?? null,
      executionReason: asString(one.executionReason) ?? null,
    }));

function executionOf(body: unknown): Execution {
  const resource = asObject(body);
  const [, region = ''] = /\/locations\/([^/]+)\//.exec(String(resource.name)) ?? [];
  const [container] = asArray(asObject(resource.template).containers).map(asObject);
  const count = (name: string) => asNumber(resource[`${name}Count`]) ?? 0;
  return {
    name: lastPart(resource.name),
    job: lastPart(resource.job),
    region,
    createdMs: instantMs(resource.createTime),
    startedMs: instantMs(resource.startTime),
    completedMs: instantMs(resource.completionTime),
    taskCount: count('task'),
    runningCount: count('running'),
    succeededCount: count('succeeded'),
    failedCount: count('failed'),
    cancelledCount: count('cancelled'),
    env: variablesOf(container ?? {}),
    conditions: conditionsOf(resource.conditions),
  };
}

function taskOf(body: unknown): Task {
  const resource = asObject(body);
  const attempt = resource.lastAttemptResult;
  const { status, exitCode, termSignal } = asObject(attempt);
  const signal = asNumber(termSignal) ?? null;
  const message = asString(asObject(status).message) ?? null;
  // A 0 is not sent: it is one only where nothing else says how the attempt ended.
  const zero = attempt === undefined || signal !== null || message !== null ? null : 0;
  return {
    index: asNumber(resource.index) ?? 0,
    completedMs: instantMs(resource.completionTime),
    conditions: conditionsOf(resource.conditions),
    exitCode: asNumber(exitCode) ?? zero,
    termSignal: signal,
    statusMessage: message,
  };
}

/** Throws what the real adapter reports for a reply that is no success. */
function bodyOf(method: string, reply: Reply) {
  if (reply.disturbance === 'garbage') throw unreadableReply(method, reply.status, 'planted fault');
  if (reply.status !== 200) throw translateReply(method, reply.status, reply.body);
  return asObject(reply.body);
}

function asCloudError(thrown: unknown): CloudError {
  if (thrown instanceof CloudError) return thrown;
  throw thrown;
}

/** `answer` when the call succeeds; gone for a 404 (and for `alsoGone`), unknown for all else. */
async function known<Value>(
  ask: () => Promise<Value>,
  alsoGone: CloudError['code'] | null = null,
): Promise<Value | { readonly kind: 'gone' } | { readonly kind: 'unknown'; error: CloudError }> {
  try {
    return await ask();
  } catch (thrown) {
    const error = asCloudError(thrown);
    const gone = error.code === 'not-found' || error.code === alsoGone;
    return gone ? { kind: 'gone' } : { kind: 'unknown', error };
  }
}

const OTHER_QUOTA = /\bGPUs?\b|allowable|allocation/i;

function readRun(method: string, reply: Reply): RunReply {
  const refusedDefinitely = reply.status >= 400 && reply.status < 500 && reply.status !== 408;
  if (!refusedDefinitely || reply.disturbance !== undefined) {
    const { name, metadata } = bodyOf(method, reply);
    const execution = lastPart(asObject(metadata).name);
    return { kind: 'accepted', operation: String(name), execution };
  }
  const { reason, message, details } = readReplyError(reply.body);
  const error = { status: reply.status, code: reason, message, details };
  const retryAfterSeconds = asNumber(reply.headers['retry-after']);
  // Other quotas answer 429 as well; waiting a minute does not help against those.
  return reply.status === 429 && !OTHER_QUOTA.test(message)
    ? {
        kind: 'rate-limited',
        error,
        retryAfterMs: retryAfterSeconds === undefined ? null : retryAfterSeconds * 1000,
      }
    : { kind: 'refused', error };
}

async function startJob(send: Send, call: Omit<Call, 'principal'>): Promise<RunReply> {
  try {
    return readRun(call.method, await send(call));
  } catch (thrown) {
    return { kind: 'unknown', error: asCloudError(thrown) };
  }
}

export function inProcessRunJobs(send: Send, project: string): RunJobs {
  const read = async (method: string, params: Record<string, string>) =>
    bodyOf(method, await send({ method, params: { project, ...params } }));
  const paramsOf = ({ region, job, execution }: ExecutionName) => ({
    location: region,
    job,
    execution,
  });
  const all = async (method: string, field: string, params: Record<string, string>) => {
    const items: unknown[] = [];
    for (let pageToken = ''; ; ) {
      const body = await read(method, { ...params, ...(pageToken ? { pageToken } : {}) });
      items.push(...asArray(body[field]));
      pageToken = asString(body.nextPageToken) ?? '';
      if (pageToken === '') return items;
    }
  };
  return {
    runJob: (region, job, { env, taskCount, timeoutSeconds }) => {
      const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
      const overrides = {
        containerOverrides: [{ env: variables }],
        taskCount,
        timeout: `${timeoutSeconds}s`,
      };
      const params = { project, location: region, job };
      return startJob(send, { method: `${JOBS}.run`, params, body: { overrides } });
    },
    getExecution: (name) =>
      known(async () => {
        const body = await read(`${JOBS}.executions.get`, paramsOf(name));
        return { kind: 'there', execution: executionOf(body) } as const;
      }),
    // One that has ended cannot be cancelled: FAILED_PRECONDITION.
    cancelExecution: (name) =>
      known(async () => {
        await read(`${JOBS}.executions.cancel`, paramsOf(name));
        return { kind: 'accepted' } as const;
      }, 'invalid'),
    listExecutions: async (region, job, pageToken) => {
      const params = { location: region, job, ...(pageToken ? { pageToken } : {}) };
      const answer = await send({
        method: `${JOBS}.executions.list`,
        params: { project, ...params },
      });
      if (answer.status === 404) return { items: [], nextPageToken: null };
      const body = bodyOf(`${JOBS}.executions.list`, answer);
      return {
        items: asArray(body.executions).map(executionOf),
        nextPageToken: asString(body.nextPageToken) ?? null,
      };
    },
    listTasks: async (name) =>
      (await all(`${JOBS}.executions.tasks.list`, 'tasks', paramsOf(name))).map(taskOf),
    listJobs: async (region) =>
      (await all(`${JOBS}.list`, 'jobs', { location: region })).map((job) => ({
        name: lastPart(asObject(job).name),
        region,
      })),
  };
}

export interface SigningAccounts {
  readonly reader: string;
  readonly uploader: string;
}

const EXPIRES_SECONDS = 12 * 3600;
const HOST = 'storage.googleapis.com';

export function inProcessSigner(
  send: Send,
  nowMs: () => number,
  accounts: SigningAccounts,
): UrlSigner {
  const signature = async (account: string, text: string) => {
    const method = 'iamcredentials.projects.serviceAccounts.signBlob';
    const payload = Buffer.from(text).toString('base64');
    const reply = await send({ method, params: { account }, body: { payload } });
    const { signedBlob } = bodyOf(method, reply);
    return Buffer.from(String(signedBlob), 'base64').toString('hex');
  };
  const stampOf = (account: string) => {
    const time = compactTime(nowMs());
    const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`;
    return { time, scope, credential: `${account}/${scope}` };
  };
  return {
    async signUrl({ method: verb, bucket, object, generation, contentType }) {
      const account = verb === 'GET' ? accounts.reader : accounts.uploader;
      const { time, scope, credential } = stampOf(account);
      const headers = {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(verb === 'PUT' ? { 'x-goog-if-generation-match': '0' } : {}),
      };
      const signed = { host: HOST, ...headers };
      const query = Object.entries({
        ...(generation === undefined ? {} : { generation }),
        'X-Goog-Algorithm': ALGORITHM,
        'X-Goog-Credential': credential,
        'X-Goog-Date': time,
        'X-Goog-Expires': String(EXPIRES_SECONDS),
        'X-Goog-SignedHeaders': signedHeadersOf(signed),
      });
      const path = `/${bucket}/${object}`;
      const parts = { verb, path, query, headers: signed, payload: UNSIGNED_PAYLOAD };
      const text = stringToSign(time, scope, canonicalRequest(parts));
      const hex = await signature(account, text);
      const search = `${canonicalQuery(query)}&X-Goog-Signature=${hex}`;
      return { url: `https://${HOST}${encodePath(path)}?${search}`, headers };
    },
    async signForm({ bucket, prefix }) {
      const { time, credential } = stampOf(accounts.uploader);
      const dated = {
        'x-goog-algorithm': ALGORITHM,
        'x-goog-credential': credential,
        'x-goog-date': time,
      };
      const conditions = [
        { bucket },
        ['starts-with', '$key', prefix],
        ...Object.entries(dated).map(([name, value]) => ({ [name]: value })),
      ];
      const expiration = new Date(nowMs() + EXPIRES_SECONDS * 1000).toISOString();
      const policy = Buffer.from(JSON.stringify({ conditions, expiration })).toString('base64');
      const fields = {
        ...dated,
        policy,
        'x-goog-signature': await signature(accounts.uploader, policy),
      };
      return { url: `https://${HOST}/${bucket}/`, fields, prefix, bucket };
    },
  };
}
