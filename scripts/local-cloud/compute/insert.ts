// instances.insert: the replay of an earlier call, refusals at once, and then an operation that may
// still fail, with a machine that appears meanwhile or even stays.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import { type Call, type Context, ok, type Reply } from '#scripts/local-cloud/call.ts';
import { attachDisks } from '#scripts/local-cloud/compute/disks.ts';
import { beginMachine } from '#scripts/local-cloud/compute/lifecycle.ts';
import {
  beginOperation,
  finishOperation,
  operationResource,
} from '#scripts/local-cloud/compute/operations.ts';
import { deniedParts } from '#scripts/local-cloud/compute/parts.ts';
import { type Demand, place, type Verdict } from '#scripts/local-cloud/compute/placement.ts';
import { rememberRequest, replayedOperation } from '#scripts/local-cloud/compute/requests.ts';
import { type MachineState, placeKey } from '#scripts/local-cloud/compute/state.ts';
import { checkInstance, isSpot } from '#scripts/local-cloud/compute/validation.ts';
import {
  asArray,
  asObject,
  asString,
  asStringMap,
  copyJson,
  type JsonObject,
  lastPart,
} from '#scripts/local-cloud/json.ts';

export function createMachine(context: Context, call: Call): Reply {
  const { world } = context;
  const { project = '', zone = '' } = call.params;
  const body = asObject(call.body);
  const path = `projects/${project}/zones/${zone}/instances/${asString(body.name) ?? ''}`;
  const refusal =
    deniedParts(context, call) ??
    replayedOperation(context, call) ??
    checkRequestId(call.params.requestId) ??
    checkInstance(world.compute, world.options.compute, zone, body) ??
    checkFree(context, zone, String(body.name), path);
  if (refusal !== null) {
    return refusal;
  }
  const verdict = place(world, demandOf(zone, body));
  const machine = addMachine(context, call, copyJson(body), verdict);
  const operation = beginOperation(context, {
    operationType: 'insert',
    zone,
    project,
    targetId: machine.id,
    target: `zones/${zone}/instances/${machine.name}`,
    principal: call.principal,
    requestId: call.params.requestId,
  });
  rememberRequest(context, call, operation);
  if (verdict?.machineLives === true) {
    finishOperation(context, operation.name, verdict.error);
  } else {
    machine.waiting.push(operation.name);
  }
  return ok(operationResource(world, operation));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function checkRequestId(requestId: string | undefined): Reply | null {
  const zero = /^[0-]+$/.test(requestId ?? '');
  return requestId === undefined || (UUID.test(requestId) && !zero)
    ? null
    : refuse(
        400,
        'invalid',
        `Invalid value for field 'requestId': '${requestId}'. Must be a UUID.`,
      );
}

/** A stopped machine and one on its way out hold the name too. */
function checkFree(context: Context, zone: string, name: string, path: string): Reply | null {
  return context.world.compute.machines.has(placeKey(zone, name))
    ? refuse(409, 'alreadyExists', `The resource '${path}' already exists`)
    : null;
}

function demandOf(zone: string, body: JsonObject): Demand {
  const accelerators = asArray(body.guestAccelerators).map(asObject);
  return {
    zone,
    name: String(body.name),
    machineType: lastPart(String(body.machineType)),
    spot: isSpot(body),
    serviceAccount: asString(asObject(asArray(body.serviceAccounts)[0]).email),
    attachment: accelerators
      .map((entry) => `${lastPart(String(entry.acceleratorType))}:${entry.acceleratorCount}`)
      .join(','),
  };
}

function metadataOf(body: JsonObject): { [key: string]: string } {
  const items = asArray(asObject(body.metadata).items).map(asObject);
  return Object.fromEntries(items.map((item) => [String(item.key), asString(item.value) ?? '']));
}

function addMachine(
  context: Context,
  call: Call,
  body: JsonObject,
  verdict: Verdict | null,
): MachineState {
  const { compute, random } = context.world;
  const { project = '', zone = '' } = call.params;
  const machine: MachineState = {
    id: random.digits(19),
    name: String(body.name),
    zone,
    project,
    body,
    disks: [],
    machineType: lastPart(String(body.machineType)),
    spot: isSpot(body),
    createdMs: context.nowMs,
    labels: asStringMap(body.labels),
    metadata: metadataOf(body),
    guestAttributes: new Map(),
    attributeQueriesMs: [],
    status: 'PROVISIONING',
    ending: null,
    epoch: 0,
    preempted: false,
    boot: 0,
    powered: false,
    lastStartMs: null,
    lastStopMs: null,
    ttlEndMs: null,
    waiting: [],
    doom: verdict === null || verdict.machineLives ? null : verdict.error,
  };
  compute.machines.set(placeKey(zone, machine.name), machine);
  compute.machinesById.set(machine.id, machine);
  attachDisks(context, machine);
  beginMachine(context, machine);
  return machine;
}
