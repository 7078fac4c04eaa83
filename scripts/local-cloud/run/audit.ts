// The entry of the system event log that Cloud Run writes when an execution is complete: method name,
// resource and status as others have published them; its response is the execution in the v1 shape.
// What an entry says beyond that is not documented, and left out.
import type { Context } from '#scripts/local-cloud/call.ts';
import { type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import { receiveEntry } from '#scripts/local-cloud/logging/sinks.ts';
import { countsOf } from '#scripts/local-cloud/run/conditions.ts';
import { knativeExecution } from '#scripts/local-cloud/run/knative.ts';
import type { ExecutionState } from '#scripts/local-cloud/run/state.ts';

/** ABORTED of google.rpc.Code. */
const ABORTED = 10;

function statusOf(execution: ExecutionState): JsonObject {
  const { shortName, taskCount } = execution;
  const { succeeded } = countsOf(execution);
  return succeeded === taskCount
    ? { message: `Execution ${shortName} has completed successfully.` }
    : {
        code: ABORTED,
        message: `Execution ${shortName} has failed to complete, ${succeeded}/${taskCount} tasks were a success.`,
      };
}

export function logExecutionEnd(context: Context, execution: ExecutionState): void {
  const { logging } = context.world;
  const { project, region, shortName: job } = execution.job;
  logging.entriesMade += 1;
  const insertId = `-audit${logging.entriesMade}`;
  const time = timestamp(context.nowMs);
  const status = statusOf(execution);
  const entry: JsonObject = {
    protoPayload: {
      '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
      status,
      serviceName: 'run.googleapis.com',
      methodName: '/Jobs.RunJob',
      resourceName: `namespaces/${project}/executions/${execution.shortName}`,
      response: {
        ...knativeExecution(execution),
        '@type': 'type.googleapis.com/google.cloud.run.v1.Execution',
      },
    },
    insertId,
    resource: {
      type: 'cloud_run_job',
      labels: { job_name: job, location: region, project_id: project },
    },
    timestamp: time,
    severity: status.code === undefined ? 'INFO' : 'ERROR',
    labels: { 'run.googleapis.com/execution_name': execution.shortName },
    logName: `projects/${project}/logs/cloudaudit.googleapis.com%2Fsystem_event`,
    receiveTimestamp: time,
  };
  const bytes = Buffer.byteLength(JSON.stringify(entry));
  receiveEntry(context, { entry, identity: `projects/${project} ${time} ${insertId}`, bytes });
}
