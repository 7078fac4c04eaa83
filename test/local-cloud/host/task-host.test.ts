// Executions as real processes: what a task's process sees, how it is ended, and what the cloud learns.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ProcessTaskHost } from '#scripts/local-cloud/host/process-task-host.ts';
import type { RunOptions } from '#scripts/local-cloud/options.ts';
import { routeRequest } from '#scripts/local-cloud/rest/router.ts';
import { findProcesses } from '#scripts/local-cloud/sandbox/processes.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { condition, JOB, jobBody, PLACE, TASK_ACCOUNT } from '#test/local-cloud/run/run-fixture.ts';

type Resource = Record<string, unknown>;

class Fixture {
  readonly cloud: LocalCloud;
  readonly folder: string;
  readonly host: () => ProcessTaskHost;
  /** How far the cloud's clock is ahead of the real one. */
  aheadMs = 0;

  constructor(cloud: LocalCloud, folder: string, host: () => ProcessTaskHost) {
    this.cloud = cloud;
    this.folder = folder;
    this.host = host;
  }

  rest(verb: string, path: string, body?: unknown): Resource {
    const { method = '', params = {} } = routeRequest(verb, path) ?? {};
    const reply = this.cloud.call(method, params, body);
    if (reply.status !== 200) throw new Error(`${path}: ${JSON.stringify(reply.body)}`);
    return reply.body ?? {};
  }

  run(overrides: object = {}): string {
    const reply = this.rest('POST', `/v2/${PLACE}/jobs/${JOB}:run`, { overrides });
    return String((reply.metadata as Resource).name);
  }

  execution(name: string): Resource {
    return this.rest('GET', `/v2/${name}`);
  }

  result(name: string): Resource {
    const [task] = this.rest('GET', `/v2/${name}/tasks`).tasks as Resource[];
    return (task?.lastAttemptResult ?? {}) as Resource;
  }

  entries(): Resource[] {
    return this.cloud.world.logging.entries.map(({ entry }) => entry);
  }

  texts(): unknown[] {
    return this.entries().flatMap(({ textPayload }) => (textPayload ? [textPayload] : []));
  }

  /** Until it is so; the test's own time limit is the bound. */
  async until(claim: () => boolean): Promise<void> {
    while (!claim()) await pause(10);
  }

  async ended(name: string): Promise<Resource> {
    await this.until(() => this.execution(name).completionTime !== undefined);
    return this.execution(name);
  }
}

/** A cloud whose tasks run that program (a module of Node). */
async function open(program: string, run: Partial<RunOptions> = {}): Promise<Fixture> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-tasks-'));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  const tasks = mkdtempSync(join(folder, 'tasks-'));
  let host: ProcessTaskHost | null = null;
  let fixture: Fixture | null = null;
  const failed = (_: unknown, error: unknown) => {
    throw error;
  };
  const cloud = await startLocalCloud({
    nowMs: () => Date.now() + (fixture?.aheadMs ?? 0),
    world: { run: { startMs: 0, ...run } },
    taskHost: (listener) => {
      const command = [process.execPath, file] as const;
      const { env } = process;
      host = new ProcessTaskHost(
        { folder: tasks, command: [...command], workingDir: folder, env, engine: null, failed },
        listener,
      );
      return host;
    },
  });
  onTestFinished(async () => {
    const { mark } = host as unknown as ProcessTaskHost;
    await cloud[Symbol.asyncDispose]();
    expect(findProcesses({ marks: [mark], groups: [] })).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
  fixture = new Fixture(cloud, tasks, () => host as unknown as ProcessTaskHost);
  fixture.rest('POST', `/v2/${PLACE}/jobs?jobId=${JOB}`, jobBody());
  return fixture;
}

describe('a task', () => {
  test('C31, C57: sees the Job’s variables, the overrides, the platform’s, and its account’s token', async () => {
    const fixture = await open(`
      const { GCE_METADATA_HOST } = process.env;
      const headers = { 'metadata-flavor': 'Google' };
      const base = 'http://' + GCE_METADATA_HOST + '/computeMetadata/v1/instance/service-accounts/default/';
      const email = await (await fetch(base + 'email', { headers })).text();
      const token = await (await fetch(base + 'token', { headers })).json();
      console.log(JSON.stringify({ severity: 'NOTICE', message: 'seen', email, env: process.env,
        token: typeof token.access_token }));
      console.log('{ "no object');
      console.error('to the other stream');
    `);
    const env = [{ name: 'MAYFLY_NONCE', value: 'a b=c' }];
    const name = fixture.run({ containerOverrides: [{ env }], taskCount: 1 });
    const done = await fixture.ended(name);
    expect(condition(done)).toMatchObject({ state: 'CONDITION_SUCCEEDED' });
    const short = name.replace(/^.*\//, '');
    const labels = {
      'run.googleapis.com/execution_name': short,
      'run.googleapis.com/task_index': '0',
    };
    const [seen, text, other] = fixture.entries();
    expect(seen).toMatchObject({
      severity: 'NOTICE',
      logName: 'projects/local-project/logs/run.googleapis.com%2Fstdout',
      resource: {
        type: 'cloud_run_job',
        labels: { job_name: JOB, location: 'europe-west1', project_id: 'local-project' },
      },
      labels,
      jsonPayload: {
        ...{ message: 'seen', email: TASK_ACCOUNT, token: 'string' },
        env: {
          ...{ MAYFLY_CLASS: 'S', KEPT: '', MAYFLY_NONCE: 'a b=c' },
          ...{ CLOUD_RUN_JOB: JOB, CLOUD_RUN_EXECUTION: short, CLOUD_RUN_TASK_COUNT: '1' },
        },
      },
    });
    expect(seen?.jsonPayload).not.toHaveProperty('severity');
    const rest = [text, other].sort((left) => (left?.severity === 'ERROR' ? 1 : -1));
    expect(rest).toMatchObject([
      { textPayload: '{ "no object', labels },
      {
        textPayload: 'to the other stream',
        logName: 'projects/local-project/logs/run.googleapis.com%2Fstderr',
      },
    ]);
    expect(readdirSync(fixture.folder)).toEqual([]);
  });

  test('C61: gives its exit code to the execution, after its last line', async () => {
    const fixture = await open(`
      import { writeSync } from 'node:fs';
      for (let index = 1; index <= 2000; index += 1) writeSync(1, 'line ' + index + '\\n');
      writeSync(1, 'last words without an end');
      process.exit(16);
    `);
    const name = fixture.run();
    let told = 0;
    await fixture.until(() => {
      told = fixture.texts().length;
      return fixture.execution(name).completionTime !== undefined;
    });
    expect(fixture.result(name)).toMatchObject({ exitCode: 16 });
    expect([told, fixture.texts().at(-1)]).toEqual([2001, 'last words without an end']);
  });

  test('C53, C67: is told TERM at its time, and may flush', async () => {
    const fixture = await open(`
      process.on('SIGTERM', () => { console.log('flushed'); process.exit(16); });
      console.log('up');
      setInterval(() => {}, 1000);
    `);
    const name = fixture.run({ timeout: '600s' });
    await fixture.until(() => fixture.texts().length === 1);
    fixture.aheadMs = 600_000;
    await fixture.ended(name);
    expect(fixture.texts()).toEqual(['up', 'flushed']);
    expect(fixture.result(name)).toMatchObject({
      exitCode: 16,
      status: { message: 'The configured timeout was reached.' },
    });
  });

  test('C68, C104: of a cancelled execution that does not mind TERM is killed, with all that it started', async () => {
    const fixture = await open(
      `
      import { spawn } from 'node:child_process';
      process.on('SIGTERM', () => {});
      const args = ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"];
      const child = spawn(process.execPath, args, { detached: true, stdio: 'inherit' });
      child.once('spawn', () => console.log('up'));
      setInterval(() => {}, 1000);
    `,
      { termGraceMs: 50 },
    );
    const name = fixture.run({ taskCount: 2 });
    await fixture.until(() => fixture.texts().length === 2);
    const processes = () => findProcesses({ marks: [fixture.host().mark], groups: [] });
    // Two tasks with a process each, and the watch over the host, which does not carry the mark.
    expect(processes()).toHaveLength(4);
    fixture.rest('POST', `/v2/${name}:cancel`, {});
    await fixture.ended(name);
    expect(fixture.execution(name)).toMatchObject({ cancelledCount: 2 });
    expect(fixture.result(name)).toMatchObject({ termSignal: 9 });
    await fixture.until(() => processes().length === 0);
    await fixture.until(() => readdirSync(fixture.folder).length === 0);
  });

  test('takes what it started with it when it ends by itself', async () => {
    const fixture = await open(`
      import { spawn } from 'node:child_process';
      const args = ['-e', 'setInterval(() => {}, 1000)'];
      const child = spawn(process.execPath, args, { detached: true, stdio: 'inherit' });
      child.once('spawn', () => process.exit(0));
    `);
    const name = fixture.run();
    await fixture.ended(name);
    expect(findProcesses({ marks: [fixture.host().mark], groups: [] })).toEqual([]);
  });

  test('C66: whose memory runs out is gone at once', async () => {
    const fixture = await open(`console.log('up'); setInterval(() => {}, 1000);`);
    const name = fixture.run();
    await fixture.until(() => fixture.texts().length === 1);
    fixture.cloud.call('local.run.outOfMemory', {}, { execution: name, task: 0 });
    expect(fixture.result(name)).toMatchObject({
      status: { message: 'The configured memory limit was reached.' },
    });
    await fixture.until(
      () => findProcesses({ marks: [fixture.host().mark], groups: [] }).length === 0,
    );
  });
});

test('C59, C107: lines and the end of an execution come through a sink to a topic', async () => {
  const fixture = await open(`
    console.log(JSON.stringify({ message: 'm', mayfly_event: { payload: 'p', hmac: 'h' } }));
    console.log('no event');
  `);
  const topic = 'projects/local-project/topics/signals';
  fixture.rest('PUT', `/v1/${topic}`, {});
  const subscription = '/v1/projects/local-project/subscriptions/sub';
  fixture.rest('PUT', subscription, { topic });
  const events = 'resource.type="cloud_run_job" AND jsonPayload.mayfly_event:*';
  const ends = 'protoPayload.methodName="/Jobs.RunJob" AND resource.type="cloud_run_job"';
  fixture.rest('POST', '/v2/projects/local-project/sinks', {
    name: 'sink',
    destination: `pubsub.googleapis.com/${topic}`,
    filter: `(${events}) OR (${ends})`,
  });
  const name = fixture.run();
  await fixture.ended(name);
  const pulled = fixture.rest('POST', `${subscription}:pull`, { maxMessages: 10 });
  const entries = (pulled.receivedMessages as { message: { data: string } }[]).map(({ message }) =>
    JSON.parse(Buffer.from(message.data, 'base64').toString()),
  );
  const short = name.replace(/^.*\//, '');
  expect(entries).toMatchObject([
    {
      jsonPayload: { mayfly_event: { payload: 'p', hmac: 'h' } },
      labels: { 'run.googleapis.com/execution_name': short },
    },
    {
      severity: 'INFO',
      logName: 'projects/local-project/logs/cloudaudit.googleapis.com%2Fsystem_event',
      protoPayload: {
        serviceName: 'run.googleapis.com',
        methodName: '/Jobs.RunJob',
        resourceName: `namespaces/local-project/executions/${short}`,
        status: { message: `Execution ${short} has completed successfully.` },
        response: { kind: 'Execution', status: { succeededCount: 1 } },
      },
    },
  ]);
});
