// Audit log entries of Compute, in the shape in which the real ones are exported: what an account did to
// a machine or a disk is two entries of the activity log, at the operation's begin and at its end; what
// the system did is one entry of the system event log. Only the caller's address and the bodies of
// request and response are left out.
// Source: Cloud Audit Logs' LogEntry and AuditLog reference, and entries that others have published.
import type { Context } from '#scripts/local-cloud/call.ts';
import type { OperationState } from '#scripts/local-cloud/compute/state.ts';
import { type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import { receiveEntry } from '#scripts/local-cloud/logging/sinks.ts';

/** What the system says of its own operations, where it says anything. */
const STATUS_MESSAGES: Readonly<Record<string, string>> = {
  'compute.instances.preempted': 'Instance was preempted.',
  'compute.instances.hostError': 'Instance terminated by Compute Engine.',
  'compute.instances.guestTerminate': 'Instance terminated by guest OS shutdown.',
};
const RESOURCES: Readonly<Record<string, { readonly type: string; readonly id: string }>> = {
  instances: { type: 'gce_instance', id: 'instance_id' },
  disks: { type: 'gce_disk', id: 'disk_id' },
};

export function logSystemEvent(context: Context, operation: OperationState): void {
  const { operationType } = operation;
  const message = STATUS_MESSAGES[operationType];
  write(context, operation, {
    log: 'system_event',
    severity: 'INFO',
    methodName: operationType,
    payload: { status: message === undefined ? {} : { message } },
    place: { producer: operationType, first: true, last: true },
  });
}

export function logActivity(
  context: Context,
  operation: OperationState,
  end: 'first' | 'last',
): void {
  const { operationType, target, error } = operation;
  const [, , collection = ''] = target.split('/');
  const failed = error?.errors[0];
  write(context, operation, {
    log: 'activity',
    severity: failed === undefined ? 'NOTICE' : 'ERROR',
    methodName: `v1.compute.${collection}.${operationType}`,
    // INTERNAL of google.rpc.Code, where the operation's own code has no other.
    payload: failed === undefined ? {} : { status: { code: 13, message: String(failed.code) } },
    place: { producer: 'compute.googleapis.com', [end]: true },
  });
}

interface Event {
  readonly log: 'activity' | 'system_event';
  readonly severity: string;
  readonly methodName: string;
  readonly payload: JsonObject;
  readonly place: JsonObject;
}

function write(context: Context, operation: OperationState, event: Event): void {
  const { project, zone, target, name, user, targetId } = operation;
  const [, , collection = ''] = target.split('/');
  const { type, id } = RESOURCES[collection] ?? { type: 'gce_project', id: 'project_id' };
  const { logging } = context.world;
  logging.entriesMade += 1;
  const insertId = `-audit${logging.entriesMade}`;
  const logName = `projects/${project}/logs/cloudaudit.googleapis.com%2F${event.log}`;
  const time = timestamp(context.nowMs);
  const requestType = event.methodName.replace(/^v1\./, '');
  const entry: JsonObject = {
    protoPayload: {
      '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
      ...event.payload,
      authenticationInfo: { principalEmail: user },
      serviceName: 'compute.googleapis.com',
      methodName: event.methodName,
      resourceName: `projects/${project}/${target}`,
      request: { '@type': `type.googleapis.com/${requestType}` },
    },
    insertId,
    resource: { type, labels: { [id]: targetId, project_id: project, zone } },
    timestamp: time,
    severity: event.severity,
    logName,
    operation: { id: name, ...event.place },
    receiveTimestamp: time,
  };
  const bytes = Buffer.byteLength(JSON.stringify(entry));
  receiveEntry(context, { entry, identity: `projects/${project} ${time} ${insertId}`, bytes });
}
