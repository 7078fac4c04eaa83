// A signal: an entry of Compute Engine's audit logs about one of our machines, brought by a log sink.
// Which entries the sink takes and which are read here is one list.
// Source: Cloud Logging's LogEntry, Cloud Audit Logs' AuditLog; the end by a machine's own time limit is
// `deferredDelete` in published logs, and in no documentation.
import * as z from 'zod';
import type { PushMessage } from '#shared/push/envelope.ts';

/** What the system does to a machine, or notes about it, that may end it. */
const SYSTEM_EVENTS = [
  'compute.instances.preempted',
  'compute.instances.guestTerminate',
  'compute.instances.hostError',
  'compute.instances.terminateOnHostMaintenance',
  'compute.instances.deferredDelete',
] as const;
const DELETE = 'compute.instances.delete';
/** `v1.compute.instances.delete`, `beta.…`: whichever version of the API was called. */
const DELETE_METHOD = /^[a-z0-9]+\.compute\.instances\.delete$/;
/** Cloud Logging takes no larger entry. */
const ENTRY_BYTES_MAX = 256 * 1024;

export type Signal =
  | {
      readonly kind: 'signal';
      /** `deleted`: the last entry of a delete; one that failed because nothing was there is one too. */
      readonly what: 'event' | 'deleted';
      readonly methodName: string;
      readonly instance: string;
      readonly zone: string;
    }
  | { readonly kind: 'foreign'; readonly reason: string };

/** The filter of the deployment's log sink, in the Logging query language. */
export function signalFilter(deployment: string): string {
  const events = SYSTEM_EVENTS.map((name) => `protoPayload.methodName="${name}"`);
  const deleted = `(protoPayload.methodName:".${DELETE}" AND operation.last=true)`;
  return [
    'resource.type="gce_instance"',
    'protoPayload.serviceName="compute.googleapis.com"',
    `protoPayload.resourceName:"/instances/${deployment}-"`,
    `(${[...events, deleted].join(' OR ')})`,
  ].join(' AND ');
}

const entryShape = z.object({
  protoPayload: z.object({
    serviceName: z.literal('compute.googleapis.com'),
    methodName: z.string(),
    resourceName: z.string(),
  }),
  operation: z.object({ last: z.boolean().optional() }).optional(),
});

/** Reads an entry about a machine; anyone may have sent it. */
export function readSignal(
  message: PushMessage,
  { project, deployment }: { readonly project: string; readonly deployment: string },
): Signal {
  const entry = entryShape.safeParse(readEntry(message));
  if (!entry.success) {
    const [issue] = entry.error.issues;
    return foreign(`no audit log entry of Compute Engine: ${issue?.path.join('.')}`);
  }
  const { protoPayload, operation } = entry.data;
  const { methodName, resourceName } = protoPayload;
  const machine = machineOf(resourceName, project, deployment);
  if (machine === null) return foreign('not about a machine of this deployment');
  if ((SYSTEM_EVENTS as readonly string[]).includes(methodName)) {
    return { kind: 'signal', what: 'event', methodName, ...machine };
  }
  if (!DELETE_METHOD.test(methodName)) return foreign('not a method that ends a machine');
  if (operation?.last !== true) return foreign('a delete that has only begun');
  return { kind: 'signal', what: 'deleted', methodName, ...machine };
}

/** Null unless the name is one that this deployment gives; the project is told by id or by number. */
function machineOf(
  resourceName: string,
  project: string,
  deployment: string,
): { readonly instance: string; readonly zone: string } | null {
  const [, owner = '', zone = '', instance = ''] =
    /^projects\/([^/]+)\/zones\/([a-z0-9-]{1,40})\/instances\/([a-z0-9-]{1,63})$/.exec(
      resourceName,
    ) ?? [];
  const ours = owner === project || /^\d{1,20}$/.test(owner);
  const named =
    instance.startsWith(`${deployment}-`) && /-[0-9a-f]{12}-[0-9a-z]{1,2}$/.test(instance);
  return ours && named ? { instance, zone } : null;
}

/** The log entry of a message of `run-signals`; undefined when it is none. */
export function readEntry({ data }: PushMessage): unknown {
  if (data.length > ENTRY_BYTES_MAX) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data));
  } catch {
    return undefined;
  }
}

const foreign = (reason: string): Signal => ({ kind: 'foreign', reason });
