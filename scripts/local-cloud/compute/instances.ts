// Instances: insert, get, delete, stop, start, reset, setLabels, guest attributes.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { createMachine } from '#scripts/local-cloud/compute/insert.ts';
import { orderEnd } from '#scripts/local-cloud/compute/lifecycle.ts';
import { reset, startAgain } from '#scripts/local-cloud/compute/mishaps.ts';
import {
  beginOperation,
  finishOperation,
  operationResource,
} from '#scripts/local-cloud/compute/operations.ts';
import { rememberRequest, replayedOperation } from '#scripts/local-cloud/compute/requests.ts';
import { instanceResource } from '#scripts/local-cloud/compute/resources.ts';
import {
  computeLink,
  type MachineState,
  type OperationState,
  placeKey,
} from '#scripts/local-cloud/compute/state.ts';
import { checkLabels } from '#scripts/local-cloud/compute/validation.ts';
import { denied } from '#scripts/local-cloud/iam.ts';
import { asObject, asStringMap } from '#scripts/local-cloud/json.ts';

const pathOf = ({ project = '', zone = '', instance = '' }: Call['params']) =>
  `projects/${project}/zones/${zone}/instances/${instance}`;

const instancePath = ({ zone, name }: MachineState) => `zones/${zone}/instances/${name}`;

const notFound = (call: Call) =>
  refuse(404, 'notFound', `The resource '${pathOf(call.params)}' was not found`);

function findMachine(context: Context, call: Call, permission: string): MachineState | Reply {
  const { zone = '', instance = '' } = call.params;
  return (
    denied(context, call.principal, permission, pathOf(call.params)) ??
    context.world.compute.machines.get(placeKey(zone, instance)) ??
    notFound(call)
  );
}

function getInstance(context: Context, call: Call): Reply {
  const found = findMachine(context, call, 'compute.instances.get');
  if ('headers' in found) {
    return found;
  }
  const visible = context.nowMs - found.createdMs >= context.world.options.compute.getLagMs;
  return visible ? ok(instanceResource(context.world, found)) : notFound(call);
}

function begin(context: Context, call: Call, machine: MachineState, type: string): OperationState {
  const operation = beginOperation(context, {
    operationType: type,
    zone: machine.zone,
    project: machine.project,
    targetId: machine.id,
    target: instancePath(machine),
    principal: call.principal,
    requestId: call.params.requestId,
  });
  rememberRequest(context, call, operation);
  return operation;
}

/** A change of a machine that answers with an operation: the replay, the refusal, or the act. */
function change(
  type: string,
  permission: string,
  act: (context: Context, machine: MachineState, operation: string) => void,
) {
  return (context: Context, call: Call): Reply => {
    const found = replayedOperation(context, call) ?? findMachine(context, call, permission);
    if ('headers' in found) {
      return found;
    }
    const refusal = notReady(context, found, type);
    if (refusal !== null) {
      return refusal;
    }
    const operation = begin(context, call, found, type);
    act(context, found, operation.name);
    return ok(operationResource(context.world, operation));
  };
}

/** Whether that can be done in the machine's present state. */
function notReady(context: Context, machine: MachineState, type: string): Reply | null {
  const { status } = machine;
  const creating = status === 'PROVISIONING' || status === 'STAGING';
  const refused =
    (creating && context.world.options.compute.deleteWhileCreating === 'not-ready') ||
    (type === 'reset' && status !== 'RUNNING') ||
    (type === 'start' && status !== 'TERMINATED');
  const path = computeLink(context.world, machine.project, instancePath(machine));
  return refused
    ? refuse(400, 'resourceNotReady', `The resource '${path}' is not ready (${status}).`)
    : null;
}

function setLabels(context: Context, call: Call): Reply {
  const found = findMachine(context, call, 'compute.instances.setLabels');
  if ('headers' in found) {
    return found;
  }
  const { labels } = asObject(call.body);
  const refusal = checkLabels('labels', labels);
  if (refusal !== null) {
    return refusal;
  }
  found.labels = asStringMap(labels);
  const operation = begin(context, call, found, 'setLabels');
  finishOperation(context, operation.name);
  return ok(operationResource(context.world, operation));
}

/** A machine takes ten queries a minute (Compute Engine, guest attributes, limits). */
const ATTRIBUTE_QUERIES_MAX = 10;
const ATTRIBUTE_WINDOW_MS = 60_000;

/** True when the query is one too many; it then does not count itself. */
function countQuery({ nowMs }: Context, machine: MachineState): boolean {
  const recent = machine.attributeQueriesMs.filter((atMs) => nowMs - atMs < ATTRIBUTE_WINDOW_MS);
  const refused = recent.length >= ATTRIBUTE_QUERIES_MAX;
  machine.attributeQueriesMs = refused ? recent : [...recent, nowMs];
  return refused;
}

/** `queryPath` is `NS/` or `NS/KEY`; a missing one is answered with 404, as by the real service. */
function getGuestAttributes(context: Context, call: Call): Reply {
  const found = findMachine(context, call, 'compute.instances.getGuestAttributes');
  if ('headers' in found) {
    return found;
  }
  if (countQuery(context, found)) {
    return refuse(429, 'rateLimitExceeded', 'Rate Limit Exceeded');
  }
  const query = call.params.queryPath ?? call.params.variableKey ?? '';
  const items = [...found.guestAttributes]
    .filter(([path]) => path === query || (query.endsWith('/') && path.startsWith(query)))
    .map(([path, value]) => {
      const [namespace = '', key = ''] = path.split('/');
      return { namespace, key, value };
    });
  return items.length === 0
    ? refuse(404, 'notFound', `The resource '${query}' of type 'Guest Attribute' was not found.`)
    : ok({
        kind: 'compute#guestAttributes',
        selfLink: computeLink(
          context.world,
          found.project,
          `${instancePath(found)}/guestAttributes/${query}`,
        ),
        queryPath: query,
        queryValue: { items },
      });
}

export const instanceMethods: Methods = {
  'compute.instances.insert': createMachine,
  'compute.instances.get': getInstance,
  'compute.instances.delete': change(
    'delete',
    'compute.instances.delete',
    (context, machine, name) => orderEnd(context, machine, 'delete', name),
  ),
  'compute.instances.stop': change('stop', 'compute.instances.stop', (context, machine, name) =>
    orderEnd(context, machine, 'stop', name),
  ),
  'compute.instances.start': change('start', 'compute.instances.start', startAgain),
  'compute.instances.reset': change(
    'reset',
    'compute.instances.reset',
    (context, machine, name) => {
      reset(context, machine);
      finishOperation(context, name);
    },
  ),
  'compute.instances.setLabels': setLabels,
  'compute.instances.getGuestAttributes': getGuestAttributes,
};
