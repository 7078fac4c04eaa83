// Log entries of Cloud Run Jobs as a sink exports them. The first has the shape of a container's JSON line
// on standard output; the second that of the platform's own note (system_event), as others published it.
import type { SignedEvent } from '#shared/lifecycle/task-event.ts';

export const JOB = 'mayfly-base-bayes-s';
export const EXECUTION = 'mayfly-base-bayes-s-x7k2p';
export const REGION = 'us-central1';

export interface JobEntryChange {
  readonly job?: string;
  readonly execution?: string;
}

const resource = (job: string) => ({
  type: 'cloud_run_job',
  labels: { job_name: job, location: REGION, project_id: 'local-project' },
});

export function eventEntry(signed: SignedEvent, change: JobEntryChange = {}): object {
  return {
    insertId: '6570f1b200081ab2f6e0a7d1',
    jsonPayload: { message: 'r1 attempt 1 task 0: running', mayfly_event: signed },
    resource: resource(change.job ?? JOB),
    timestamp: '2026-12-01T12:00:31.325309Z',
    severity: 'INFO',
    labels: {
      instanceId: '0069c7a9884f4c',
      'run.googleapis.com/execution_name': change.execution ?? EXECUTION,
      'run.googleapis.com/task_index': '0',
      'run.googleapis.com/task_attempt': '0',
    },
    logName: 'projects/local-project/logs/run.googleapis.com%2Fstdout',
    receiveTimestamp: '2026-12-01T12:00:31.330Z',
  };
}

export function completionEntry(
  change: JobEntryChange & { readonly methodName?: string } = {},
): object {
  const execution = change.execution ?? EXECUTION;
  return {
    protoPayload: {
      '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
      status: { message: `Execution ${execution} has completed successfully.` },
      serviceName: 'run.googleapis.com',
      methodName: change.methodName ?? '/Jobs.RunJob',
      resourceName: `namespaces/local-project/executions/${execution}`,
      response: { metadata: { name: execution }, apiVersion: 'run.googleapis.com/v1' },
    },
    insertId: 'f1b2c3',
    resource: resource(change.job ?? JOB),
    timestamp: '2026-12-01T12:05:31.325309Z',
    severity: 'INFO',
    logName: 'projects/local-project/logs/cloudaudit.googleapis.com%2Fsystem_event',
    receiveTimestamp: '2026-12-01T12:05:32.142112Z',
  };
}
