// The product's RunJobs and UrlSigner over a world without sockets, with faults and without.
import { describe, expect, test } from 'vitest';
import { inProcessCloud } from '#scripts/local-cloud/in-process.ts';
import { JOB, REGION, RunWorld, TASK_ACCOUNT } from '#test/local-cloud/run/run-fixture.ts';

function open(principal: string | null = null, grants: [] | null = null) {
  const world = new RunWorld({ quickSignatures: true, grants });
  const { jobs, signer } = inProcessCloud({
    world: world.world,
    nowMs: () => world.nowMs,
    principal,
    onEvents: (events) => world.events.push(...events),
  });
  return { world, jobs, signer };
}

const OVERRIDES = { env: { MAYFLY_NONCE: 'n1', EMPTY: '' }, taskCount: 2, timeoutSeconds: 720 };

const METHOD = 'run.projects.locations.jobs.run';

describe('RunJobs', () => {
  test('C4, C55, C60, C61: an execution from its start to its tasks’ exit codes', async () => {
    const { world, jobs } = open();
    const started = await jobs.runJob(REGION, JOB, OVERRIDES);
    if (started.kind !== 'accepted') throw new Error(started.kind);
    const name = { region: REGION, job: JOB, execution: started.execution };
    const created = world.nowMs;
    expect(await jobs.getExecution(name)).toMatchObject({
      kind: 'there',
      execution: {
        ...{ name: started.execution, job: JOB, region: REGION, taskCount: 2 },
        ...{ createdMs: created, startedMs: null, completedMs: null, runningCount: 0 },
        env: { MAYFLY_CLASS: 'S', KEPT: '', MAYFLY_NONCE: 'n1', EMPTY: '' },
      },
    });
    world.pass(5000);
    world.end(started.execution, { task: 0 });
    expect(await jobs.getExecution(name)).toMatchObject({
      execution: { startedMs: created + 5000, runningCount: 1, succeededCount: 1 },
    });
    world.end(started.execution, { task: 1, exitCode: 16 });
    expect(await jobs.listTasks(name)).toMatchObject([
      { index: 0, exitCode: 0, termSignal: null, statusMessage: null },
      { index: 1, exitCode: 16, statusMessage: 'The container exited with an error.' },
    ]);
    expect(await jobs.cancelExecution(name)).toEqual({ kind: 'gone' });
    const page = await jobs.listExecutions(REGION, JOB, null);
    expect(page).toMatchObject({ items: [{ failedCount: 1 }], nextPageToken: null });
    expect(await jobs.listJobs(REGION)).toEqual([{ name: JOB, region: REGION }]);
  });

  test('C66: a task without memory has no exit code, not 0', async () => {
    const { world, jobs } = open();
    const name = world.run();
    world.pass(5000);
    world.call('local.run.outOfMemory', {}, { execution: name, task: 0 });
    const execution = name.replace(/^.*\//, '');
    expect(await jobs.listTasks({ region: REGION, job: JOB, execution })).toMatchObject([
      { exitCode: null, statusMessage: 'The configured memory limit was reached.' },
    ]);
  });

  test.each([
    { fault: { kind: 'status', status: 503 }, kind: 'unknown' },
    { fault: { kind: 'cut' }, kind: 'unknown' },
    { fault: { kind: 'garbage' }, kind: 'unknown' },
    { fault: { kind: 'status', status: 403 }, kind: 'refused' },
    { fault: { kind: 'status', status: 429 }, kind: 'rate-limited', retryAfterMs: null },
    {
      fault: { kind: 'status', status: 429, retryAfterSeconds: 30 },
      ...{ kind: 'rate-limited', retryAfterMs: 30_000 },
    },
    {
      fault: { kind: 'status', status: 429, message: 'Quota exceeded for GPUs in the region' },
      kind: 'refused',
    },
  ] as const)('C75, C80, C83: the run call meets $fault: $kind', async ({ fault, ...expected }) => {
    const { world, jobs } = open();
    world.world.faults.plant({ match: { method: METHOD }, effect: 'before', times: 1, ...fault });
    expect(await jobs.runJob(REGION, JOB, OVERRIDES)).toMatchObject(expected);
    expect((await jobs.listExecutions(REGION, JOB, null)).items).toEqual([]);
  });

  test('C69: gone is told from unknown; a Job that is not there has no executions', async () => {
    const { world, jobs } = open();
    const name = { region: REGION, job: JOB, execution: `${JOB}-xxxxx` };
    expect(await jobs.getExecution(name)).toEqual({ kind: 'gone' });
    expect(await jobs.cancelExecution(name)).toEqual({ kind: 'gone' });
    expect(await jobs.listExecutions(REGION, 'none', null)).toMatchObject({ items: [] });
    const match = { method: 'run.*' };
    world.world.faults.plant({
      match,
      effect: 'before',
      kind: 'status',
      status: 500,
      times: Infinity,
    });
    expect(await jobs.getExecution(name)).toMatchObject({ kind: 'unknown' });
    expect(await jobs.cancelExecution(name)).toMatchObject({ kind: 'unknown' });
    await expect(jobs.listTasks(name)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('UrlSigner', () => {
  const accounts = { reader: `reader@p.iam.gserviceaccount.com`, uploader: TASK_ACCOUNT };

  test('C145: a caller without iam.serviceAccounts.signBlob is refused', async () => {
    const { signer } = open('submit@p.iam.gserviceaccount.com', []);
    const url = signer(accounts).signUrl({ method: 'GET', bucket: 'b', object: 'o' });
    await expect(url).rejects.toMatchObject({ code: 'forbidden' });
  });

  test('C146: a PUT carries its create-only header, a form the beginning of its names', async () => {
    const { signer } = open();
    const put = await signer(accounts).signUrl({ method: 'PUT', bucket: 'b', object: 'a/ü' });
    expect(put.headers).toEqual({ 'x-goog-if-generation-match': '0' });
    expect(put.url).toMatch(/^https:\/\/storage\.googleapis\.com\/b\/a\/%C3%BC\?/);
    const query = new URL(put.url).searchParams;
    expect(Object.fromEntries(query)).toMatchObject({
      'X-Goog-Algorithm': 'GOOG4-RSA-SHA256',
      'X-Goog-Credential': `${TASK_ACCOUNT}/20261201/auto/storage/goog4_request`,
      'X-Goog-Date': '20261201T120000Z',
      'X-Goog-Expires': '43200',
      'X-Goog-SignedHeaders': 'host;x-goog-if-generation-match',
    });
    const form = await signer(accounts).signForm({ bucket: 'b', prefix: 'out/' });
    const policy = JSON.parse(Buffer.from(form.fields.policy ?? '', 'base64').toString());
    expect(policy.expiration).toBe('2026-12-02T00:00:00Z');
    expect(policy.conditions).toContainEqual(['starts-with', '$key', 'out/']);
  });
});
