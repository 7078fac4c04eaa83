// What the outside hears about a machine, and the operations that the system itself begins.
import type { Context, MachineEvent, MachineIdentity } from '#scripts/local-cloud/call.ts';
import {
  beginOperation,
  finishOperation,
  SYSTEM,
} from '#scripts/local-cloud/compute/operations.ts';
import type { MachineState } from '#scripts/local-cloud/compute/state.ts';
import { asArray, asObject, asString } from '#scripts/local-cloud/json.ts';

/** The attached service account's e-mail; null when there is none. */
export function accountOf(machine: MachineState): string | null {
  return asString(asObject(asArray(machine.body.serviceAccounts)[0]).email) ?? null;
}

export function machineEvent(machine: MachineState, kind: 'machine-started'): MachineEvent;
export function machineEvent(
  machine: MachineState,
  kind: 'machine-stopping',
  powerOffMs: number,
): MachineEvent;
export function machineEvent(
  machine: MachineState,
  kind: 'machine-gone',
  deleted: boolean,
): MachineEvent;
export function machineEvent(
  machine: MachineState,
  kind: MachineEvent['kind'],
  fact: number | boolean = false,
): MachineEvent {
  const { id, name, zone, project, boot } = machine;
  const identity: MachineIdentity = { id, name, zone, project };
  switch (kind) {
    case 'machine-started':
      return {
        kind,
        ...identity,
        boot,
        metadata: { ...machine.metadata },
        principal: accountOf(machine),
      };
    case 'machine-stopping':
      return { kind, ...identity, powerOffMs: Number(fact) };
    case 'machine-gone':
      return { kind, ...identity, deleted: fact === true };
    default:
      return kind satisfies never;
  }
}

/** An operation of the system about a machine: a record of what has just happened, DONE at once. */
export function systemOperation(
  context: Context,
  machine: MachineState,
  operationType: string,
): void {
  const operation = beginOperation(context, {
    operationType,
    zone: machine.zone,
    project: machine.project,
    targetId: machine.id,
    target: `zones/${machine.zone}/instances/${machine.name}`,
    principal: SYSTEM,
  });
  finishOperation(context, operation.name);
}
