// Zone operations: they take time, carry the outcome, and are kept for a while after their end.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  empty,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { pageOf } from '#scripts/local-cloud/compute/paging.ts';
import {
  computeLink,
  type OperationError,
  type OperationState,
} from '#scripts/local-cloud/compute/state.ts';
import { compileFilter } from '#scripts/local-cloud/filter.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { copyJson, type JsonObject, timestamp } from '#scripts/local-cloud/json.ts';
import { logActivity, logSystemEvent } from '#scripts/local-cloud/logging/audit.ts';
import type { World } from '#scripts/local-cloud/world.ts';

export interface NewOperation {
  readonly operationType: string;
  readonly zone: string;
  readonly project: string;
  readonly targetId: string;
  readonly target: string;
  /** Null: the owner. */
  readonly principal: string | null;
  readonly requestId?: string | undefined;
}

const OWNER = 'owner@local';
export const SYSTEM = 'system@google.com';

/** An operation that has begun; somebody must end it with `finishOperation`. */
export function beginOperation(context: Context, order: NewOperation): OperationState {
  const { world, nowMs } = context;
  const { compute, options } = world;
  compute.operationsMade += 1;
  const system = order.principal === SYSTEM;
  const suffix = `${nowMs}-${world.random.hexadecimal(13)}-${world.random.hexadecimal(8)}`;
  const operation: OperationState = {
    id: world.random.digits(19),
    name: `${system ? 'systemevent' : 'operation'}-${suffix}-${compute.operationsMade}`,
    zone: order.zone,
    project: order.project,
    operationType: order.operationType,
    user: order.principal ?? OWNER,
    clientOperationId: order.requestId,
    targetId: order.targetId,
    target: order.target,
    insertMs: nowMs,
    status: 'PENDING',
    startMs: null,
    endMs: null,
    error: null,
  };
  compute.operations.set(operation.name, operation);
  world.timers.add(nowMs + options.compute.operationPendingMs, {
    kind: 'operation-running',
    operation: operation.name,
  });
  if (system) {
    logSystemEvent(context, operation);
  } else {
    logActivity(context, operation, 'first');
  }
  return operation;
}

export function startOperation(context: Context, name: string): void {
  const operation = context.world.compute.operations.get(name);
  if (operation?.status === 'PENDING') {
    operation.status = 'RUNNING';
    operation.startMs = context.nowMs;
  }
}

export function finishOperation(
  context: Context,
  name: string,
  error: OperationError | null = null,
): void {
  const operation = context.world.compute.operations.get(name);
  if (operation === undefined || operation.status === 'DONE') {
    return;
  }
  operation.status = 'DONE';
  operation.startMs ??= context.nowMs;
  operation.endMs = context.nowMs;
  operation.error = error;
  if (operation.user !== SYSTEM) {
    logActivity(context, operation, 'last');
  }
  context.world.timers.add(context.nowMs + context.world.options.compute.operationRetentionMs, {
    kind: 'operation-expired',
    operation: name,
  });
}

export function expireOperation(context: Context, name: string): void {
  context.world.compute.operations.delete(name);
}

export function operationResource(world: World, operation: OperationState): JsonObject {
  const { zone, project } = operation;
  const resource: JsonObject = {
    kind: 'compute#operation',
    id: operation.id,
    name: operation.name,
    zone: computeLink(world, project, `zones/${zone}`),
    operationType: operation.operationType,
    targetLink: computeLink(world, project, operation.target),
    targetId: operation.targetId,
    status: operation.status,
    user: operation.user,
    progress: operation.status === 'DONE' ? 100 : 0,
    insertTime: timestamp(operation.insertMs),
    selfLink: computeLink(world, project, `zones/${zone}/operations/${operation.name}`),
  };
  if (operation.clientOperationId !== undefined) {
    resource.clientOperationId = operation.clientOperationId;
  }
  if (operation.startMs !== null) {
    resource.startTime = timestamp(operation.startMs);
  }
  if (operation.endMs !== null) {
    resource.endTime = timestamp(operation.endMs);
  }
  if (operation.error !== null) {
    resource.error = { errors: copyJson(operation.error.errors) };
    resource.httpErrorStatusCode = operation.error.httpStatus;
    resource.httpErrorMessage = operation.error.httpStatus === 403 ? 'FORBIDDEN' : 'BAD REQUEST';
  }
  return resource;
}

function findOperation(context: Context, call: Call): OperationState | Reply {
  const { project = '', zone = '', operation: name = '' } = call.params;
  const path = `projects/${project}/zones/${zone}/operations/${name}`;
  const refusal = denied(context, call.principal, 'compute.zoneOperations.get', path);
  if (refusal !== null) {
    return refusal;
  }
  const operation = context.world.compute.operations.get(name);
  return operation?.zone === zone
    ? operation
    : refuse(404, 'notFound', `The resource '${path}' was not found`);
}

/** Also `wait`, which may return at once and unfinished. */
function getOperation(context: Context, call: Call): Reply {
  const found = findOperation(context, call);
  return 'headers' in found ? found : ok(operationResource(context.world, found));
}

function deleteOperation(context: Context, call: Call): Reply {
  const found = findOperation(context, call);
  if ('headers' in found) {
    return found;
  }
  context.world.compute.operations.delete(found.name);
  return empty(204);
}

function listOperations(context: Context, call: Call): Reply {
  const { project = '', zone = '', filter = '' } = call.params;
  const path = `projects/${project}/zones/${zone}`;
  const refusal = denied(context, call.principal, 'compute.zoneOperations.list', path);
  const matches = compileFilter(filter);
  if (refusal !== null || typeof matches !== 'function') {
    return refusal ?? refuse(400, 'invalid', `Invalid value for field 'filter': '${filter}'.`);
  }
  const items = [...context.world.compute.operations.values()]
    .filter((operation) => operation.zone === zone)
    .map((operation) => operationResource(context.world, operation))
    .filter(matches);
  const page = pageOf(items, ({ name }) => String(name), call.params);
  return 'refusal' in page
    ? page.refusal
    : ok({ kind: 'compute#operationList', id: path, ...page.fields, items: page.items });
}

export const operationMethods: Methods = {
  'compute.zoneOperations.get': getOperation,
  'compute.zoneOperations.wait': getOperation,
  'compute.zoneOperations.list': listOperations,
  'compute.zoneOperations.delete': deleteOperation,
};
