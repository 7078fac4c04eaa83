// A machine's way through its states, moved by timers, by calls and by its own guest:
// PROVISIONING → STAGING → RUNNING → STOPPING → gone, or TERMINATED with its disk and without its TTL.
import type { Context } from '#scripts/local-cloud/call.ts';
import { detachDisks } from '#scripts/local-cloud/compute/disks.ts';
import { machineEvent, systemOperation } from '#scripts/local-cloud/compute/events.ts';
import { finishOperation } from '#scripts/local-cloud/compute/operations.ts';
import { giveBack } from '#scripts/local-cloud/compute/placement.ts';
import {
  type Ending,
  type MachineState,
  type MachineStatus,
  placeKey,
} from '#scripts/local-cloud/compute/state.ts';
import { asNumber, asObject } from '#scripts/local-cloud/json.ts';

/** Puts the machine into a state that lasts `durationMs`; what was planned before no longer holds. */
export function enter(
  context: Context,
  machine: MachineState,
  status: MachineStatus,
  durationMs: number | null,
): void {
  machine.status = status;
  machine.epoch += 1;
  if (durationMs !== null) {
    context.world.timers.add(context.nowMs + durationMs, {
      kind: 'machine-step',
      machine: machine.id,
      epoch: machine.epoch,
    });
  }
}

/** The first state of a new machine, and of one that will not come to be. */
export function beginMachine(context: Context, machine: MachineState): void {
  const { provisioningMs, refusalMs } = context.world.options.compute;
  const doomed = machine.doom !== null;
  enter(context, machine, 'PROVISIONING', doomed ? refusalMs / 2 : provisioningMs);
}

export function stepMachine(context: Context, id: string, epoch: number): void {
  const machine = context.world.compute.machinesById.get(id);
  if (machine === undefined || machine.epoch !== epoch) {
    return;
  }
  const { refusalMs, stagingMs } = context.world.options.compute;
  switch (machine.status) {
    case 'PROVISIONING':
      if (machine.doom === null) {
        enter(context, machine, 'STAGING', stagingMs);
      } else {
        enter(context, machine, 'STOPPING', refusalMs / 2);
      }
      break;
    case 'STAGING':
      run(context, machine);
      break;
    case 'STOPPING':
      if (machine.powered) {
        cutPower(context, machine);
      } else {
        remove(context, machine);
      }
      break;
    case 'RUNNING':
    case 'TERMINATED':
      break;
    default:
      machine.status satisfies never;
  }
}

function run(context: Context, machine: MachineState): void {
  enter(context, machine, 'RUNNING', null);
  machine.powered = true;
  machine.boot += 1;
  machine.lastStartMs = context.nowMs;
  armTtl(context, machine);
  finishWaiting(context, machine);
  context.emit(machineEvent(machine, 'machine-started'));
}

/** The TTL counts from the entry into RUNNING. */
function armTtl(context: Context, machine: MachineState): void {
  const { maxRunDuration } = asObject(machine.body.scheduling);
  const seconds = asNumber(asObject(maxRunDuration).seconds);
  if (seconds === undefined) {
    return;
  }
  machine.ttlEndMs = context.nowMs + seconds * 1000;
  context.world.timers.add(machine.ttlEndMs + context.world.options.compute.ttlDelayMs, {
    kind: 'machine-ttl',
    machine: machine.id,
    epoch: machine.epoch,
  });
}

export function endByTtl(context: Context, id: string, epoch: number): void {
  const machine = context.world.compute.machinesById.get(id);
  if (machine === undefined || machine.epoch !== epoch) {
    return;
  }
  const ending = terminationAction(machine);
  if (context.world.options.compute.ttlOperation) {
    const deferred = ending === 'delete' ? 'deferredDelete' : 'deferredStop';
    systemOperation(context, machine, `compute.instances.${deferred}`);
  }
  orderEnd(context, machine, ending);
}

/** What the platform does with the machine when its time is up or it is preempted. */
export function terminationAction(machine: MachineState): Ending {
  const { instanceTerminationAction } = asObject(machine.body.scheduling);
  return instanceTerminationAction === 'DELETE' ? 'delete' : 'stop';
}

/** Sends the machine on its way out; an operation given here is DONE when it has got there. */
export function orderEnd(
  context: Context,
  machine: MachineState,
  ending: Ending,
  operation: string | null = null,
): void {
  const { removalMs, shutdownMs, spotShutdownMs } = context.world.options.compute;
  if (machine.status === 'STOPPING') {
    machine.ending = ending === 'delete' ? 'delete' : machine.ending;
  } else if (machine.status === 'RUNNING') {
    const graceMs = machine.spot ? spotShutdownMs : shutdownMs;
    leaveRunning(context, machine);
    machine.ending = ending;
    enter(context, machine, 'STOPPING', graceMs);
    context.emit(machineEvent(machine, 'machine-stopping', context.nowMs + graceMs));
  } else {
    finishWaiting(context, machine);
    machine.ending = ending;
    enter(context, machine, 'STOPPING', removalMs);
  }
  if (operation !== null) {
    machine.waiting.push(operation);
  }
}

/** The TTL is a property of a running machine: it goes with that state. */
export function leaveRunning(context: Context, machine: MachineState): void {
  finishWaiting(context, machine);
  machine.ttlEndMs = null;
  machine.lastStopMs = context.nowMs;
}

export function cutPower(context: Context, machine: MachineState): void {
  const { reluctant } = context.world.compute;
  const deleted = machine.ending === 'delete';
  const refusals = reluctant.get(machine.name) ?? 0;
  if (deleted && refusals > 0) {
    reluctant.set(machine.name, refusals - 1);
    machine.ending = null;
    finishWaiting(context, machine);
    enter(context, machine, 'RUNNING', null);
    armTtl(context, machine);
    return;
  }
  machine.powered = false;
  context.emit(machineEvent(machine, 'machine-gone', deleted));
  if (deleted) {
    enter(context, machine, 'STOPPING', context.world.options.compute.removalMs);
  } else {
    terminate(context, machine);
  }
}

export function terminate(context: Context, machine: MachineState): void {
  machine.ending = null;
  enter(context, machine, 'TERMINATED', null);
  finishWaiting(context, machine);
}

/** A stopped machine on its way to TERMINATED has no disk to lose; a deleted one goes altogether. */
function remove(context: Context, machine: MachineState): void {
  if (machine.doom === null && machine.ending === 'stop') {
    terminate(context, machine);
    return;
  }
  const { compute } = context.world;
  machine.epoch += 1;
  compute.machines.delete(placeKey(machine.zone, machine.name));
  compute.machinesById.delete(machine.id);
  detachDisks(context, machine);
  if (machine.doom === null) {
    giveBack(compute, machine.zone, machine.machineType);
  }
  finishWaiting(context, machine);
}

function finishWaiting(context: Context, machine: MachineState): void {
  for (const operation of machine.waiting.splice(0)) {
    finishOperation(context, operation, machine.doom);
  }
}
