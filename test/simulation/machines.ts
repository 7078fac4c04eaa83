// The power of the world's machines: each boot becomes a guest, a soft-off is told to it, and nothing of
// it happens once the power is off.
import type { MachineEvent } from '#scripts/local-cloud/call.ts';
import type { Actor } from '#test/simulation/delivery.ts';
import { GOOD_GUEST, Guest, type GuestPlan } from '#test/simulation/guest.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';

const NEVER = new Promise<never>(() => {});

export class Machines {
  readonly #kernel: Kernel;
  /** Instance id → the boot that has power; 0: none. */
  readonly #power = new Map<string, number>();
  readonly #guests = new Map<string, { readonly guest: Guest; readonly plan: GuestPlan }>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  take(event: MachineEvent): void {
    switch (event.kind) {
      case 'machine-started':
        this.#power.set(event.id, event.boot);
        if (event.metadata['startup-script'] !== undefined) this.#boot(event);
        return;
      case 'machine-stopping':
        this.#stop(event.id);
        return;
      case 'machine-gone':
        this.#cut(event.id);
        return;
      default:
        event satisfies never;
    }
  }

  #boot(event: MachineEvent & { readonly kind: 'machine-started' }): void {
    const kernel = this.#kernel;
    const plan = kernel.options.guest?.(event) ?? GOOD_GUEST;
    const alive = () => this.#power.get(event.id) === event.boot;
    const actor: Actor = {
      kind: 'guest',
      name: event.name,
      machineId: event.id,
      id: `${event.name}#${event.id.slice(0, 4)}.${event.boot}`,
      die: () => NEVER,
      alive,
    };
    const { interference } = kernel.options;
    const cloud = kernel.cloud(
      event.principal,
      interference && ((call, perform) => interference.around(actor, call, perform)),
    );
    const guest = new Guest(event, plan, {
      clock: kernel.clockOf(actor),
      store: cloud.store(SETTINGS.plan.bucket),
      transport: cloud.transport,
      alive,
      preempted: () => kernel.world.compute.machinesById.get(event.id)?.preempted === true,
      onWork: (work) => {
        const startMs = kernel.clock.nowMs();
        kernel.works.push({ ...work, startMs, endMs: null, exitCode: null });
        kernel.options.interference?.worked?.(work);
      },
      onWorkEnd: (work, exitCode) => this.#endWork(work.instanceId, exitCode),
    });
    this.#guests.set(event.id, { guest, plan });
    kernel.spawn(guest.live());
  }

  #stop(id: string): void {
    const known = this.#guests.get(id);
    if (known?.plan.shutdown === undefined) {
      this.#cut(id);
      this.#kernel.call({ method: 'local.machine.poweredOff', params: { id } });
      return;
    }
    const alive = this.#power.get(id);
    const off = known.guest.stop().then(() => {
      if (this.#power.get(id) !== alive) return;
      this.#cut(id);
      this.#kernel.call({ method: 'local.machine.poweredOff', params: { id } });
    });
    this.#kernel.spawn(off);
  }

  #cut(id: string): void {
    this.#power.set(id, 0);
    this.#endWork(id, null);
  }

  #endWork(id: string, exitCode: number | null): void {
    for (const work of this.#kernel.works) {
      if (work.instanceId !== id || work.endMs !== null) continue;
      work.endMs = this.#kernel.clock.nowMs();
      work.exitCode = exitCode;
    }
  }
}
