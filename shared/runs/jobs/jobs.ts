// The runtime of Cloud Run Jobs: what the driver asks of a machine, answered by an execution.

import { bootstrapObject } from '#shared/plan/objects.ts';
import { readExecutionEnding, readStart } from '#shared/runs/jobs/ending.ts';
import { knownExecutions, lookUpNames, readExecutionFact } from '#shared/runs/jobs/executions.ts';
import { startExecution } from '#shared/runs/jobs/start.ts';
import type { Runtime } from '#shared/runs/runtime.ts';

export const jobs: Runtime = {
  insert: startExecution,
  /** What is not known by name is looked up: a cancel must not wait for the record to learn it. */
  async remove(deps, { record, attempt }, region) {
    const known = knownExecutions(attempt, region);
    const names = known.length > 0 ? known : await lookUpNames(deps, attempt, region);
    const replies = await Promise.all(names.map((name) => deps.jobs.cancelExecution(name)));
    for (const [index, reply] of replies.entries()) {
      const { execution } = names[index] ?? { execution: '' };
      const failed = reply.kind === 'unknown';
      const why = failed ? `: ${reply.error.code} ${reply.error.message}` : '';
      const text = `${execution} in ${region}: ${reply.kind}${why}`;
      deps.log(failed ? 'WARNING' : 'INFO', 'cancel-sent', text, { runId: record.runId, region });
    }
    return replies.every(({ kind }) => kind === 'gone');
  },
  read: readExecutionFact,
  readOperation: readStart,
  readEnding: readExecutionEnding,
  readBootReport: async () => null,
  takeTurn: async ({ turns, store, clock }, region, untilMs) =>
    await turns.take(store, region, clock.nowMs(), untilMs),
  /** Of a single task it is gone already. */
  async forget({ store }, record) {
    await Promise.all(record.attempts.map(({ nonce }) => store.delete(bootstrapObject(nonce))));
  },
};
