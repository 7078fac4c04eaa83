// `mayfly cancel RUN`: publishes the cancellation; the deployment does the rest.
import type { Verb } from '#scripts/mayfly/call.ts';
import { openCloud } from '#scripts/mayfly/cloud.ts';
import { EXIT_DONE } from '#scripts/mayfly/exit-codes.ts';
import { requireRunId } from '#scripts/mayfly/run-id.ts';
import { requireTarget } from '#scripts/mayfly/target.ts';
import { recordObject, resultObject } from '#shared/plan/objects.ts';

export const cancelVerb: Verb = {
  name: 'cancel',
  operands: 'RUN',
  operandsMin: 1,
  operandsMax: 1,
  takesRest: false,
  summary: 'cancels a run, whatever it is doing',
  details: [
    'Returns when the cancellation is published; watch RUN shows the end. A run that has ended',
    'keeps its result.',
  ],
  flags: { reason: { value: 'TEXT', help: 'kept in the result' } },
  async run(call, terminal) {
    const runId = requireRunId(call.operands[0]);
    const cloud = openCloud(await requireTarget(call, terminal), terminal);
    const [record, result] = await Promise.all([
      cloud.store.read(recordObject(runId)),
      cloud.store.read(resultObject(runId)),
    ]);
    const known = record.kind === 'found' || result.kind === 'found';
    const reason = call.text('reason');
    const message = { cancel: runId, ...(reason === null ? {} : { reason }) };
    const messageId = await cloud.publishRequest(JSON.stringify(message));
    if (call.has('json')) terminal.write(`${JSON.stringify({ runId, messageId, known })}\n`);
    terminal.note(`cancellation of ${runId} published (message ${messageId})`);
    if (result.kind === 'found') terminal.note('  it has ended already and keeps its result');
    if (!known) {
      terminal.note(
        `  nothing is known of ${runId} yet: the order is kept, and ends it when it comes`,
      );
    }
    terminal.note(`  see its end: mayfly watch ${runId}`);
    return EXIT_DONE;
  },
};
