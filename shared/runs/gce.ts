// The runtime of virtual machines: Compute Engine's answers as facts.
import { deleteMachine, insertMachine } from '#shared/runs/act.ts';
import {
  readBootReportOf,
  readEnding,
  readMachineFact,
  readOperationFact,
} from '#shared/runs/observe.ts';
import type { Runtime } from '#shared/runs/runtime.ts';

export const gce: Runtime = {
  insert: insertMachine,
  async remove(deps, { record, attempt }, zone) {
    const reply = await deleteMachine(deps, record.runId, attempt.instance, zone);
    return reply.kind === 'gone';
  },
  read: (deps, { attempt }, zone) => readMachineFact(deps, attempt, zone),
  readOperation: (deps, _work, { zone, operation }) => readOperationFact(deps, zone, operation),
  readEnding: (deps, _work, zone, id) => readEnding(deps, zone, id),
  readBootReport: (deps, { attempt }, zone) => readBootReportOf(deps, attempt.instance, zone),
  takeTurn: async ({ clock }) => ({ kind: 'granted', atMs: clock.nowMs() }),
  forget: async () => {},
};
