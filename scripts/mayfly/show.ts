// `mayfly show RUN`: what the bucket holds of a run now: its result, else its record, else a rejection.
import type { Verb } from '#scripts/mayfly/call.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import { emptyOutputLines } from '#scripts/mayfly/empty-outputs.ts';
import { EXIT_DONE } from '#scripts/mayfly/exit-codes.ts';
import { findRejection, loadRecord, loadResult, unknownRun } from '#scripts/mayfly/follow.ts';
import { pictureOfRecord, pictureOfResult } from '#scripts/mayfly/picture.ts';
import { lineOf, stepLine, stepsOf } from '#scripts/mayfly/progress.ts';
import { requireRunId } from '#scripts/mayfly/run-id.ts';
import { describeResult } from '#scripts/mayfly/summary.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import { TaskProgressWatch } from '#scripts/mayfly/task-progress.ts';
import { undeletedLines } from '#scripts/mayfly/undeleted.ts';
import type { RunRecord } from '#shared/lifecycle/record.ts';
import { resultObject } from '#shared/plan/objects.ts';

export const showVerb: Verb = {
  name: 'show',
  operands: 'RUN',
  operandsMin: 1,
  operandsMax: 1,
  takesRest: false,
  summary: 'shows where a run stands, or how it ended, with a picture of its phases',
  details: ['With --json: { runId, record, result, rejection }, null where there is none.'],
  flags: {},
  async run(call, terminal) {
    const runId = requireRunId(call.operands[0]);
    const cloud = openCloud(await requireTarget(call, terminal), terminal);
    const [record, result, rejection] = await Promise.all([
      loadRecord(cloud.store, runId),
      loadResult(cloud.store, resultObject(runId)),
      findRejection(cloud.store, runId),
    ]);
    if (record === null && result === null && rejection === null) {
      throw unknownRun(runId, cloud.target.bucket);
    }
    if (call.has('json')) {
      terminal.write(
        `${JSON.stringify({ runId, record: hideNonces(record), result, rejection })}\n`,
      );
      return EXIT_DONE;
    }
    const end = result ?? (record === null ? rejection : null);
    const left = await undeletedLines(cloud, runId);
    const empty = result === null ? [] : await emptyOutputLines(cloud.store, result);
    const tasks = new TaskProgressWatch(cloud.store);
    const told = record === null ? [] : await tasks.look(record);
    const nowMs = cloud.clock.nowMs();
    const stalled = record === null ? null : tasks.stalled(record, nowMs);
    const lines = [
      ...(record === null ? [] : stepsOf(record).map((step) => stepLine(record, step))),
      ...told,
      ...(end === null ? [] : describeResult(end)),
      ...empty,
      ...(end === null ? [] : pictureOfResult(end)),
      ...(end === null && record !== null
        ? [lineOf(record, nowMs), ...pictureOfRecord(record, nowMs)]
        : []),
      ...(stalled === null ? [] : [`  ${stalled}`]),
      ...left.map((line) => `  ${line}`),
    ];
    terminal.write(`${lines.join('\n')}\n`);
    return EXIT_DONE;
  },
};

/** A nonce proves a machine's word, a key that of its events: they are not for screens and logs. */
function hideNonces(record: RunRecord | null) {
  if (record === null) return null;
  return {
    ...record,
    attempts: record.attempts.map(({ nonce: _, eventKey: __, ...shown }) => shown),
  };
}
