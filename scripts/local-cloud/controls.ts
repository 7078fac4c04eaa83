// Controls of the world itself, by call like everything else: results of pushes, guests that power
// themselves off, stock, quota, preemption, faults. Only the owner may use them.
import { refuse } from '#scripts/local-cloud/api-errors.ts';
import {
  type Call,
  type Context,
  type Handler,
  type Methods,
  ok,
  type Reply,
} from '#scripts/local-cloud/call.ts';
import { failHost, guestPoweredOff, preempt } from '#scripts/local-cloud/compute/mishaps.ts';
import { type MachineState, placeKey } from '#scripts/local-cloud/compute/state.ts';
import type { Fault } from '#scripts/local-cloud/faults.ts';
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asStringMap,
  type JsonObject,
} from '#scripts/local-cloud/json.ts';
import { FAULT_KINDS, readFault, readOutcome } from '#scripts/local-cloud/plants.ts';
import { settleDelivery } from '#scripts/local-cloud/pubsub/delivery.ts';
import { writeTaskLine } from '#scripts/local-cloud/run/logs.ts';
import { plantStart, reportTaskEnd, takeMemory } from '#scripts/local-cloud/run/mishaps.ts';
import { settleAttempt } from '#scripts/local-cloud/scheduler/jobs.ts';
import { plantSecret } from '#scripts/local-cloud/secrets/secrets.ts';

type Control = (context: Context, body: JsonObject) => Reply;

/** Params and body are one: a control can be called with either. */
function control(act: Control): Handler {
  return (context: Context, call: Call) =>
    call.principal === null
      ? act(context, { ...call.params, ...asObject(call.body) })
      : refuse(403, 'forbidden', `${call.principal} may not use the controls of the local cloud.`);
}

function onMachine(act: (context: Context, machine: MachineState) => void): Handler {
  return control((context, { id, zone, name }) => {
    const { machines, machinesById } = context.world.compute;
    const machine =
      machinesById.get(String(id)) ?? machines.get(placeKey(String(zone), String(name)));
    if (machine === undefined) {
      return refuse(404, 'notFound', `No machine ${id ?? `${zone}/${name}`}.`);
    }
    act(context, machine);
    return ok({ id: machine.id, status: machine.status });
  });
}

const pushResult: Control = (context, body) => {
  const id = asString(body.deliveryId) ?? '';
  const status = asNumber(body.status) ?? 0;
  const known = settleDelivery(context, id, status) || settleAttempt(context, id, status);
  return ok({ known });
};

/** `{ zone, machineType, available }`; `available` null takes the limit away. */
const setStock: Control = ({ world }, body) => {
  const key = placeKey(String(body.zone), String(body.machineType));
  const available = asNumber(body.available);
  if (available === undefined) {
    world.compute.stock.delete(key);
  } else {
    world.compute.stock.set(key, available);
  }
  return ok({});
};

/** `{ scope: 'global' | region, metric: 'CPUS', limit }`. */
const setQuota: Control = ({ world }, body) => {
  const { quotas } = world.compute;
  const scope = asString(body.scope) ?? 'global';
  const metric = asString(body.metric) ?? '';
  const limit = asNumber(body.limit) ?? 0;
  const known = quotas.find((quota) => quota.scope === scope && quota.metric === metric);
  if (known === undefined) {
    quotas.push({ scope, metric, limit });
  } else {
    known.limit = limit;
  }
  return ok({});
};

/** `{ zone, how: 'warning' | 'unreachables' | null }`. */
const setUnreachable: Control = ({ world }, body) => {
  const zone = String(body.zone);
  if (body.how === 'warning' || body.how === 'unreachables') {
    world.compute.unreachable.set(zone, body.how);
  } else {
    world.compute.unreachable.delete(zone);
  }
  return ok({});
};

/** `{ bucket, available }`. */
const setBucket: Control = ({ world }, body) => {
  const bucket = world.storage.buckets.get(String(body.bucket));
  if (bucket === undefined) {
    return refuse(404, 'notFound', `No bucket ${body.bucket}.`);
  }
  bucket.available = body.available !== false;
  return ok({});
};

/** `{ faults: [Fault …] }`, or one fault as the whole body. */
const plantFaults: Control = ({ world }, body) => {
  const sent = body.faults === undefined ? [body] : asArray(body.faults).map(asObject);
  const faults = sent.map(readFault).filter((fault): fault is Fault => fault !== null);
  if (faults.length !== sent.length) {
    const rule = `effect is before or after, kind is one of ${FAULT_KINDS.join(', ')}`;
    return refuse(400, 'invalid', `No fault: ${JSON.stringify(body).slice(0, 200)}; ${rule}.`);
  }
  world.faults.plant(...faults);
  return ok({ planted: faults.length });
};

/** `{ principal, permission }`: takes the permission out of every grant of the account. */
const revoke: Control = ({ world }, body) => {
  const { grants } = world.iam;
  world.iam.grants =
    grants?.map((grant) =>
      grant.principal === body.principal
        ? { ...grant, permissions: grant.permissions.filter((one) => one !== body.permission) }
        : grant,
    ) ?? null;
  return ok({});
};

const plantOutcome: Control = ({ world }, body) => {
  world.compute.outcomes.push({ outcome: readOutcome(body), used: 0 });
  return ok({});
};

const readCalls: Control = ({ world }, body) => {
  const query = asStringMap({ method: body.method, principal: body.principal, name: body.name });
  return ok({ count: world.calls.count(query), calls: [...world.calls.entries()] });
};

/** Each permission that was made use of, with the account and the names that its grant is for; and refusals. */
const readPermissions: Control = ({ world }) => {
  const permissions = [...world.iam.used].flatMap(([{ principal, resourcePrefix }, used]) =>
    [...used].map((permission) => ({ principal, permission, on: resourcePrefix ?? '' })),
  );
  return ok({ permissions, refused: [...world.iam.refused] });
};

export const localMethods: Methods = {
  'local.push.result': control(pushResult),
  'local.machine.poweredOff': onMachine(guestPoweredOff),
  'local.compute.preempt': onMachine(preempt),
  'local.compute.hostError': onMachine(failHost),
  'local.compute.stock': control(setStock),
  'local.compute.quota': control(setQuota),
  'local.compute.unreachable': control(setUnreachable),
  'local.compute.outcome': control(plantOutcome),
  'local.run.taskEnded': control(reportTaskEnd),
  'local.run.outOfMemory': control(takeMemory),
  'local.run.log': control(writeTaskLine),
  'local.run.start': control(plantStart),
  'local.storage.bucket': control(setBucket),
  'local.iam.revoke': control(revoke),
  'local.secret': control(plantSecret),
  'local.faults.plant': control(plantFaults),
  'local.faults.clear': control(({ world }) => {
    world.faults.clear();
    return ok({});
  }),
  'local.keys.rotate': control(({ world }) => {
    world.keys.rotate();
    return ok({});
  }),
  'local.calls': control(readCalls),
  'local.permissions': control(readPermissions),
};
