// What is really so in a simulated world, read from the world itself and not through any call.
import type { MachineState } from '#scripts/local-cloud/compute/state.ts';
import type { ExecutionState } from '#scripts/local-cloud/run/state.ts';
import type { ClaimHolder, RunRecord } from '#shared/lifecycle/record.ts';
import type { RunResult } from '#shared/lifecycle/result.ts';
import {
  ACTIVE_PREFIX,
  claimObject,
  markerObject,
  recordObject,
  requestObject,
  resultObject,
} from '#shared/plan/objects.ts';
import type { Kernel } from '#test/simulation/kernel.ts';
import { SETTINGS } from '#test/simulation/layout.ts';
import {
  asMachine,
  executionsOf,
  isRunning,
  type LiveMachine,
} from '#test/simulation/swarm/jobs.ts';

export interface LiveMarker {
  readonly status: string;
  readonly cause: string | null;
  readonly sealed?: boolean;
  readonly nonce: string;
}

export class Truth {
  readonly #kernel: Kernel;
  /** What was read last of each object: the world's bytes are replaced, never changed. */
  readonly #read = new Map<string, { readonly bytes: Uint8Array; readonly value: unknown }>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  get nowMs(): number {
    return this.#kernel.clock.nowMs();
  }

  /** 0: there is no such object. */
  generation(name: string): number {
    return this.#objects().get(name)?.generation ?? 0;
  }

  record(runId: string): RunRecord | null {
    return this.#json<RunRecord>(recordObject(runId));
  }

  result(runId: string): RunResult | null {
    return this.#json<RunResult>(resultObject(runId));
  }

  claim(runId: string, attempt: number): ClaimHolder | null {
    return this.#json<ClaimHolder>(claimObject(runId, attempt));
  }

  marker(instance: string): LiveMarker | null {
    return this.#json<LiveMarker>(markerObject(instance));
  }

  isAccepted(runId: string): boolean {
    return this.generation(requestObject(runId)) > 0;
  }

  active(): string[] {
    const names = [...this.#objects().keys()].filter((name) => name.startsWith(ACTIVE_PREFIX));
    return names.map((name) => name.slice(ACTIVE_PREFIX.length));
  }

  names(prefix: string): string[] {
    return [...this.#objects().keys()].filter((name) => name.startsWith(prefix));
  }

  machine(id: string): LiveMachine | null {
    const machine = this.#kernel.world.compute.machinesById.get(id);
    return machine ?? this.machines().find((one) => one.id === id) ?? null;
  }

  /** By its short name, running or not. */
  execution(id: string): ExecutionState | null {
    return executionsOf(this.#kernel.world).find(({ shortName }) => shortName === id) ?? null;
  }

  /** The last words of an attempt's tasks as one: SUCCEEDED only if each of them says so. */
  word(instance: string, tasks: number): LiveMarker | null {
    if (tasks === 1) return this.marker(instance);
    const all = Array.from({ length: tasks }, (_, task) => this.marker(`${instance}.${task}`));
    const good = all.every((marker) => marker?.status === 'SUCCEEDED');
    return good ? (all[0] ?? null) : this.marker(instance);
  }

  /** Machines that carry this deployment's label, and executions that we started and that run. */
  machines(): LiveMachine[] {
    const executions = executionsOf(this.#kernel.world).filter(isRunning);
    return [...this.vms(), ...executions.flatMap((execution) => asMachine(execution) ?? [])];
  }

  vms(): MachineState[] {
    return [...this.#kernel.world.compute.machinesById.values()].filter((one) => ours(one.labels));
  }

  disks(): string[] {
    const disks = [...this.#kernel.world.compute.disks.values()];
    return disks.filter((disk) => ours(disk.labels)).map((disk) => disk.name);
  }

  #objects() {
    const bucket = this.#kernel.world.storage.buckets.get(SETTINGS.plan.bucket);
    if (bucket === undefined) throw new Error('the world has no bucket');
    return bucket.objects;
  }

  #json<Value>(name: string): Value | null {
    const object = this.#objects().get(name);
    if (object === undefined) return null;
    const known = this.#read.get(name);
    if (known?.bytes === object.bytes) return known.value as Value;
    const value = JSON.parse(new TextDecoder().decode(object.bytes));
    this.#read.set(name, { bytes: object.bytes, value });
    return value;
  }
}

export function ours(labels: Readonly<Record<string, string>>): boolean {
  const { deployment } = SETTINGS.plan;
  return labels['managed-by'] === 'mayfly' && labels.deployment === deployment;
}
