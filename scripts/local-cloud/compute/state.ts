// Machines, disks and operations as the world keeps them, with the keys by which they are found.
import { regionOf } from '#scripts/local-cloud/compute/catalogue.ts';
import { CountedMap } from '#scripts/local-cloud/counted-map.ts';
import type { JsonObject } from '#scripts/local-cloud/json.ts';
import type { ComputeOptions } from '#scripts/local-cloud/options.ts';
import type { World } from '#scripts/local-cloud/world.ts';

export type MachineStatus = 'PROVISIONING' | 'STAGING' | 'RUNNING' | 'STOPPING' | 'TERMINATED';

/** What happens when the power is off; null when the machine is not on its way out. */
export type Ending = 'delete' | 'stop';

export interface MachineState {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  /** The body as it was sent; the resource is built from it on each reading. */
  readonly body: JsonObject;
  /** Zone and name of each disk in the body's order, and whether it goes with the machine. */
  readonly disks: { readonly key: string; autoDelete: boolean }[];
  readonly machineType: string;
  readonly spot: boolean;
  readonly createdMs: number;
  labels: { [key: string]: string };
  metadata: { [key: string]: string };
  guestAttributes: Map<string, string>;
  /** When guest attributes were asked for, within the last minute. */
  attributeQueriesMs: number[];
  status: MachineStatus;
  ending: Ending | null;
  /** Raised whenever what was planned for the machine no longer holds; old timers then do nothing. */
  epoch: number;
  preempted: boolean;
  boot: number;
  /** True from RUNNING until the power is cut; a guest may be at work. */
  powered: boolean;
  lastStartMs: number | null;
  lastStopMs: number | null;
  /** The instant the machine's own time is up; null unless it is running under a TTL. */
  ttlEndMs: number | null;
  /** Operations that are DONE when the present step is. */
  readonly waiting: string[];
  /** The error with which the creation will fail; null for one that succeeds. */
  doom: OperationError | null;
}

export interface DiskState {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  readonly sizeGb: string;
  readonly type: string;
  readonly sourceImage: string | undefined;
  readonly labels: { [key: string]: string };
  readonly createdMs: number;
  /** Keys of the machines it is attached to. */
  readonly users: Set<string>;
}

export interface OperationError {
  readonly httpStatus: number;
  readonly errors: readonly JsonObject[];
}

export interface OperationState {
  readonly id: string;
  readonly name: string;
  readonly zone: string;
  readonly project: string;
  readonly operationType: string;
  readonly user: string;
  readonly clientOperationId: string | undefined;
  readonly targetId: string;
  /** `zones/Z/instances/N`. */
  readonly target: string;
  readonly insertMs: number;
  status: 'PENDING' | 'RUNNING' | 'DONE';
  startMs: number | null;
  endMs: number | null;
  error: OperationError | null;
}

export interface RequestMemory {
  readonly operation: string;
  readonly atMs: number;
}

/** An outcome that the next matching inserts will have instead of their own. */
export interface PlantedOutcome {
  readonly match: { readonly zone?: string; readonly machineType?: string; readonly name?: string };
  readonly times: number;
  readonly error: OperationError;
  /** True: the operation fails and the machine lives all the same. */
  readonly machineLives: boolean;
}

export interface Quota {
  /** `global` or a region. */
  readonly scope: string;
  readonly metric: string;
  limit: number;
}

/** How a zone's state cannot be had: named in a warning, in `unreachables`, or the call fails. */
export type Unreachability = 'warning' | 'unreachables';

export interface ComputeState {
  readonly machines: CountedMap<string, MachineState>;
  readonly machinesById: Map<string, MachineState>;
  readonly disks: CountedMap<string, DiskState>;
  readonly operations: Map<string, OperationState>;
  readonly requests: Map<string, RequestMemory>;
  /** Zone → machine types on offer. */
  readonly zones: Map<string, ReadonlySet<string>>;
  /** `zone/machineType` → machines that can still be made; absent: no limit. */
  readonly stock: Map<string, number>;
  readonly quotas: Quota[];
  readonly outcomes: { readonly outcome: PlantedOutcome; used: number }[];
  readonly unreachable: Map<string, Unreachability>;
  /** Machine names whose next deletes are taken and come to nothing: RUNNING again afterwards. */
  readonly reluctant: Map<string, number>;
  /** Service accounts that the caller may not act as: seen on the operation only. */
  readonly actAsDenied: Set<string>;
  operationsMade: number;
}

export function createCompute(options: ComputeOptions): ComputeState {
  const all = Object.keys(options.machineTypes);
  const zones = Object.entries(options.zones).map(
    ([zone, { machineTypes }]): [string, ReadonlySet<string>] => [
      zone,
      new Set(machineTypes ?? all),
    ],
  );
  return {
    machines: new CountedMap(),
    machinesById: new Map(),
    disks: new CountedMap(),
    operations: new Map(),
    requests: new Map(),
    zones: new Map(zones),
    stock: new Map(),
    quotas: [],
    outcomes: [],
    unreachable: new Map(),
    reluctant: new Map(),
    actAsDenied: new Set(),
    operationsMade: 0,
  };
}

export const placeKey = (zone: string, name: string) => `${zone}/${name}`;

export const regionsOf = (compute: ComputeState) =>
  [...new Set([...compute.zones.keys()].map(regionOf))].sort();

/** The full URL of a thing below the project, as `selfLink` and references print it. */
export function computeLink(world: World, project: string, path: string): string {
  return `${world.baseUrl}/compute/v1/projects/${project}/${path}`;
}
