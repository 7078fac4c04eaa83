// A whole local deployment runs one request as an execution: the functions as processes, the supervisor
// in each task, everything between them by signed addresses and log lines.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LOCAL_BUCKET } from '#scripts/local-cloud/deployment/environment.ts';
import {
  type Installation,
  openInstallation,
} from '#scripts/local-cloud/deployment/installation.ts';
import { publish } from '#scripts/local-cloud/deployment/layout.ts';

const LIMIT_MS = 240_000;
let installation: Installation;

beforeAll(async () => {
  const { env: environment } = process;
  installation = await openInstallation({ port: 0, environment, objects: [], onLog: () => {} });
}, LIMIT_MS);
afterAll(() => installation[Symbol.asyncDispose](), LIMIT_MS);

const objects = () => installation.cloud.world.storage.buckets.get(LOCAL_BUCKET)?.objects;
const text = (name: string) => Buffer.from(objects()?.get(name)?.bytes ?? []).toString();

test(
  'C57, C58, C59, C97, C102: three tasks of one execution bring the run to its end',
  async () => {
    const program = `
      const { MAYFLY_SANDBOX_ROOT: root = '', MAYFLY_TASK_INDEX: task } = process.env;
      require('node:fs').writeFileSync(root + '/out/part.txt', 'part ' + task);
      console.log('task ' + task);
    `;
    await publish(
      installation.deployment,
      JSON.stringify({
        runId: 'fan',
        runtime: 'cloudrun-jobs',
        resources: { class: 'S', base: 'base-ml' },
        tasks: 3,
        command: ['node', '-e', program],
        outputs: { '/out': `gs://${LOCAL_BUCKET}/outputs/fan/` },
      }),
    );
    await vi.waitFor(() => expect(text('runs/results/fan.json')).not.toBe(''), {
      timeout: 120_000,
      interval: 50,
    });
    expect(JSON.parse(text('runs/results/fan.json'))).toMatchObject({
      ...{ status: 'SUCCEEDED', cause: 'exit', runtime: 'cloudrun-jobs' },
      tasks: { count: 3, succeeded: 3, failed: [] },
      attempts: [{ attempt: 1 }],
    });
    for (const task of [0, 1, 2]) {
      expect(text(`outputs/fan/tasks/${task}/part.txt`)).toBe(`part ${task}`);
    }
    expect(installation.cloud.world.run.executions.size).toBe(1);
    const left = () => [...(objects()?.keys() ?? [])].filter((name) => /bootstrap/.test(name));
    await vi.waitFor(() => expect(left()).toEqual([]), { timeout: 60_000, interval: 50 });
  },
  LIMIT_MS,
);
