// Machines of an ended run whose delete was refused: they are there, nobody has begun to delete them, and
// they are not kept on purpose. Asked of the platform with the user's own rights; what cannot be read
// gives no lines.
import type { Cloud } from '#scripts/mayfly/cloud.ts';
import { loadRecord } from '#scripts/mayfly/follow.ts';
import { CloudError } from '#shared/cloud/errors.ts';
import { isKept } from '#shared/lifecycle/kept.ts';
import { type Attempt, workingIntent } from '#shared/lifecycle/record.ts';
import { describeUndeleted } from '#shared/lifecycle/undeleted.ts';
import { activeObject } from '#shared/plan/objects.ts';

/**
 * Lines about each of them; none while all went well, and none about a run whose active entry is gone.
 * Never fails: it stands beside a result, and must not take its place.
 */
export async function undeletedLines(cloud: Cloud, runId: string): Promise<readonly string[]> {
  if (cloud.compute === null) return [];
  try {
    const [record, entry] = await Promise.all([
      loadRecord(cloud.store, runId),
      cloud.store.read(activeObject(runId)),
    ]);
    if (record === null || record.end === null || entry.kind === 'absent') return [];
    const lines = await Promise.all(record.attempts.map((attempt) => linesOf(cloud, attempt)));
    return lines.flat();
  } catch (error) {
    if (error instanceof CloudError) return [];
    throw error;
  }
}

async function linesOf(cloud: Cloud, attempt: Attempt): Promise<readonly string[]> {
  const zone = workingIntent(attempt)?.candidate.zone;
  if (cloud.compute === null || zone === undefined || attempt.end === null) return [];
  const reply = await cloud.compute.getInstance(zone, attempt.instance);
  if (reply.kind !== 'there' || reply.machine.status === 'STOPPING') return [];
  const { machine } = reply;
  if (isKept(attempt, machine, cloud.clock.nowMs())) return [];
  const listed = await cloud.compute.listOperations(zone, machine.id);
  if (listed.kind === 'unknown') return [];
  const deletes = listed.operations.filter(({ operationType }) => operationType === 'delete');
  if (deletes.some(({ status }) => status !== 'DONE')) return [];
  const still = `it is ${machine.status}, and no delete is under way`;
  const why = deletes[0]?.errors[0]?.code ?? still;
  const { project } = cloud.target;
  return describeUndeleted({ instance: machine.name, zone, project, why });
}
