// Brings the world's machines to life on a host: each with its own metadata server, its orders carried
// out one after another.
import type { MachineEvent } from '#scripts/local-cloud/call.ts';
import type { MachineHost } from '#scripts/local-cloud/host/machine-host.ts';
import { type MetadataServer, openMetadataServer } from '#scripts/local-cloud/server/metadata.ts';
import type { Runtime } from '#scripts/local-cloud/server/runtime.ts';

interface LiveMachine {
  metadata: MetadataServer | null;
  /** Settles, never rejects, when all orders so far are carried out. */
  done: Promise<void>;
}

export class Machines implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #host: MachineHost;
  readonly #failed: (error: unknown) => void;
  readonly #live = new Map<string, LiveMachine>();

  constructor(runtime: Runtime, host: MachineHost, failed: (error: unknown) => void) {
    this.#runtime = runtime;
    this.#host = host;
    this.#failed = failed;
  }

  carryOut(event: MachineEvent): void {
    const machine = this.#live.get(event.id) ?? { metadata: null, done: Promise.resolve() };
    this.#live.set(event.id, machine);
    machine.done = machine.done.then(() => this.#act(machine, event)).catch(this.#failed);
  }

  async #act(machine: LiveMachine, event: MachineEvent): Promise<void> {
    switch (event.kind) {
      case 'machine-started': {
        const { id, name, zone, project, boot, metadata, principal } = event;
        machine.metadata ??= await openMetadataServer(this.#runtime, { kind: 'machine', id });
        const metadataHost = machine.metadata.host;
        const started = { id, name, zone, project, boot, metadata, principal, metadataHost };
        return this.#host.start(started);
      }
      case 'machine-stopping':
        return this.#host.softOff(event.id);
      case 'machine-gone':
        await this.#host.kill(event.id);
        if (event.deleted) {
          await this.#host.discard(event.id);
          await this.#forget(event.id);
        }
        return;
      default:
        return event satisfies never;
    }
  }

  async #forget(id: string): Promise<void> {
    const machine = this.#live.get(id);
    this.#live.delete(id);
    await machine?.metadata?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ done }) => done));
    await this.#host[Symbol.asyncDispose]();
    await Promise.all([...this.#live.keys()].map((id) => this.#forget(id)));
  }
}
