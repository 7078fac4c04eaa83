// Log entries as sinks export them, of which a test names what it is about. The first three have the
// shapes of entries that Cloud Logging has exported (published by others): a preemption, a guest that
// powered itself off, the last entry of a delete.
export interface EntryChange {
  readonly methodName?: string;
  readonly resourceName?: string;
  readonly serviceName?: string;
  readonly status?: object;
  readonly operation?: object;
}

export function entry(instance: string, change: EntryChange = {}): object {
  const { operation, ...payload } = change;
  const methodName = change.methodName ?? 'compute.instances.preempted';
  return {
    protoPayload: {
      '@type': 'type.googleapis.com/google.cloud.audit.AuditLog',
      status: { message: 'Instance was preempted.' },
      authenticationInfo: { principalEmail: 'system@google.com' },
      serviceName: 'compute.googleapis.com',
      resourceName: `projects/local-project/zones/us-central1-a/instances/${instance}`,
      request: { '@type': `type.googleapis.com/${methodName}` },
      methodName,
      ...payload,
    },
    insertId: 'qnwer3e38dfz',
    resource: {
      type: 'gce_instance',
      labels: { instance_id: '1844488190', project_id: 'local-project', zone: 'us-central1-a' },
    },
    timestamp: '2026-12-01T12:00:31.325309Z',
    severity: 'INFO',
    logName: 'projects/local-project/logs/cloudaudit.googleapis.com%2Fsystem_event',
    operation: operation ?? {
      id: 'systemevent-1694860946116-605771a2dee65-0f0a0a0a-0b0b0b0b',
      producer: methodName,
      first: true,
      last: true,
    },
    receiveTimestamp: '2026-12-01T12:00:32.142112Z',
  };
}

/** One end of a delete that somebody ordered; `status` only where it failed. */
export function deleteEntry(
  instance: string,
  end: 'first' | 'last',
  change: EntryChange = {},
): object {
  return entry(instance, {
    methodName: 'v1.compute.instances.delete',
    status: {},
    operation: { id: 'operation-1569537402872', producer: 'compute.googleapis.com', [end]: true },
    ...change,
  });
}
