// What must be true when the faults have stopped and time enough has passed: every accepted run has its
// result, nothing of ours is left, everybody was told.
import { isFinal } from '#shared/lifecycle/transitions.ts';
import { ACTIVE_PREFIX, REJECTED_PREFIX } from '#shared/plan/objects.ts';
import type { Stage } from '#test/simulation/swarm/mishaps.ts';
import { strangersLeft } from '#test/simulation/swarm/strangers.ts';

/** What is still open; empty when all is done. */
export function openEnds(stage: Stage): string[] {
  const { kernel, laws, scenario } = stage;
  const { truth, history } = laws;
  const open: string[] = [];
  for (const { runId } of scenario.runs) {
    if (truth.result(runId) !== null) continue;
    const rejected = truth.names(`${REJECTED_PREFIX}${runId}/`).length > 0;
    const conflict = rejected && !truth.isAccepted(runId);
    if (!conflict)
      open.push(`${runId} has no result (${truth.record(runId)?.state ?? 'no record'})`);
  }
  for (const machine of truth.machines()) open.push(`machine ${machine.name} is ${machine.status}`);
  for (const disk of truth.disks()) open.push(`disk ${disk}`);
  for (const runId of truth.active()) open.push(`${ACTIVE_PREFIX}${runId}`);
  const told = new Set(kernel.events().map((event) => event['ce-subject']));
  for (const runId of history.results.keys()) {
    if (!told.has(runId)) open.push(`nobody was told of ${runId}`);
  }
  return open;
}

/** What is wrong for ever, judged when nothing is open any more. */
export function judgeEnds({ kernel, laws }: Stage): void {
  const { truth, history } = laws;
  if (strangersLeft(kernel) < 3)
    laws.break('2 no early death', 'a machine of somebody else is gone');
  for (const [runId] of history.results) {
    const result = truth.result(runId);
    const record = truth.record(runId);
    if (result === null || record === null || !isFinal(record.state)) {
      laws.break('4 one end', `${runId}: a result without an ended record`);
      continue;
    }
    const works = kernel.works.filter((work) => work.runId === runId);
    const good = works.some((work) => work.exitCode === 0);
    if (result.status === 'SUCCEEDED' && !good) {
      laws.break('5 nothing lost', `${runId}: SUCCEEDED, and no container ended well`);
    }
    const tasks = record.terms.tasks ?? 1;
    const spoken = record.attempts.some(
      ({ instance }) =>
        truth.word(instance, tasks)?.status === 'SUCCEEDED' && history.succeeded.size > 0,
    );
    if (spoken && result.status !== 'SUCCEEDED') {
      laws.break('4 one end', `${runId}: ${result.status}, though its machine said SUCCEEDED`);
    }
  }
}
