// The step: one call, or the passing of time, upon a world. Pure but for the world it is given, which
// it changes in place; everything that should happen outside comes out as events.
import { refuseRpc } from '#scripts/local-cloud/api-errors.ts';
import type {
  Call,
  Context,
  Handler,
  Methods,
  Reply,
  WorldEvent,
} from '#scripts/local-cloud/call.ts';
import { diskMethods } from '#scripts/local-cloud/compute/disks.ts';
import { instanceMethods } from '#scripts/local-cloud/compute/instances.ts';
import { listMethods } from '#scripts/local-cloud/compute/lists.ts';
import { operationMethods } from '#scripts/local-cloud/compute/operations.ts';
import { placeMethods } from '#scripts/local-cloud/compute/places.ts';
import { localMethods } from '#scripts/local-cloud/controls.ts';
import { disturb } from '#scripts/local-cloud/faults.ts';
import { iamCredentialsMethods } from '#scripts/local-cloud/iam-credentials.ts';
import { keyMethods } from '#scripts/local-cloud/keys.ts';
import { loggingMethods } from '#scripts/local-cloud/logging/entries.ts';
import { sinkMethods } from '#scripts/local-cloud/logging/sinks.ts';
import { metadataMethods } from '#scripts/local-cloud/metadata/answers.ts';
import { accountMethods } from '#scripts/local-cloud/project/accounts.ts';
import { functionMethods } from '#scripts/local-cloud/project/functions.ts';
import { policyMethods } from '#scripts/local-cloud/project/policies.ts';
import { serviceMethods } from '#scripts/local-cloud/project/services.ts';
import { subscriptionMethods } from '#scripts/local-cloud/pubsub/subscriptions.ts';
import { topicMethods } from '#scripts/local-cloud/pubsub/topics.ts';
import { executionMethods } from '#scripts/local-cloud/run/executions.ts';
import { jobMethods } from '#scripts/local-cloud/run/jobs.ts';
import { namespaceMethods } from '#scripts/local-cloud/run/namespaces.ts';
import { startMethods } from '#scripts/local-cloud/run/start.ts';
import { schedulerMethods } from '#scripts/local-cloud/scheduler/jobs.ts';
import { secretMethods } from '#scripts/local-cloud/secrets/secrets.ts';
import { bucketMethods } from '#scripts/local-cloud/storage/buckets.ts';
import { objectListMethods } from '#scripts/local-cloud/storage/lists.ts';
import { notificationMethods } from '#scripts/local-cloud/storage/notifications.ts';
import { objectMethods } from '#scripts/local-cloud/storage/objects.ts';
import { uploadMethods } from '#scripts/local-cloud/storage/uploads.ts';
import { writeMethods } from '#scripts/local-cloud/storage/writes.ts';
import { xmlMethods } from '#scripts/local-cloud/storage/xml.ts';
import { runTask } from '#scripts/local-cloud/tasks.ts';
import type { World } from '#scripts/local-cloud/world.ts';

const SERVICES: readonly Methods[] = [
  bucketMethods,
  objectMethods,
  objectListMethods,
  writeMethods,
  notificationMethods,
  uploadMethods,
  xmlMethods,
  instanceMethods,
  operationMethods,
  listMethods,
  diskMethods,
  placeMethods,
  jobMethods,
  startMethods,
  executionMethods,
  namespaceMethods,
  topicMethods,
  subscriptionMethods,
  keyMethods,
  iamCredentialsMethods,
  schedulerMethods,
  metadataMethods,
  secretMethods,
  loggingMethods,
  sinkMethods,
  serviceMethods,
  accountMethods,
  functionMethods,
  policyMethods,
  localMethods,
];

const HANDLERS = new Map<string, Handler>(SERVICES.flatMap((methods) => Object.entries(methods)));

export interface Step {
  readonly reply: Reply;
  readonly events: readonly WorldEvent[];
}

/** Runs every timer that is due at `nowMs`, in order, each at its own instant. */
export function advance(world: World, nowMs: number): readonly WorldEvent[] {
  const events: WorldEvent[] = [];
  const emit = (event: WorldEvent) => events.push(event);
  for (;;) {
    const timer = world.timers.takeDue(nowMs);
    if (timer === null) {
      return events;
    }
    runTask({ world, nowMs: timer.dueMs, emit }, timer.task);
  }
}

/** When the world next changes by itself; null when it never does. */
export function nextDueMs(world: World): number | null {
  return world.timers.nextDueMs();
}

/**
 * Lets time pass up to `nowMs` and then makes the call. Time never runs backwards within a world;
 * an unknown method is answered with 501.
 */
export function apply(world: World, nowMs: number, call: Call): Step {
  const events = [...advance(world, nowMs)];
  const context: Context = { world, nowMs, emit: (event) => events.push(event) };
  const handler = HANDLERS.get(call.method);
  const perform = () =>
    handler === undefined
      ? refuseRpc(501, `The local cloud does not know the method ${call.method}.`)
      : handler(context, call);
  const fault = world.faults.take(call);
  const reply = fault === null ? perform() : disturb(fault, call, perform);
  world.calls.add(nowMs, call, reply);
  // What the call itself made due at this very instant happens now (a push without delay).
  events.push(...advance(world, nowMs));
  return { reply, events };
}
