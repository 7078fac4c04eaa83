// A Job whose image is a real one, in a real container engine: its variables, its end, and its limits.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ProcessTaskHost } from '#scripts/local-cloud/host/process-task-host.ts';
import { asArray, asObject, type JsonObject } from '#scripts/local-cloud/json.ts';
import { type LocalCloud, startLocalCloud } from '#scripts/local-cloud/server/server.ts';
import { Engine, engineMissing, skipNote } from '#test/guest/engine/engine.ts';
import { PROJECT } from '#test/local-cloud/fixtures.ts';
import { JOB, jobBody, REGION } from '#test/local-cloud/run/run-fixture.ts';

const LIMIT_MS = 120_000;
const POLL = { timeout: 60_000, interval: 20 };
const API = 'run.projects.locations.jobs';
const PLACE = { project: PROJECT, location: REGION, job: JOB };

describe.skipIf(engineMissing() !== null)(`a task in a container engine${skipNote()}`, () => {
  let engine: Engine;
  let cloud: LocalCloud;
  let folder: string;

  beforeAll(async () => {
    engine = await Engine.start();
    folder = mkdtempSync(join(tmpdir(), 'mayfly-containers-'));
    const reached = { client: engine.client, host: `unix://${engine.folder}/docker.sock` };
    cloud = await startLocalCloud({
      world: { run: { startMs: 0 } },
      taskHost: (listener) =>
        new ProcessTaskHost(
          {
            ...{ folder, workingDir: folder, engine: reached, env: process.env },
            command: ['false'],
            failed: (_, error) => {
              throw error;
            },
          },
          listener,
        ),
    });
  }, LIMIT_MS);
  afterEach(async () => {
    cloud.call(`${API}.delete`, PLACE);
    await vi.waitFor(
      async () => expect(await engine.docker('ps', '--all', '--quiet')).toBe(''),
      POLL,
    );
  });
  afterAll(async () => {
    await cloud[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }, LIMIT_MS);

  /** Runs a script of the image's shell as the one task, with those limits. */
  function run(script: string, limits: Record<string, string> = { cpu: '1', memory: '64Mi' }) {
    const image = engine.image;
    const env = [{ name: 'FROM_JOB', value: "it's\n= two lines" }];
    const container = { image, env, command: ['sh', '-c'], args: [script], resources: { limits } };
    const params = { ...PLACE, jobId: JOB };
    cloud.call(`${API}.create`, params, jobBody({ containers: [container] }));
    const reply = cloud.call(`${API}.run`, PLACE, {});
    return String(asObject(reply.body?.metadata).name);
  }

  function taskOf(name: string): JsonObject {
    const execution = name.replace(/^.*\//, '');
    const reply = cloud.call(`${API}.executions.tasks.list`, { ...PLACE, execution });
    return asObject(asArray(reply.body?.tasks)[0]);
  }

  const texts = (name: string) =>
    cloud.world.logging.entries.flatMap(({ entry }) =>
      asObject(entry.labels)['run.googleapis.com/execution_name'] === name.replace(/^.*\//, '') &&
      entry.textPayload !== undefined
        ? [entry.textPayload]
        : [],
    );
  const ended = (name: string) =>
    vi.waitFor(() => expect(taskOf(name)).toHaveProperty('completionTime'), POLL);

  test(
    'C166: has its variables byte for byte, and its exit code is the container’s',
    async () => {
      const name = run(
        'echo "$FROM_JOB"; echo "$CLOUD_RUN_TASK_INDEX/$CLOUD_RUN_TASK_COUNT"; exit 37',
      );
      await ended(name);
      expect(texts(name)).toEqual(["it's", '= two lines', '0/1']);
      expect(taskOf(name).lastAttemptResult).toMatchObject({ exitCode: 37 });
    },
    LIMIT_MS,
  );

  test(
    'C166, C104: is told TERM when its execution is cancelled',
    async () => {
      const name = run('trap "echo told; exit 16" TERM; echo up; while :; do sleep 0.05; done');
      await vi.waitFor(() => expect(texts(name)).toEqual(['up']), POLL);
      const execution = name.replace(/^.*\//, '');
      cloud.call(`${API}.executions.cancel`, { ...PLACE, execution }, {});
      await ended(name);
      expect(texts(name)).toEqual(['up', 'told']);
      expect(taskOf(name).lastAttemptResult).toMatchObject({ exitCode: 16 });
    },
    LIMIT_MS,
  );

  test(
    'C66, C166: that takes more memory than its Job has is ended for that',
    async () => {
      // The shell itself grows: what ends then is the container's first process.
      const name = run('text=xxxxxxxx; while :; do text=$text$text; done', { memory: '16Mi' });
      await ended(name);
      expect(taskOf(name).lastAttemptResult).toMatchObject({
        status: { message: 'The configured memory limit was reached.' },
      });
    },
    LIMIT_MS,
  );
});
