// What a task prints becomes entries of Cloud Logging: a line that is a JSON object as its payload, its
// field `severity` taken out; any other line as text.
// Source: "Logging in Cloud Run", the resource type cloud_run_job, and entries that others have published.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import { type Context, ok, type Reply } from '#scripts/local-cloud/call.ts';
import { asNumber, asString, type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import { receiveEntry } from '#scripts/local-cloud/logging/sinks.ts';
import { findExecution } from '#scripts/local-cloud/run/mishaps.ts';

const ENTRY_TEXT_MAX = 200_000;

function readObject(line: string): JsonObject | null {
  try {
    const value: unknown = line.startsWith('{') ? JSON.parse(line) : null;
    return typeof value === 'object' ? (value as JsonObject | null) : null;
  } catch {
    return null;
  }
}

function payloadOf(line: string, stream: string): JsonObject {
  const object = readObject(line);
  if (object === null) {
    const severity = stream === 'stderr' ? { severity: 'ERROR' } : { severity: 'DEFAULT' };
    return { textPayload: line.slice(0, ENTRY_TEXT_MAX), ...severity };
  }
  const { severity, ...jsonPayload } = object;
  return { jsonPayload, severity: asString(severity) ?? 'DEFAULT' };
}

/** `{ execution, task, attempt?, stream: 'stdout' | 'stderr', line }`. */
export function writeTaskLine(context: Context, body: JsonObject): Reply {
  const { logging } = context.world;
  const execution = findExecution(context, asString(body.execution) ?? '');
  if (execution === undefined) {
    return refuse(404, 'notFound', `No execution ${body.execution}.`);
  }
  const { project, region, shortName: job } = execution.job;
  const stream = body.stream === 'stderr' ? 'stderr' : 'stdout';
  logging.entriesMade += 1;
  const insertId = `task-line-${logging.entriesMade}`;
  const time = timestamp(context.nowMs);
  const entry: JsonObject = {
    ...payloadOf(asString(body.line) ?? '', stream),
    insertId,
    resource: {
      type: 'cloud_run_job',
      labels: { job_name: job, location: region, project_id: project },
    },
    timestamp: time,
    labels: {
      'run.googleapis.com/execution_name': execution.shortName,
      'run.googleapis.com/task_index': String(asNumber(body.task) ?? 0),
      'run.googleapis.com/task_attempt': String(asNumber(body.attempt) ?? 0),
    },
    logName: `projects/${project}/logs/run.googleapis.com%2F${stream}`,
    receiveTimestamp: time,
  };
  const bytes = Buffer.byteLength(JSON.stringify(entry));
  receiveEntry(context, { entry, identity: `projects/${project} ${time} ${insertId}`, bytes });
  return ok({});
}
