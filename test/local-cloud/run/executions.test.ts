// Executions of Cloud Run Jobs, through the paths of the v2 API. The right values come from Google's REST
// reference, its quota message and messages of executions that others have published.
import { describe, expect, test } from 'vitest';
import { PROJECT, START_MS } from '#test/local-cloud/fixtures.ts';
import {
  condition,
  JOB,
  jobBody,
  PLACE,
  RunWorld,
  TASK_ACCOUNT,
} from '#test/local-cloud/run/run-fixture.ts';

const SHORT = new RegExp(`^${JOB}-[a-z0-9]{5}$`);
const env = (variables: Record<string, string>) => ({
  containerOverrides: [
    { env: Object.entries(variables).map(([name, value]) => ({ name, value })) },
  ],
});
const error = (reply: { body?: object }) =>
  (reply.body as { error: { status: string; message: string } }).error;

describe('jobs.run', () => {
  test('C55, C70: the operation names the execution at once, and the platform chose its name', () => {
    const world = new RunWorld();
    const reply = world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {});
    expect(reply.body).toMatchObject({
      name: expect.stringMatching(
        new RegExp(`^${PLACE}/operations/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
      ),
      metadata: {
        '@type': 'type.googleapis.com/google.cloud.run.v2.Execution',
        name: expect.stringMatching(new RegExp(`^${PLACE}/jobs/${JOB}/executions/${JOB}-`)),
        createTime: '2026-12-01T12:00:00.000Z',
        taskCount: 1,
        reconciling: true,
      },
    });
    expect(reply.body).not.toHaveProperty('done');
    const names = [world.run(), world.run()].map((name) => name.replace(/^.*\//, ''));
    for (const name of names) expect(name).toMatch(SHORT);
    expect(new Set(names).size).toBe(2);
  });

  test('C49, C50, C51, C52: environment, task count and time-out of the override are in the execution', () => {
    const world = new RunWorld();
    const name = world.run({
      ...env({ MAYFLY_NONCE: 'a=b c', MAYFLY_CLASS: 'M' }),
      taskCount: 3,
      timeout: '3720s',
    });
    expect(world.execution(name)).toMatchObject({
      taskCount: 3,
      template: {
        timeout: '3720s',
        containers: [
          {
            image: 'europe-docker.pkg.dev/p/r/base-bayes:1',
            env: [
              { name: 'KEPT', value: '' },
              { name: 'MAYFLY_NONCE', value: 'a=b c' },
              { name: 'MAYFLY_CLASS', value: 'M' },
            ],
          },
        ],
      },
    });
    world.pass(5000);
    expect(world.taskEvents()[1]).toMatchObject({
      kind: 'task-started',
      principal: TASK_ACCOUNT,
      env: {
        KEPT: '',
        MAYFLY_NONCE: 'a=b c',
        MAYFLY_CLASS: 'M',
        CLOUD_RUN_JOB: JOB,
        CLOUD_RUN_EXECUTION: expect.stringMatching(SHORT),
        CLOUD_RUN_TASK_INDEX: '1',
        CLOUD_RUN_TASK_ATTEMPT: '0',
        CLOUD_RUN_TASK_COUNT: '3',
      },
    });
  });

  test.each([
    { name: 'image', overrides: { containerOverrides: [{ image: 'x' }] } },
    { name: 'args', overrides: { containerOverrides: [{ args: ['x'] }] } },
    { name: 'resources', overrides: { containerOverrides: [{ resources: {} }] } },
    { name: 'parallelism', overrides: { parallelism: 1 } },
    { name: 'labels', overrides: { labels: {} } },
    { name: 'no task', overrides: { taskCount: 0 } },
    { name: 'too many tasks', overrides: { taskCount: 10_001 } },
    { name: 'a time-out beyond 168 h', overrides: { timeout: '604801s' } },
    { name: 'a time-out that is none', overrides: { timeout: '1h' } },
    { name: 'a variable that is a secret', overrides: env({}), more: { valueSource: {} } },
    { name: 'a value beyond 32 KiB', overrides: env({ A: 'x'.repeat(32_769) }) },
    { name: 'a variable without a name', overrides: env({ '': 'x' }) },
  ])('C14, C15: an override of $name is refused, and nothing is made', ({ overrides, more }) => {
    const world = new RunWorld();
    const sent =
      more === undefined ? overrides : { containerOverrides: [{ env: [{ name: 'A', ...more }] }] };
    const reply = world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, { overrides: sent });
    expect([reply.status, error(reply).status]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(world.listed()).toEqual([]);
  });

  test('P113: a task with a GPU has an hour', () => {
    const containers = [{ image: 'i', resources: { limits: { 'nvidia.com/gpu': '1' } } }];
    const world = new RunWorld({}, jobBody({ containers }));
    const start = (timeout: string) =>
      world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, { overrides: { timeout } }).status;
    expect([start('3600s'), start('3601s')]).toEqual([200, 400]);
  });

  test('C12: overrides need a permission of their own', () => {
    const caller = 'submit@p.iam.gserviceaccount.com';
    const grants = [{ principal: caller, permissions: ['run.jobs.run'] }];
    const world = new RunWorld({ grants });
    const start = (body: object) =>
      world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, body, caller);
    expect(start({}).status).toBe(200);
    const refused = start({ overrides: { taskCount: 2 } });
    expect(refused.status).toBe(403);
    expect(error(refused).message).toContain("'run.jobs.runWithOverrides' denied");
  });

  test('C77, C80: the call beyond a minute’s quota is 429, says which quota, and makes nothing', () => {
    const world = new RunWorld({ run: { runsPerMinute: 3 } });
    for (let call = 0; call < 3; call += 1) {
      world.run();
      world.pass(10_000);
    }
    const reply = world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {});
    expect([reply.status, error(reply).status]).toEqual([429, 'RESOURCE_EXHAUSTED']);
    expect(error(reply).message).toBe(
      "Quota exceeded for quota metric 'Job run requests' and limit 'Job run requests per minute per region' of service 'run.googleapis.com' for consumer 'project_number:100000000001'.",
    );
    expect(world.listed()).toHaveLength(3);
    world.pass(29_999);
    expect(world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {}).status).toBe(429);
    world.pass(1);
    expect(world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {}).status).toBe(200);
    expect(new RunWorld().world.options.run.runsPerMinute).toBe(180);
  });

  test('C83, P112: a planted refusal has its own message and Retry-After', () => {
    const world = new RunWorld();
    const message = 'Quota exceeded for total allowable count of GPUs per project per region.';
    world.call(
      'local.faults.plant',
      {},
      {
        match: { method: 'run.projects.locations.jobs.run' },
        ...{ effect: 'before', kind: 'status', status: 429, message, retryAfterSeconds: 30 },
      },
    );
    const reply = world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {});
    expect(reply).toMatchObject({ status: 429, headers: { 'retry-after': '30' } });
    expect(error(reply)).toMatchObject({ status: 'RESOURCE_EXHAUSTED', message });
    expect(world.listed()).toEqual([]);
  });

  test.each(['cut', 'status'])(
    'C75, P107: a reply that is lost after the creation (%s) leaves the execution',
    (kind) => {
      const world = new RunWorld({ run: { listLagMs: 4000 } });
      const match = { method: 'run.projects.locations.jobs.run', nameIncludes: JOB };
      world.call('local.faults.plant', {}, { match, effect: 'after', kind, status: 503 });
      const reply = world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {
        overrides: env({ N: '1' }),
      });
      expect(reply.status).toBe(kind === 'cut' ? 0 : 503);
      world.pass(3999);
      expect(world.listed()).toEqual([]);
      world.pass(1);
      expect(world.listed()).toHaveLength(1);
    },
  );
});

describe('an execution', () => {
  test('C64: succeeds when all its tasks do; no number is shown that is 0', () => {
    const world = new RunWorld();
    const name = world.run({ taskCount: 2 });
    expect(condition(world.execution(name))).toMatchObject({ state: 'CONDITION_RECONCILING' });
    world.pass(5000);
    expect(world.execution(name)).toMatchObject({
      runningCount: 2,
      startTime: '2026-12-01T12:00:05.000Z',
    });
    expect(condition(world.execution(name), 'Started')).toMatchObject({
      state: 'CONDITION_SUCCEEDED',
      message: 'Started deployed execution in 5.00s.',
    });
    world.end(name, { task: 0 });
    world.pass(1000);
    world.end(name, { task: 1 });
    const done = world.execution(name);
    expect(done).toMatchObject({ succeededCount: 2, completionTime: '2026-12-01T12:00:06.000Z' });
    expect(done).not.toHaveProperty('runningCount');
    expect(done).not.toHaveProperty('failedCount');
    expect(done).not.toHaveProperty('reconciling');
    expect(condition(done)).toMatchObject({
      state: 'CONDITION_SUCCEEDED',
      message: 'Execution completed successfully in 1.00s.',
    });
    const [first, second] = world.tasks(name);
    expect(first).toMatchObject({ completionTime: '2026-12-01T12:00:05.000Z' });
    expect(first?.lastAttemptResult).toEqual({ status: {} });
    expect(first).not.toHaveProperty('index');
    expect(second).toMatchObject({ index: 1, execution: name.replace(/^.*\//, ''), job: JOB });
  });

  test('C61, C103: one failing task fails it after all were tried; the exit code is in the task', () => {
    const world = new RunWorld();
    const name = world.run({ taskCount: 2 });
    world.pass(5000);
    world.end(name, { task: 1, exitCode: 16 });
    expect(world.execution(name)).toMatchObject({ runningCount: 1, failedCount: 1 });
    world.end(name, { task: 0 });
    const done = world.execution(name);
    expect(done).toMatchObject({ failedCount: 1, succeededCount: 1 });
    const short = name.replace(/^.*\//, '');
    expect(condition(done)).toMatchObject({
      state: 'CONDITION_FAILED',
      executionReason: 'NON_ZERO_EXIT_CODE',
      message: `Task ${short}-task1 failed with exit code: 16 and message: The container exited with an error.`,
    });
    expect(world.tasks(name)[1]).toMatchObject({ lastAttemptResult: { exitCode: 16 } });
  });

  test('C67: a task that is out of time gets TERM, and KILL ten seconds later', () => {
    const world = new RunWorld();
    const [late, flushed] = [world.run(), world.run()];
    world.pass(5000 + 600_000);
    const stopping = world.taskEvents().filter(({ kind }) => kind === 'task-stopping');
    expect(stopping).toMatchObject([
      { execution: late, killMs: START_MS + 615_000 },
      { execution: flushed },
    ]);
    world.end(flushed ?? '', { exitCode: 16 });
    world.pass(9999);
    expect(world.execution(late ?? '')).toMatchObject({ runningCount: 1 });
    world.pass(1);
    expect(world.taskEvents().at(-1)).toMatchObject({ kind: 'task-killed', execution: late });
    const message = 'The configured timeout was reached.';
    expect(world.tasks(late ?? '')[0]?.lastAttemptResult).toMatchObject({
      termSignal: 9,
      status: { message },
    });
    expect(world.tasks(flushed ?? '')[0]?.lastAttemptResult).toMatchObject({
      exitCode: 16,
      status: { message },
    });
  });

  test('C66: memory that runs out takes a task at once, and only the message tells', () => {
    const world = new RunWorld();
    const name = world.run();
    world.pass(5000);
    world.call('local.run.outOfMemory', {}, { execution: name, task: 0 });
    expect(world.taskEvents().at(-1)).toMatchObject({ kind: 'task-killed' });
    const short = name.replace(/^.*\//, '');
    expect(condition(world.execution(name))?.message).toBe(
      `Task ${short}-task0 failed with exit code: 0 and message: The configured memory limit was reached.`,
    );
    const result = world.tasks(name)[0]?.lastAttemptResult;
    expect(result).toEqual({
      status: { code: 10, message: 'The configured memory limit was reached.' },
    });
    const again = world.run();
    world.pass(5000);
    world.call('local.run.outOfMemory', {}, { execution: again, task: 0, exitCode: 137 });
    expect(world.tasks(again)[0]).toMatchObject({ lastAttemptResult: { exitCode: 137 } });
  });

  test('C104, C68, P108: a cancel tells all tasks; the operation ends without an error', () => {
    const world = new RunWorld({}, jobBody({}, { parallelism: 2 }));
    const reply = world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {
      overrides: { taskCount: 4 },
    });
    const { name: operation, metadata } = reply.body as {
      name: string;
      metadata: { name: string };
    };
    const { name } = metadata;
    world.pass(5000);
    world.end(name, { task: 0 });
    expect(world.execution(name)).toMatchObject({ runningCount: 2, succeededCount: 1 });
    expect(world.rest('POST', `/v2/${name}:cancel`, {}).status).toBe(200);
    expect(condition(world.execution(name))).toMatchObject({ executionReason: 'CANCELLING' });
    world.end(name, { task: 1, exitCode: 16 });
    world.pass(10_000);
    const done = world.execution(name);
    expect(done).toMatchObject({ taskCount: 4, succeededCount: 1, cancelledCount: 3 });
    expect(condition(done)).toMatchObject({
      state: 'CONDITION_FAILED',
      executionReason: 'CANCELLED',
    });
    expect(world.tasks(name).map((task) => task.lastAttemptResult)).toMatchObject([
      { status: {} },
      { exitCode: 16 },
      { termSignal: 9 },
      undefined,
    ]);
    const ended = world.rest('GET', `/v2/${operation}`).body;
    expect(ended).toMatchObject({ done: true, response: { succeededCount: 1, cancelledCount: 3 } });
    expect(ended).not.toHaveProperty('error');
    const again = world.rest('POST', `/v2/${name}:cancel`, {});
    expect([again.status, error(again).status]).toEqual([400, 'FAILED_PRECONDITION']);
  });

  test('tasks start as far as parallelism allows, each when another has ended', () => {
    const world = new RunWorld({}, jobBody({}, { parallelism: 2 }));
    const name = world.run({ taskCount: 3 });
    world.pass(5000);
    const started = () =>
      world.taskEvents().flatMap(({ kind, task }) => (kind === 'task-started' ? [task] : []));
    expect(started()).toEqual([0, 1]);
    world.end(name, { task: 1 });
    expect(started()).toEqual([0, 1, 2]);
  });

  test('C29: a Job that does not say maxRetries 0 tries a failed task again, three times', () => {
    const world = new RunWorld({}, jobBody({ maxRetries: undefined }));
    const name = world.run();
    world.pass(5000);
    for (let attempt = 0; attempt < 4; attempt += 1) world.end(name, { exitCode: 1 });
    expect(world.taskEvents().map(({ attempt }) => attempt)).toEqual([0, 1, 2, 3]);
    expect(world.execution(name)).toMatchObject({ failedCount: 1, retriedCount: 3 });
    const once = new RunWorld();
    const single = once.run();
    once.pass(5000);
    once.end(single, { exitCode: 1 });
    expect(once.taskEvents()).toHaveLength(1);
  });

  test('P112: one that never starts says why, until it is cancelled', () => {
    const world = new RunWorld();
    const stuck = 'Quota exceeded for total allowable count of GPUs per project per region.';
    world.call('local.run.start', {}, { match: { job: JOB }, times: 2, stuck });
    const waiting = world.run();
    world.call('local.run.start', {}, { stuck, fails: true });
    world.run();
    const failing = world.run();
    world.pass(3_600_000);
    expect(world.taskEvents()).toEqual([]);
    expect(condition(world.execution(waiting))).toMatchObject({
      state: 'CONDITION_RECONCILING',
      executionReason: 'DELAYED_START_PENDING',
      message: stuck,
    });
    expect(condition(world.execution(failing))).toMatchObject({
      state: 'CONDITION_FAILED',
      message: stuck,
    });
    world.rest('POST', `/v2/${waiting}:cancel`, {});
    expect(world.execution(waiting)).toMatchObject({ cancelledCount: 1 });
    expect(condition(world.execution(waiting))).toMatchObject({ executionReason: 'CANCELLED' });
  });

  test('a planted delay starts the next one later, and no other', () => {
    const world = new RunWorld();
    world.call('local.run.start', {}, { delayMs: 60_000 });
    const [late, other] = [world.run(), world.run()];
    world.pass(5000);
    expect(world.taskEvents().map(({ execution }) => execution)).toEqual([other]);
    world.pass(60_000);
    expect(world.taskEvents().map(({ execution }) => execution)).toEqual([other, late]);
  });

  test('C69: a deleted one is gone for every reader, and its tasks are told to end', () => {
    const world = new RunWorld();
    const name = world.run();
    world.pass(5000);
    expect(world.rest('DELETE', `/v2/${name}`).status).toBe(200);
    expect(world.taskEvents().at(-1)).toMatchObject({ kind: 'task-stopping' });
    for (const path of [name, `${name}/tasks`]) {
      const reply = world.rest('GET', `/v2/${path}`);
      expect([reply.status, error(reply).status]).toEqual([404, 'NOT_FOUND']);
    }
    expect(world.rest('POST', `/v2/${name}:cancel`, {}).status).toBe(404);
    expect(world.listed()).toEqual([]);
    world.pass(10_000);
    expect(world.world.run.executions.size).toBe(0);
  });

  test('what is told of an attempt that is over comes too late', () => {
    const world = new RunWorld();
    const name = world.run();
    world.pass(5000);
    world.end(name, { exitCode: 3 });
    world.end(name, {});
    expect(world.tasks(name)[0]).toMatchObject({ lastAttemptResult: { exitCode: 3 } });
  });
});

describe('lists', () => {
  test('C72: page by page, newest first, and no entry twice when one more begins meanwhile', () => {
    const world = new RunWorld();
    const names = [1, 2, 3, 4, 5].map(() => {
      world.pass(1000);
      return world.run().replace(/^.*\//, '');
    });
    expect(world.listed()).toEqual([...names].reverse());
    const path = `/v2/${PLACE}/jobs/${JOB}/executions?pageSize=2`;
    const first = world.rest('GET', path).body as { executions: object[]; nextPageToken: string };
    expect(first.executions).toHaveLength(2);
    world.pass(1000);
    world.run();
    const second = world.rest('GET', `${path}&pageToken=${first.nextPageToken}`).body as {
      executions: { name: string }[];
    };
    expect(second.executions.map(({ name }) => name.replace(/^.*\//, ''))).toEqual([
      names[2],
      names[1],
    ]);
    expect(world.rest('GET', `${path}&pageToken=x`).status).toBe(400);
    expect(world.rest('GET', `/v2/${PLACE}/jobs/-/executions`).body).toMatchObject({
      executions: { length: 6 },
    });
    expect(world.rest('GET', `/v2/${PLACE}/jobs/none/executions`).status).toBe(404);
  });

  test('C61: of a task as much as `fields` names', () => {
    const world = new RunWorld();
    const name = world.run();
    world.pass(5000);
    world.end(name, { exitCode: 2 });
    const list = (fields: string) => world.rest('GET', `/v2/${name}/tasks?fields=${fields}`);
    expect(list('tasks(index,lastAttemptResult/exitCode)').body).toEqual({
      tasks: [{ lastAttemptResult: { exitCode: 2 } }],
    });
    expect(list('tasks(').status).toBe(400);
  });

  test('the oldest beyond a thousand go, but none of the last seven days', () => {
    const world = new RunWorld({ run: { executionsKept: 2, startMs: 0 } });
    const once = () => {
      const name = world.run();
      world.pass(0);
      world.end(name, {});
      return name.replace(/^.*\//, '');
    };
    const old = [once(), once(), once()];
    expect(world.listed()).toHaveLength(3);
    world.pass(7 * 24 * 3_600_000);
    const fresh = once();
    expect(world.listed()).toEqual([fresh, old[2]]);
  });
});

describe('Jobs', () => {
  test('C28: made once, shown, listed and deleted with their executions', () => {
    const world = new RunWorld();
    const again = world.rest('POST', `/v2/${PLACE}/jobs?jobId=${JOB}`, jobBody());
    expect([again.status, error(again).status]).toEqual([409, 'ALREADY_EXISTS']);
    expect(world.rest('GET', `/v2/${PLACE}/jobs/${JOB}`).body).toMatchObject({
      name: `${PLACE}/jobs/${JOB}`,
      template: { template: { maxRetries: 0, serviceAccount: TASK_ACCOUNT } },
    });
    world.rest('POST', `/v2/${PLACE}/jobs?jobId=another`, jobBody());
    expect(world.rest('GET', `/v2/${PLACE}/jobs`).body).toMatchObject({
      jobs: [{ name: `${PLACE}/jobs/another` }, { name: `${PLACE}/jobs/${JOB}` }],
    });
    world.run();
    expect(world.rest('DELETE', `/v2/${PLACE}/jobs/${JOB}`).body).toMatchObject({ done: true });
    expect(world.rest('GET', `/v2/${PLACE}/jobs/${JOB}`).status).toBe(404);
    expect(world.world.run.executions.size).toBe(0);
    expect(world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {}).status).toBe(404);
  });

  test.each([
    { name: 'a name in capitals', id: 'A', body: jobBody() },
    { name: 'a name that ends with a hyphen', id: 'a-', body: jobBody() },
    { name: 'no container', id: 'a', body: jobBody({ containers: [] }) },
    { name: 'a time-out beyond 168 h', id: 'a', body: jobBody({ timeout: '604801s' }) },
  ])('$name is refused', ({ id, body }) => {
    const reply = new RunWorld().rest('POST', `/v2/${PLACE}/jobs?jobId=${id}`, body);
    expect([reply.status, error(reply).status]).toEqual([400, 'INVALID_ARGUMENT']);
  });
});

test('C12: every method needs its permission', () => {
  const caller = 'nobody@p.iam.gserviceaccount.com';
  const world = new RunWorld({ grants: [] });
  const name = world.run();
  const statuses = [
    world.rest('GET', `/v2/${PLACE}/jobs`, undefined, caller),
    world.rest('GET', `/v2/${PLACE}/jobs/${JOB}`, undefined, caller),
    world.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, {}, caller),
    world.rest('GET', `/v2/${PLACE}/jobs/${JOB}/executions`, undefined, caller),
    world.rest('GET', `/v2/${name}`, undefined, caller),
    world.rest('GET', `/v2/${name}/tasks`, undefined, caller),
    world.rest('POST', `/v2/${name}:cancel`, {}, caller),
    world.rest('DELETE', `/v2/${name}`, undefined, caller),
    world.rest('GET', `/v2/${PLACE}/operations/x`, undefined, caller),
    world.rest(
      'GET',
      `/apis/run.googleapis.com/v1/namespaces/${PROJECT}/executions`,
      undefined,
      caller,
    ),
  ].map(({ status }) => status);
  expect(statuses).toEqual(statuses.map(() => 403));
});
