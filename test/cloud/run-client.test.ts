import { expect, test } from 'vitest';
import { createRunJobs } from '#shared/cloud/run-client.ts';
import { createTransport, noCredentials } from '#shared/cloud/token.ts';
import { type Answer, type SeenRequest, startLoopback } from '#test/cloud/loopback.ts';
import { instantTiming } from '#test/cloud/timing.ts';

const REGION = 'europe-west1';
const JOB = 'mayfly-base-ml-m';
const EXECUTION = `${JOB}-x7k2p`;
const NAME = { region: REGION, job: JOB, execution: EXECUTION };
const PATH = `/v2/projects/p1/locations/${REGION}/jobs/${JOB}`;
const FULL = `projects/p1/locations/${REGION}/jobs/${JOB}/executions/${EXECUTION}`;
const OVERRIDES = {
  env: { MAYFLY_RUN_ID: 'run-1', MAYFLY_NONCE: 'abc' },
  taskCount: 8,
  timeoutSeconds: 3720,
};

// The shapes below follow the REST reference of Cloud Run v2: int32 zeros are left out.
const execution = {
  name: FULL,
  uid: '0b1c',
  createTime: '2026-12-01T00:00:01.000Z',
  startTime: '2026-12-01T00:00:05Z',
  job: JOB,
  parallelism: 8,
  taskCount: 8,
  template: {
    containers: [
      { image: 'i', env: [{ name: 'MAYFLY_NONCE', value: 'abc' }, { name: 'MAYFLY_EMPTY' }] },
    ],
    maxRetries: 0,
    timeout: '3720s',
  },
  conditions: [
    { type: 'Completed', state: 'CONDITION_RECONCILING', message: 'Waiting.' },
    { type: 'Started', state: 'CONDITION_SUCCEEDED', reason: 'X', executionReason: 'CANCELLING' },
  ],
  runningCount: 3,
  succeededCount: 5,
};
const operation = {
  name: `projects/p1/locations/${REGION}/operations/9f0e`,
  metadata: { '@type': 'type.googleapis.com/google.cloud.run.v2.Execution', ...execution },
};

function rpcError(code: number, status: string, message: string, details: unknown[] = []): Answer {
  return { status: code, json: { error: { code, message, status, details } } };
}

// As the service's front end words it (googleapis/repo-automation-bots#4469, marketing-analytics-jumpstart#163).
const RATE_MESSAGE =
  "Quota exceeded for quota metric 'Job run requests' and limit 'Job run requests per minute per region' of service 'run.googleapis.com' for consumer 'project_number:1'.";
const rateDetails = [
  {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'RATE_LIMIT_EXCEEDED',
    domain: 'googleapis.com',
    metadata: {
      quota_metric: 'run.googleapis.com/job_run_requests',
      quota_limit: 'JobRunRequestsPerMinutePerProjectRegion',
      service: 'run.googleapis.com',
    },
  },
];

async function open(answer: (request: SeenRequest, index: number) => Answer, timeoutMs = 5_000) {
  const server = await startLoopback(answer);
  const timing = instantTiming();
  const jobs = createRunJobs({
    project: 'p1',
    endpoint: server.url,
    transport: createTransport(noCredentials('p1')),
    timeoutMs,
    ...timing,
  });
  return {
    jobs,
    server,
    waits: timing.waits,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('C4, C14, C15, C54: a run sends environment, task count and time limit, and nothing else', async () => {
  await using opened = await open(() => ({ status: 200, json: operation }));
  await opened.jobs.runJob(REGION, JOB, OVERRIDES);
  const [request] = opened.server.seen;
  expect([request?.method, request?.path]).toEqual(['POST', `${PATH}:run`]);
  expect(JSON.parse(request?.body ?? '')).toEqual({
    overrides: {
      containerOverrides: [
        {
          env: [
            { name: 'MAYFLY_RUN_ID', value: 'run-1' },
            { name: 'MAYFLY_NONCE', value: 'abc' },
          ],
        },
      ],
      taskCount: 8,
      timeout: '3720s',
    },
  });
});

test('C55, C56: the operation’s metadata names the execution; both come back', async () => {
  await using opened = await open(() => ({ status: 200, json: operation }));
  expect(await opened.jobs.runJob(REGION, JOB, OVERRIDES)).toEqual({
    kind: 'accepted',
    operation: operation.name,
    execution: EXECUTION,
  });
});

test.each([
  { name: '503', answer: rpcError(503, 'UNAVAILABLE', 'planted') },
  { name: '500', answer: rpcError(500, 'INTERNAL', 'planted') },
  { name: '408', answer: rpcError(408, 'CANCELLED', 'planted') },
  { name: '409', answer: rpcError(409, 'ABORTED', 'planted') },
  { name: 'a reset', answer: 'reset' as Answer },
  { name: 'a 200 that is no operation', answer: { status: 200, json: {} } as Answer },
  { name: 'a 429 of something between', answer: { status: 429, text: 'slow down' } as Answer },
  { name: 'a 404 of something between', answer: { status: 404, text: '<html>' } as Answer },
])('C75, P107: after $name nobody knows, and the run is sent once', async ({ answer }) => {
  await using opened = await open(() => answer);
  expect((await opened.jobs.runJob(REGION, JOB, OVERRIDES)).kind).toBe('unknown');
  expect(opened.server.seen).toHaveLength(1);
  expect(opened.waits).toEqual([]);
});

test('C75: a run without an answer in time is unknown, and not repeated', async () => {
  await using opened = await open(() => 'hang', 50);
  expect(await opened.jobs.runJob(REGION, JOB, OVERRIDES)).toMatchObject({
    kind: 'unknown',
    error: { code: 'timeout', method: 'run.projects.locations.jobs.run' },
  });
  expect(opened.server.seen).toHaveLength(1);
});

test.each([
  { name: 'without Retry-After', header: undefined, ms: null },
  { name: 'with seconds', header: '30', ms: 30_000 },
  { name: 'with a date', header: 'Tue, 01 Dec 2026 00:01:00 GMT', ms: 60_000 },
  { name: 'with a date that has passed', header: 'Mon, 30 Nov 2026 00:00:00 GMT', ms: 0 },
  { name: 'with nonsense', header: 'soon', ms: null },
])('C77, C80, C83: a 429 of the rate of calls, $name, made nothing', async ({ header, ms }) => {
  const answer = rpcError(429, 'RESOURCE_EXHAUSTED', RATE_MESSAGE, rateDetails);
  if (typeof answer === 'string') throw new Error('unreachable');
  const headers = header === undefined ? {} : { 'retry-after': header };
  await using opened = await open(() => ({ ...answer, headers }));
  const reply = await opened.jobs.runJob(REGION, JOB, OVERRIDES);
  expect(reply).toMatchObject({
    kind: 'rate-limited',
    retryAfterMs: ms,
    error: { status: 429, code: 'RATE_LIMIT_EXCEEDED', message: RATE_MESSAGE },
  });
  expect(opened.server.seen).toHaveLength(1);
});

test.each([
  { name: 'the message alone', answer: rpcError(429, 'RESOURCE_EXHAUSTED', RATE_MESSAGE) },
  { name: 'no word about it', answer: rpcError(429, 'RESOURCE_EXHAUSTED', 'Try again later.') },
])('C80: a 429 with $name is of the rate of calls', async ({ answer }) => {
  await using opened = await open(() => answer);
  expect((await opened.jobs.runJob(REGION, JOB, OVERRIDES)).kind).toBe('rate-limited');
});

test.each([
  {
    message: 'Quota exceeded for total allowable count of GPUs per project per region.',
    metric: 'total allowable count of GPUs per project per region',
  },
  {
    message:
      'Quota violated: NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 1 allowed: 0',
    metric: 'NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion',
  },
  {
    message: "Quota exceeded for quota metric 'Memory allocation' and limit 'Memory per region'.",
    metric: 'Memory allocation',
  },
])('P112: a 429 of another quota is a refusal that names $metric', async ({ message, metric }) => {
  await using opened = await open(() => rpcError(429, 'RESOURCE_EXHAUSTED', message));
  expect(await opened.jobs.runJob(REGION, JOB, OVERRIDES)).toEqual({
    kind: 'refused',
    error: { status: 429, code: 'QUOTA_EXCEEDED', message, details: { metricName: metric } },
  });
});

test('P112: the metric that the details name goes before the message’s words', async () => {
  const metadata = {
    quota_metric: 'run.googleapis.com/nvidia_l4_gpus',
    quota_limit: 'L4PerRegion',
  };
  const detail = { '@type': 'x', reason: 'QUOTA', domain: 'googleapis.com', metadata };
  await using opened = await open(() => rpcError(429, 'RESOURCE_EXHAUSTED', 'No.', [detail]));
  expect(await opened.jobs.runJob(REGION, JOB, OVERRIDES)).toMatchObject({
    kind: 'refused',
    error: { code: 'QUOTA_EXCEEDED', details: { metricName: 'run.googleapis.com/nvidia_l4_gpus' } },
  });
});

test.each([
  { status: 400, word: 'INVALID_ARGUMENT' },
  { status: 400, word: 'FAILED_PRECONDITION' },
  { status: 404, word: 'NOT_FOUND' },
])('a run answered $status $word is refused, with the platform’s own words', async (row) => {
  await using opened = await open(() => rpcError(row.status, row.word, 'planted'));
  expect(await opened.jobs.runJob(REGION, JOB, OVERRIDES)).toEqual({
    kind: 'refused',
    error: { status: row.status, code: row.word, message: 'planted', details: {} },
  });
});

const PERMISSIONS = [
  { permission: 'run.jobs.run', call: 'runJob' },
  { permission: 'run.executions.get', call: 'getExecution' },
  { permission: 'run.executions.cancel', call: 'cancelExecution' },
  { permission: 'run.executions.list', call: 'listExecutions' },
  { permission: 'run.tasks.list', call: 'listTasks' },
  { permission: 'run.jobs.list', call: 'listJobs' },
] as const;

type Opened = Awaited<ReturnType<typeof open>>;

async function messageOf({ jobs }: Opened, call: (typeof PERMISSIONS)[number]['call']) {
  const calls = {
    runJob: () => jobs.runJob(REGION, JOB, OVERRIDES),
    getExecution: () => jobs.getExecution(NAME),
    cancelExecution: () => jobs.cancelExecution(NAME),
    listExecutions: () => jobs.listExecutions(REGION, JOB, null),
    listTasks: () => jobs.listTasks(NAME),
    listJobs: () => jobs.listJobs(REGION),
  };
  const reply = await calls[call]().catch((error: unknown) => ({ error: error as Error }));
  return 'error' in reply ? reply.error.message : 'no error';
}

test.each(PERMISSIONS)(
  'C12: without $permission $call says so, and what to do',
  async ({ permission, call }) => {
    const resource = `//run.googleapis.com/${FULL}`;
    const detail = { reason: 'IAM_PERMISSION_DENIED', metadata: { permission, resource } };
    await using named = await open(() => rpcError(403, 'PERMISSION_DENIED', 'No.', [detail]));
    await using bare = await open(() => rpcError(403, 'PERMISSION_DENIED', 'No.'));
    for (const opened of [named, bare]) {
      const message = await messageOf(opened, call);
      expect(message).toContain(permission);
      expect(message).toContain('grant it roles/run.');
    }
  },
);

test.each([
  {
    name: 'in its details',
    message: 'No.',
    details: [{ reason: 'X', metadata: { permission: 'iam.serviceAccounts.actAs' } }],
  },
  { name: 'in its message', message: "Permission 'iam.serviceAccounts.actAs' denied", details: [] },
])('C12: the permission that the platform names $name is told', async ({ message, details }) => {
  await using opened = await open(() => rpcError(403, 'PERMISSION_DENIED', message, details));
  const told = await messageOf(opened, 'runJob');
  expect(told).toContain('lacks iam.serviceAccounts.actAs: grant it a role');
});

test('an execution is read in full, with what was left out as zero or none', async () => {
  await using opened = await open(() => ({ status: 200, json: execution }));
  expect(await opened.jobs.getExecution(NAME)).toEqual({
    kind: 'there',
    execution: {
      name: EXECUTION,
      job: JOB,
      region: REGION,
      createdMs: Date.parse('2026-12-01T00:00:01Z'),
      startedMs: Date.parse('2026-12-01T00:00:05Z'),
      completedMs: null,
      taskCount: 8,
      runningCount: 3,
      succeededCount: 5,
      failedCount: 0,
      cancelledCount: 0,
      env: { MAYFLY_NONCE: 'abc', MAYFLY_EMPTY: '' },
      conditions: [
        {
          type: 'Completed',
          state: 'CONDITION_RECONCILING',
          message: 'Waiting.',
          reason: null,
          executionReason: null,
        },
        {
          type: 'Started',
          state: 'CONDITION_SUCCEEDED',
          message: '',
          reason: 'X',
          executionReason: 'CANCELLING',
        },
      ],
    },
  });
  expect(opened.server.seen[0]?.path).toBe(`${PATH}/executions/${EXECUTION}`);
});

test('P110: a read is repeated: time-out and 500 are not the last word', async () => {
  const answers: Answer[] = ['hang', rpcError(500, 'INTERNAL', 'planted')];
  await using opened = await open(
    (_, index) => answers[index] ?? { status: 200, json: execution },
    200,
  );
  expect((await opened.jobs.getExecution(NAME)).kind).toBe('there');
  expect(opened.server.seen).toHaveLength(3);
});

test('P110: reads that keep failing leave an execution unknown, never gone', async () => {
  await using opened = await open(() => rpcError(500, 'INTERNAL', 'planted'));
  expect((await opened.jobs.getExecution(NAME)).kind).toBe('unknown');
  expect(opened.server.seen).toHaveLength(3);
});

test.each([
  { name: 'a 404 of the service', answer: rpcError(404, 'NOT_FOUND', 'none'), kind: 'gone' },
  { name: 'a 404 of another', answer: { status: 404, text: '<html>' } as Answer, kind: 'unknown' },
  { name: 'a 403', answer: rpcError(403, 'PERMISSION_DENIED', 'no'), kind: 'unknown' },
  {
    name: 'another execution',
    answer: { status: 200, json: { ...execution, name: `${FULL}z` } } as Answer,
    kind: 'unknown',
  },
])('C69: $name leaves an execution $kind', async ({ answer, kind }) => {
  await using opened = await open(() => answer);
  expect((await opened.jobs.getExecution(NAME)).kind).toBe(kind);
});

test.each([
  { name: 'accepted', answer: { status: 200, json: operation } as Answer, kind: 'accepted' },
  { name: 'a 404', answer: rpcError(404, 'NOT_FOUND', 'none'), kind: 'gone' },
  {
    name: 'already ended',
    answer: rpcError(400, 'FAILED_PRECONDITION', 'Execution has completed.'),
    kind: 'gone',
  },
  { name: 'another 400', answer: rpcError(400, 'INVALID_ARGUMENT', 'no'), kind: 'unknown' },
  { name: 'a 503', answer: rpcError(503, 'UNAVAILABLE', 'no'), kind: 'unknown' },
  { name: 'a reset', answer: 'reset' as Answer, kind: 'unknown' },
])('C104: a cancel that is answered "$name" is $kind, and sent once', async ({ answer, kind }) => {
  await using opened = await open(() => answer);
  expect((await opened.jobs.cancelExecution(NAME)).kind).toBe(kind);
  expect(opened.server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `POST ${PATH}/executions/${EXECUTION}:cancel`,
  ]);
});

test('C72: executions come page by page', async () => {
  await using opened = await open((request) => ({
    status: 200,
    json: request.query.has('pageToken')
      ? { executions: [execution] }
      : { executions: [execution], nextPageToken: 'a b' },
  }));
  const first = await opened.jobs.listExecutions(REGION, JOB, null);
  expect(first.items).toHaveLength(1);
  expect(first.nextPageToken).toBe('a b');
  const second = await opened.jobs.listExecutions(REGION, JOB, first.nextPageToken);
  expect(second.nextPageToken).toBeNull();
  expect(opened.server.seen[1]?.query.get('pageToken')).toBe('a b');
});

test('a Job that is not there has no executions; a list with a stranger in it is none', async () => {
  await using absent = await open(() => rpcError(404, 'NOT_FOUND', 'none'));
  expect(await absent.jobs.listExecutions(REGION, JOB, null)).toEqual({
    items: [],
    nextPageToken: null,
  });
  await using strange = await open(() => ({ status: 200, json: { executions: [{}] } }));
  await expect(strange.jobs.listExecutions(REGION, JOB, null)).rejects.toMatchObject({
    code: 'unreadable',
  });
});

test('C61: all tasks of an execution, with how each ended', async () => {
  const pages = [
    {
      tasks: [
        { completionTime: '2026-12-01T00:01:00Z', lastAttemptResult: { status: {} } },
        { index: 1, lastAttemptResult: { status: {}, exitCode: 16 } },
      ],
      nextPageToken: 'more',
    },
    {
      tasks: [
        { index: 2, lastAttemptResult: { status: { code: 10, message: 'x' }, termSignal: 9 } },
        { index: 3, lastAttemptResult: { status: { code: 4, message: 'timed out' } } },
        { index: 4 },
      ],
    },
  ];
  await using opened = await open((_, index) => ({ status: 200, json: pages[index] ?? {} }));
  const tasks = await opened.jobs.listTasks(NAME);
  expect(
    tasks.map(({ index, exitCode, termSignal, statusMessage }) => [
      index,
      exitCode,
      termSignal,
      statusMessage,
    ]),
  ).toEqual([
    [0, 0, null, null],
    [1, 16, null, null],
    [2, null, 9, 'x'],
    [3, null, null, 'timed out'],
    [4, null, null, null],
  ]);
  expect(tasks.map(({ completedMs }) => completedMs)).toEqual([
    Date.parse('2026-12-01T00:01:00Z'),
    null,
    null,
    null,
    null,
  ]);
  expect(opened.server.seen[0]?.path).toBe(`${PATH}/executions/${EXECUTION}/tasks`);
});

test('a list that never ends is given up', async () => {
  await using opened = await open(() => ({ status: 200, json: { nextPageToken: 'again' } }));
  await expect(opened.jobs.listTasks(NAME)).rejects.toMatchObject({ code: 'unreadable' });
  expect(opened.server.seen).toHaveLength(200);
});

test('C28: the Jobs of a region by name', async () => {
  const name = `projects/p1/locations/${REGION}/jobs/${JOB}`;
  await using opened = await open(() => ({ status: 200, json: { jobs: [{ name }] } }));
  expect(await opened.jobs.listJobs(REGION)).toEqual([{ name: JOB, region: REGION }]);
});
