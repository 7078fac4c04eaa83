// `requestId`: a call that is repeated with the same id within the window is not made again; its answer
// is the operation of the first, a failed one too. After the window it counts as a new call.
import { type Call, type Context, ok, type Reply } from '#scripts/local-cloud/call.ts';
import { operationResource } from '#scripts/local-cloud/compute/operations.ts';
import type { OperationState } from '#scripts/local-cloud/compute/state.ts';

const keyOf = ({ method, params }: Call) =>
  `${method} ${params.project} ${params.zone} ${params.requestId}`;

/** The first call's operation as it stands now; null when this call is the first. */
export function replayedOperation(context: Context, call: Call): Reply | null {
  const { compute, options } = context.world;
  if (call.params.requestId === undefined) {
    return null;
  }
  const memory = compute.requests.get(keyOf(call));
  const operation = memory && compute.operations.get(memory.operation);
  if (memory === undefined || operation === undefined) {
    return null;
  }
  return context.nowMs - memory.atMs < options.compute.requestIdWindowMs
    ? ok(operationResource(context.world, operation))
    : null;
}

export function rememberRequest(context: Context, call: Call, operation: OperationState): void {
  if (call.params.requestId !== undefined) {
    context.world.compute.requests.set(keyOf(call), {
      operation: operation.name,
      atMs: context.nowMs,
    });
  }
}
