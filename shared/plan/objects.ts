// Names of the objects in a deployment's bucket (design: data in the bucket). Run ids are legal
// object name parts by their own rule, so nothing is escaped here.

/** Everything here but users' data and outputs. */
export const OWN_PREFIX = 'runs/';
/** Packages, which runs may read. */
export const CODE_PREFIX = 'runs/code/';
export const MARKER_PREFIX = 'runs/gce-status/';
export const ACTIVE_PREFIX = 'runs/active/';
export const RESULT_PREFIX = 'runs/results/';
export const REJECTED_PREFIX = 'runs/rejected/';
export const ENDED_PREFIX = 'runs/ended/';
export const DEPLOYMENT_OBJECT = 'runs/deployment';

export const requestObject = (runId: string) => `runs/state/${runId}/request.json`;
export const inputsObject = (runId: string) => `runs/state/${runId}/inputs.json`;
export const recordObject = (runId: string) => `runs/state/${runId}/record.json`;
export const activeObject = (runId: string) => `${ACTIVE_PREFIX}${runId}`;
export const claimObject = (runId: string, attempt: number) =>
  `runs/work/${runId}/${attempt}/claim.json`;
export const logObject = (runId: string, attempt: number) =>
  `runs/work/${runId}/${attempt}/log.txt`;
export const markerObject = (instanceName: string) => `${MARKER_PREFIX}${instanceName}.json`;
/** The marker of one of several tasks. */
export const taskMarkerObject = (instanceName: string, task: number) =>
  markerObject(`${instanceName}.${task}`);
/** What the tasks of one execution may know; its name is known to nobody else. */
export const bootstrapObject = (nonce: string) => `runs/bootstrap/${nonce}`;
export const progressPrefix = (runId: string, attempt: number) =>
  `runs/work/${runId}/${attempt}/progress/`;
export const progressObject = (runId: string, attempt: number, task: number) =>
  `${progressPrefix(runId, attempt)}${task}.json`;
export const resultObject = (runId: string) => `${RESULT_PREFIX}${runId}.json`;
export const rejectedObject = (runId: string | null, messageId: string) =>
  `${REJECTED_PREFIX}${runId ?? '_'}/${messageId}.json`;
/** Where a machine type is on offer, as the platform said within the last day. */
export const offersObject = (machineType: string) => `runs/offers/${machineType}.json`;
export const deadObject = (messageId: string) => `runs/dead/${messageId}.json`;
/** `endedAt` is RFC 3339 in UTC, so that names sort by time. */
export const endedObject = (endedAt: string, runId: string) =>
  `${ENDED_PREFIX}${endedAt.slice(0, 10)}/${endedAt}-${runId}`;

export interface EndedName {
  readonly runId: string;
  readonly endedAt: string;
}

const DAY_PATH_CHARACTERS = '2026-12-01/'.length;
const TIME_CHARACTERS = '2026-12-01T12:00:00.000Z'.length;

/** What the name of such an object says. */
export function readEndedObject(name: string): EndedName {
  const rest = name.slice(ENDED_PREFIX.length + DAY_PATH_CHARACTERS);
  return { endedAt: rest.slice(0, TIME_CHARACTERS), runId: rest.slice(TIME_CHARACTERS + 1) };
}
