// What happens to a machine that nobody deleted: its guest powers itself off, its host fails, its
// capacity is taken back, it is reset or started again.
import type { Context } from '#scripts/local-cloud/call.ts';
import { machineEvent, systemOperation } from '#scripts/local-cloud/compute/events.ts';
import {
  cutPower,
  enter,
  leaveRunning,
  orderEnd,
  terminate,
  terminationAction,
} from '#scripts/local-cloud/compute/lifecycle.ts';
import type { MachineState } from '#scripts/local-cloud/compute/state.ts';
import { asObject } from '#scripts/local-cloud/json.ts';

/** The guest has powered itself off: the end of an ordered stop, or a stop that nobody ordered. */
export function guestPoweredOff(context: Context, machine: MachineState): void {
  if (machine.status === 'STOPPING' && machine.powered) {
    cutPower(context, machine);
  } else if (machine.status === 'RUNNING') {
    systemOperation(context, machine, 'compute.instances.guestTerminate');
    loseGuest(context, machine);
    terminate(context, machine);
  }
}

function loseGuest(context: Context, machine: MachineState): void {
  leaveRunning(context, machine);
  machine.powered = false;
  context.emit(machineEvent(machine, 'machine-gone', false));
}

/** The host fails under the machine: no soft-off, and a restart only where it was asked for. */
export function failHost(context: Context, machine: MachineState): void {
  systemOperation(context, machine, 'compute.instances.hostError');
  loseGuest(context, machine);
  const { automaticRestart } = asObject(machine.body.scheduling);
  if (automaticRestart === false || machine.spot) {
    terminate(context, machine);
    return;
  }
  systemOperation(context, machine, 'compute.instances.automaticRestart');
  enter(context, machine, 'STAGING', context.world.options.compute.stagingMs);
}

/** Spot capacity is taken back: `preempted` turns TRUE, then soft-off, then the termination action. */
export function preempt(context: Context, machine: MachineState): void {
  machine.preempted = true;
  systemOperation(context, machine, 'compute.instances.preempted');
  orderEnd(context, machine, terminationAction(machine));
}

/** Starts a TERMINATED machine again; its disk has seen a boot before. */
export function startAgain(context: Context, machine: MachineState, operation: string): void {
  machine.waiting.push(operation);
  enter(context, machine, 'PROVISIONING', context.world.options.compute.provisioningMs);
}

/** A hard reset: another boot without leaving RUNNING, so that the TTL goes on. */
export function reset(context: Context, machine: MachineState): void {
  context.emit(machineEvent(machine, 'machine-gone', false));
  machine.boot += 1;
  context.emit(machineEvent(machine, 'machine-started'));
}
