// Machines for the burst: state machines that make the calls of a guest, and beside them, by their name,
// real ones that run the real script in real bash.
import type { Call } from '#scripts/local-cloud/call.ts';
import type {
  HostedMachine,
  MachineHost,
  PoweredOff,
} from '#scripts/local-cloud/host/machine-host.ts';
import { inProcessStore } from '#scripts/local-cloud/in-process-ports.ts';
import { jsonCall, routeRequest } from '#scripts/local-cloud/rest/router.ts';
import type { LocalCloud } from '#scripts/local-cloud/server/server.ts';
import { systemClock } from '#shared/cloud/clock.ts';
import type { HttpCall } from '#shared/cloud/http.ts';
import { Guest, type GuestPlan } from '#test/simulation/guest.ts';

export interface BurstGuests {
  readonly cloud: () => LocalCloud;
  readonly bucket: string;
  readonly isReal: (name: string) => boolean;
  readonly planOf: (name: string) => GuestPlan;
  /** A machine has power for the first time. */
  readonly started: (machine: HostedMachine) => void;
}

export function burstHost(
  options: BurstGuests,
  real: MachineHost,
  poweredOff: PoweredOff,
): MachineHost {
  const powered = new Set<string>();
  return {
    async start(machine) {
      options.started(machine);
      if (options.isReal(machine.name)) return await real.start(machine);
      powered.add(machine.id);
      const guest = new Guest(machine, options.planOf(machine.name), {
        ...portsOf(options, machine.principal),
        clock: systemClock,
        alive: () => powered.has(machine.id),
        preempted: () => false,
        onWork() {},
        onWorkEnd() {},
      });
      void guest.live();
    },
    async softOff(id) {
      if (!powered.delete(id)) return await real.softOff(id);
      poweredOff(id);
    },
    async kill(id) {
      if (!powered.delete(id)) await real.kill(id);
    },
    discard: (id) => real.discard(id),
    async [Symbol.asyncDispose]() {
      powered.clear();
      await real[Symbol.asyncDispose]();
    },
  };
}

/** A guest's own way to the cloud, as its account. */
function portsOf({ cloud, bucket }: BurstGuests, principal: string | null) {
  const send = async (call: Omit<Call, 'principal'>) => cloud().perform({ ...call, principal });
  return {
    store: inProcessStore(send, bucket),
    async transport(http: HttpCall) {
      const target = routeRequest(http.method, http.url);
      if (target === null) throw new Error(`no such path: ${http.method} ${http.url}`);
      const { method, params, body } = jsonCall(target, null, http.body);
      const { status, body: answer } = await send({ method, params, body });
      return { status, body: answer };
    },
  };
}
