// What the adapter sees of Cloud Run Jobs, whoever stands behind it: an execution from its start to its
// tasks' ends, a cancel, lists, refusals.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunJobs } from '#shared/cloud/run-jobs.ts';

export interface OpenedRunJobs extends AsyncDisposable {
  readonly jobs: RunJobs;
  /** Where `JOB` is. */
  readonly region: string;
  /** Lets the platform do what it has begun. */
  settle(): Promise<void>;
  /** A task's process ends. */
  endTask(execution: string, end: { task: number; exitCode: number }): Promise<void>;
}

export const JOB = 'contract-base-ml-s';

/** Declares the suite for one implementation. */
export function describeRunJobs(name: string, open: () => Promise<OpenedRunJobs>): void {
  describe(name, () => {
    let opened: OpenedRunJobs;
    let jobs: RunJobs;
    beforeAll(async () => {
      opened = await open();
      jobs = opened.jobs;
    });
    afterAll(() => opened[Symbol.asyncDispose]());

    const start = async (nonce: string, taskCount = 1) => {
      const env = { MAYFLY_NONCE: nonce, MAYFLY_RUN_ID: 'run-1' };
      const reply = await jobs.runJob(opened.region, JOB, { env, taskCount, timeoutSeconds: 720 });
      if (reply.kind !== 'accepted') throw new Error(JSON.stringify(reply));
      return { region: opened.region, job: JOB, execution: reply.execution };
    };
    const read = async (execution: Awaited<ReturnType<typeof start>>) => {
      const reply = await jobs.getExecution(execution);
      if (reply.kind !== 'there') throw new Error(reply.kind);
      return reply.execution;
    };

    test('C55, C60, C61: an execution from its start to its tasks’ ends', async () => {
      const name = await start('life', 2);
      expect(name.execution.startsWith(`${JOB}-`)).toBe(true);
      expect(await read(name)).toMatchObject({
        name: name.execution,
        job: JOB,
        region: opened.region,
        taskCount: 2,
        completedMs: null,
        env: { MAYFLY_NONCE: 'life', MAYFLY_RUN_ID: 'run-1', OWN: 'kept' },
      });
      await opened.settle();
      expect(await read(name)).toMatchObject({ runningCount: 2, completedMs: null });
      await opened.endTask(name.execution, { task: 0, exitCode: 0 });
      await opened.endTask(name.execution, { task: 1, exitCode: 16 });
      const ended = await read(name);
      expect(ended).toMatchObject({ runningCount: 0, succeededCount: 1, failedCount: 1 });
      expect(ended.completedMs).toBeGreaterThan(0);
      expect(ended.conditions.find(({ type }) => type === 'Completed')?.state).toBe(
        'CONDITION_FAILED',
      );
      expect((await jobs.listTasks(name)).map(({ index, exitCode }) => [index, exitCode])).toEqual([
        [0, 0],
        [1, 16],
      ]);
    });

    test('C104: a cancel ends it; one that has ended cannot be cancelled', async () => {
      const name = await start('cancel', 3);
      await opened.settle();
      expect(await jobs.cancelExecution(name)).toEqual({ kind: 'accepted' });
      await opened.settle();
      expect(await read(name)).toMatchObject({ runningCount: 0, cancelledCount: 3 });
      expect(await jobs.cancelExecution(name)).toEqual({ kind: 'gone' });
    });

    test('C72: executions of a Job are listed with their variables', async () => {
      const name = await start('listed');
      const { items } = await jobs.listExecutions(opened.region, JOB, null);
      expect(items.find(({ env }) => env.MAYFLY_NONCE === 'listed')?.name).toBe(name.execution);
    });

    test('C69: what is not there is gone, or refused, or an empty list', async () => {
      const none = { region: opened.region, job: JOB, execution: `${JOB}-none` };
      expect(await jobs.getExecution(none)).toEqual({ kind: 'gone' });
      expect(await jobs.cancelExecution(none)).toEqual({ kind: 'gone' });
      const overrides = { env: {}, taskCount: 1, timeoutSeconds: 60 };
      expect(await jobs.runJob(opened.region, 'contract-none', overrides)).toMatchObject({
        kind: 'refused',
        error: { status: 404, code: 'NOT_FOUND' },
      });
      const list = await jobs.listExecutions(opened.region, 'contract-none', null);
      expect(list).toEqual({ items: [], nextPageToken: null });
    });

    test('C28: the Jobs of a region', async () => {
      expect(await jobs.listJobs(opened.region)).toEqual([{ name: JOB, region: opened.region }]);
    });

    test('C14: a task limit above the platform’s is refused', async () => {
      const overrides = { env: {}, taskCount: 1, timeoutSeconds: 604_801 };
      expect(await jobs.runJob(opened.region, JOB, overrides)).toMatchObject({
        kind: 'refused',
        error: { status: 400, code: 'INVALID_ARGUMENT' },
      });
    });
  });
}
